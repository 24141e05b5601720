"""Records of states: each state that a record names is kept, and no other, whatever records share it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.savepoints import Record, SavepointRecords, record_id
from spark_jobs.storage.timeline import Timeline
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at

TABLES = ("units", "agents", "sales")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Three tables with the commits 1, 2 and 3 each: a state of one has the instant of a state of the others."""
    for name in TABLES:
        layout = TableLayout(name=name, record_key="id", form=StorageForm.KEYED)
        MadeTable(layout, tmp_path / name).commits(1, 2, 3)
    return Settings(base_path=str(tmp_path))


def record(id_: str, made_by: str = "savepoint", made_at: str = "", **tables: int) -> Record:
    return Record(
        id=id_,
        made_at=made_at or id_,
        what="x",
        made_by=made_by,
        tables={name: at(number) for name, number in tables.items()},
        consumers={"split": {"checkpoints": {"sales_log": at(1)}}},
    )


def kept(settings: Settings) -> set[tuple[str, Instant]]:
    return {
        (name, instant)
        for name in TABLES
        for instant in Timeline(table=name, path=settings.table_path(name)).savepoints
    }


@pytest.mark.parametrize("seed", range(12))
def test_kept_are_the_states_that_some_record_names(settings: Settings, seed: int) -> None:
    rng, engine, records = random.Random(seed), MadeEngine(), SavepointRecords(settings)
    session: Any = engine
    there: dict[str, Record] = {}
    for step in range(14):
        if there and rng.random() < 0.45:
            gone = there.pop(rng.choice(sorted(there)))
            records.release(session, gone)
        else:
            tables: Any = {name: rng.randrange(1, 4) for name in rng.sample(TABLES, rng.randrange(1, 4))}
            one = record(f"day-{step:02}", rng.choice(("savepoint", "recompute")), **tables)
            records.keep(session, one)
            there[one.id] = one
        assert records.all() == [there[id_] for id_ in sorted(there)]
        assert kept(settings) == {state for each in there.values() for state in each.tables.items()}


def test_one_that_dies_is_known_by_its_record_and_made_whole_or_let_go_by_the_next(settings: Settings) -> None:
    wanted = record("day", units=1, agents=2, sales=3)
    for dies_at in range(3):
        records, engine = SavepointRecords(settings), MadeEngine(fails_at=dies_at)
        session: Any = engine
        with pytest.raises(KeyboardInterrupt):
            records.keep(session, wanted)
        assert records.find("day") == wanted, "what holds cleaning has a name"
        assert len(kept(settings)) == dies_at
        engine.fails_at = None
        if dies_at != 1:
            records.keep(session, wanted)
            assert kept(settings) == set(wanted.tables.items())
            engine.fails_at = len(engine.calls) + dies_at
            with pytest.raises(KeyboardInterrupt):
                records.release(session, wanted)
            assert records.find("day") == wanted, "it is to be let go once more"
            engine.fails_at = None
        records.release(session, records.read("day"))
        assert (kept(settings), records.all()) == (set(), [])


def test_records_are_read_by_their_name_and_by_who_made_them(settings: Settings, tmp_path: Path) -> None:
    records = SavepointRecords(settings)
    assert (records.all(), records.find("a")) == ([], None)
    first, second = record("b", "recompute", "2026-01-01", units=1), record("a", "savepoint", "2026-01-02", sales=2)
    for each in (second, first):
        records.write(each)
    (tmp_path / ".savepoints/a.json.0123.tmp").write_bytes(b"{")  # of a process that died
    assert records.all() == [first, second], "the oldest first"
    assert (records.find("a"), records.find("c")) == (second, None)
    assert records.read("b") == records.read("b", made_by="recompute") == first
    with pytest.raises(ContractError, match=r"no savepoint made by savepoint is called 'b'; known are \['a'\]"):
        records.read("b", made_by="savepoint")
    with pytest.raises(ContractError, match=r"no savepoint is called 'c'; known are \['b', 'a'\]"):
        records.read("c")
    replaced = record("a", made_at="2026-01-03", units=3)
    records.write(replaced)
    assert records.all() == [first, replaced]


def test_a_name_says_the_time_in_utc() -> None:
    clock = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
    assert record_id("day", clock) == "day-20260131T235958"
    assert record_id("day", clock.astimezone(timezone(timedelta(hours=5, minutes=30)))) == "day-20260131T235958"
