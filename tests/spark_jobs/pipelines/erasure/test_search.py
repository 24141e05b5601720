"""Which tables may name a person, who would miss something, and what an erasure remembers; on tables made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ConsumersBehindError, ContractError, ErasureUnfinishedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, ReadSpec, TimeSpec, TimeUnit
from spark_jobs.lake_spec.people import Person
from spark_jobs.pipelines.erasure.eraser import Eraser
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import unpack_ledger
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.erasures import Erasures, Pending, check_no_erasure
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.savepoints import Record, SavepointRecords
from tests.support.contexts import context_of
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at
from tests.support.shop import mart

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
ROLES = {each.role: each for each in SPEC.people}


def eraser_of(base: Path, role: str = "agent", id_: str = "17", names: tuple[str, ...] = ("Ann",)) -> Eraser:
    engine: Any = MadeEngine()
    return Eraser(
        context=context_of(
            "erase", Settings(base_path=str(base), lease_wait_seconds=0), spark=engine, spec=SPEC, clock=CLOCK
        ),
        person=Person(spec=ROLES[role], id=id_, names=names),
    )


def make(base: Path, *tables: str) -> None:
    """Tables with the commits 3, 4 and 5, and a compaction at 6."""
    for name in tables:
        made = MadeTable(LAYOUTS[name], base / name).commits(3, 4, 5, action="commit")
        made.commits(6, action="commit", operationType="COMPACT")


def can_name(role: str) -> set[str]:
    """By the spec alone: tables with one of the columns, and whatever is made of them or of the log."""
    person = ROLES[role]
    names = {SPEC.log, SPEC.quarantine}
    names |= {t.name for t in SPEC.tables if {*t.key, *t.columns} & {person.key, *person.columns}}
    while more := {m.name for m in SPEC.marts if {r.table for r in m.reads} & names} - names:
        names |= more
    return names


@pytest.mark.parametrize("role", ROLES)
def test_looked_at_is_every_table_that_could_name_them(tmp_path: Path, role: str) -> None:
    touched = eraser_of(tmp_path, role).touched
    assert set(touched) == can_name(role)
    assert len(touched) == len(set(touched))
    order = [*(t.name for t in SPEC.tables), *(m.name for m in SPEC.marts)]
    assert list(touched[2:]) == [name for name in order if name in touched], "each after what it is made of"
    assert "sales" in touched
    assert {"agents", "customers"} & set(touched) == {f"{role}s"}


def test_a_table_with_a_column_of_theirs_that_is_no_key_is_looked_at_too(tmp_path: Path) -> None:
    """A name alone is enough, and so is a key that is no key of the table."""
    alone = replace(ROLES["agent"], key="status_id", columns=("agent_name", "unit_name"))
    eraser = replace(eraser_of(tmp_path), person=Person(spec=alone, id="1"))
    assert {"statuses", "agents", "units", "sales"} == set(eraser.touched) & {table.name for table in SPEC.tables}


@pytest.mark.parametrize(
    ("places", "behind"),
    [
        ({}, []),
        ({"agents": 5}, []),
        ({"agents": 6}, []),
        ({"agents": 4}, ["agents"]),
        ({"agents": 5, "sales": 4}, ["sales"]),
        ({"sales_log": 0, "units": 0, "sales": 5}, ["sales_log"]),
        ({"units": 3, "projects": 0}, []),
        ({"customers": 1}, []),
        ({"quarantine": 3, "agents": 3}, ["quarantine", "agents"]),
        ({"fast_daily_deals": 4}, ["fast_daily_deals"]),
    ],
    ids=str,
)
def test_whoever_has_not_read_all_of_what_is_to_go_stops_it(
    tmp_path: Path, places: dict[str, int], behind: list[str]
) -> None:
    """A service moves no reader's place, and tables that cannot name them are not rewritten."""
    make(tmp_path, *(name for name in LAYOUTS if name != SPEC.quality.table))
    registry, eraser = ConsumerRegistry(str(tmp_path)), eraser_of(tmp_path)
    registry.write("report", ConsumerState(checkpoints={t: at(n) for t, n in places.items()}), CLOCK)
    registry.write("up_to_date", ConsumerState(checkpoints=dict.fromkeys(places, at(5))), CLOCK)
    registry.write("split", ConsumerState(checkpoints={SPEC.log: at(3), "sales": at(3)}), CLOCK)
    registry.write("fast_daily_deals", ConsumerState(checkpoints={"sales": at(3)}), CLOCK)
    assert sorted(eraser.readers_behind()) == sorted(f"consumer report of {table}" for table in behind)
    if behind:
        with pytest.raises(ConsumersBehindError, match=f"consumer report of {behind[-1]}"):
            eraser._check([])
    else:
        eraser._check([])


def test_it_begins_when_every_file_can_be_searched_and_goes_on_when_it_is_the_same(tmp_path: Path) -> None:
    make(tmp_path, "agents")
    eraser, erasures = eraser_of(tmp_path), Erasures(Settings(base_path=str(tmp_path)))
    eraser._check([])
    with pytest.raises(ContractError, match="cannot be searched: a is torn; b is torn; repair or remove them"):
        eraser._check(["a is torn", "b is torn"])
    erasures.begin(Pending(role="agent", id="17", names=("Ann",)))
    behind = ConsumerState(checkpoints={"agents": at(3)})
    ConsumerRegistry(str(tmp_path)).write("report", behind, CLOCK)
    eraser._check([])
    with pytest.raises(ContractError, match="cannot be searched"):
        eraser._check(["a is torn"])
    for other in (eraser_of(tmp_path, id_="18"), eraser_of(tmp_path, "customer", "17")):
        with pytest.raises(ErasureUnfinishedError, match="the erasure of one agent was cut off"):
            other._check([])
    with pytest.raises(ErasureUnfinishedError):
        check_no_erasure(eraser.context.settings)
    erasures.finish("agent", "2026-01-01T00:00:00Z", [])
    check_no_erasure(eraser.context.settings)


def test_what_was_found_at_first_is_kept_over_every_attempt_with_all_names_and_the_ledger(tmp_path: Path) -> None:
    """Once the tables have forgotten the names, nothing else knows what to look for."""
    erasures, ledger = (
        Erasures(Settings(base_path=str(tmp_path))),
        {"t/a": LedgerEntry(size=9, modified_ns=1, consumed=9, digest="a" * 64)},
    )
    eraser = eraser_of(tmp_path, names=("Ann", "Ann Quux"))
    found = {("sales", "rows"): 4, ("agents", "rows"): 1, ("landing files", "records"): 0}
    assert eraser._begin(found, ledger) == found
    again = eraser_of(tmp_path, names=("Ann", "Ann Quux", "Mina"))
    now = {("sales", "rows"): 0, ("agents", "rows"): 2, ("quarantine", "records"): 3}
    most = {**found, **now, ("sales", "rows"): 4}
    assert again._begin(now, {}) == most
    pending = erasures.pending()
    assert pending is not None
    assert (pending.role, pending.id, pending.names) == ("agent", "17", ("Ann", "Ann Quux", "Mina"))
    assert {(place, what): count for place, what, count in pending.found} == most
    assert unpack_ledger(pending.ledger) == {}
    eraser._begin({}, ledger)
    pending = erasures.pending()
    assert pending is not None
    assert unpack_ledger(pending.ledger) == ledger


def test_savepoints_of_any_of_its_tables_go_and_others_stay(tmp_path: Path) -> None:
    make(tmp_path, "agents", "sales", "units", "projects")
    eraser, records = eraser_of(tmp_path), SavepointRecords(Settings(base_path=str(tmp_path)))
    of = {"a": ("units", "agents"), "b": ("units",), "c": ("sales",), "d": ("projects", "units"), "e": ("agents",)}
    for number, (id_, tables) in enumerate(of.items()):
        states = {table: at(3 + number % 3) for table in tables}
        record = Record(id=id_, made_at=id_, made_by="x", what="", tables=states)
        records.keep(eraser.context.spark, record)
    eraser._let_savepoints_go()
    assert [record.id for record in records.all()] == ["b", "d"]
    assert {(name, time) for name in of["a"] + of["c"] + of["d"] for time in eraser.timeline(name).savepoints} == {
        state for record in records.all() for state in record.tables.items()
    }


@pytest.mark.parametrize(
    ("mode", "read", "needs_all"),
    [
        (MartMode.APPEND, ReadSpec(table=SPEC.log), True),
        (MartMode.AGGREGATE, ReadSpec(table=SPEC.log), True),
        (MartMode.AGGREGATE, ReadSpec(table="sales"), False),
        (MartMode.FULL, ReadSpec(table=SPEC.log), False),
        (MartMode.SCOPED, ReadSpec(table=SPEC.log, scope="agent_id"), True),
        (MartMode.SCOPED, ReadSpec(table=SPEC.log, scope="coalesce(agent_name, unit_name)"), True),
        (MartMode.SCOPED, ReadSpec(table=SPEC.log, scope="unit_id"), False),
        (MartMode.SCOPED, ReadSpec(table=SPEC.log, scope="first_agent_id"), False),
        (MartMode.SCOPED, ReadSpec(table="sales", scope="agent_id"), False),
    ],
)
def test_marts_that_would_count_rewritten_events_twice_are_computed_from_all(
    tmp_path: Path, mode: MartMode, read: ReadSpec, needs_all: bool
) -> None:
    """Those that add up what an append-only table got, and those whose scope is of the person."""
    day = TimeSpec(column="day", unit=TimeUnit.DAY)
    more: dict[str, Any] = {"time": day} if mode in (MartMode.APPEND, MartMode.AGGREGATE) else {}
    scope = {"scope": "number"} if mode is MartMode.SCOPED else {}
    units = ReadSpec(table="units", by="unit_id" if scope else "")
    for reads in ((read,),) if more else ((read,), (read, units), (units, read)):
        own = mart("SELECT 1", mode, reads=reads, grain=("day", "number"), **more, **scope)
        assert eraser_of(tmp_path)._needs_all(own) is needs_all


def test_proofs_are_kept_by_their_time_and_say_nothing_of_who(tmp_path: Path) -> None:
    erasures = Erasures(Settings(base_path=str(tmp_path)))
    for hour in (1, 2):
        erasures.begin(Pending(role="agent", id="17", names=("Ann Quux",)))
        erasures.finish("agent", f"2026-01-01T0{hour}:00:00Z", [])
    files = sorted(path.name for path in (tmp_path / ".erasures").iterdir())
    assert files == ["agent-20260101T010000.json", "agent-20260101T020000.json"]
    assert not any("Quux" in (tmp_path / ".erasures" / name).read_text() for name in files)
