"""What a consumer remembers, and when it is believed.

The table ``units`` has one commit at instant 4 that says its rows are complete up to instant 3 of the log.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import (
    ConsumerRegistry,
    ConsumerState,
    own_checkpoint,
    own_consumers,
    table_checkpoint,
)
from spark_jobs.storage.timeline import Timeline
from tests.support.shop_lakes import make_shop_lake

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
ONE, THREE, FOUR, NINE = (Instant(f"{n:017d}") for n in (1, 3, 4, 9))


@pytest.fixture
def units(tmp_path: Path) -> Timeline:
    folder = tmp_path / "units" / ".hoodie"
    folder.mkdir(parents=True)
    (folder / "hoodie.properties").write_text("hoodie.table.version=6")
    (folder / f"{FOUR}.deltacommit").write_text(
        json.dumps({"extraMetadata": {"lakehouse.checkpoint.sales_log": THREE}})
    )
    return Timeline(table="units", path=str(tmp_path / "units"))


def remembered(up_to: str, *, last: Instant | None, table: str = "units") -> ConsumerState:
    return ConsumerState(checkpoints={"sales_log": up_to}, tables={table: last})


def test_what_is_written_is_read(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    state = ConsumerState(
        checkpoints={"sales_log": THREE}, tables={"units": FOUR, "agents": None}, notes={"clock": "x"}
    )
    assert registry.read("split") == ConsumerState()
    registry.write("split", state, CLOCK)
    assert registry.read("split") == state
    assert [path.name for path in (tmp_path / ".consumers").iterdir()] == ["split.json"]


def test_the_same_state_leaves_the_file_alone(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    before = (tmp_path / ".consumers/split.json").stat()
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    assert (tmp_path / ".consumers/split.json").stat() == before


def test_it_remembers_when_it_last_got_further(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    for hour, place in enumerate([1, 1, 3, 4, 5, 6, 7, 8]):
        registry.write("split", remembered(f"{place:017d}", last=FOUR), CLOCK + timedelta(hours=hour))
    assert registry.read("split").moved == tuple(f"2026-01-01T0{hour}:00:00Z" for hour in range(2, 8))
    noted = ConsumerState(checkpoints={"sales_log": f"{8:017d}"}, notes={"clock": "later"})
    registry.write("split", noted, CLOCK + timedelta(hours=9))
    assert registry.read("split").moved[-1] == "2026-01-01T07:00:00Z"
    registry.forget("split")
    registry.forget("split")
    assert registry.all() == {}


def test_all_consumers_are_listed(tmp_path):
    registry = ConsumerRegistry(str(tmp_path))
    assert registry.all() == {}
    states = {"split": remembered(THREE, last=FOUR), "fast_daily_deals": remembered(NINE, last=None, table="sales")}
    for name, state in states.items():
        registry.write(name, state, CLOCK)
    (tmp_path / ".consumers/split.json.0123.tmp").write_bytes(b"{")  # of a writer that died
    (tmp_path / ".consumers/broken.json").write_bytes(b"{")
    assert registry.all() == {**states, "broken": ConsumerState()}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"checkpoints":5}', b"\xff", b'{"tables":[1]}'])
def test_a_file_that_cannot_be_read_means_that_nothing_is_remembered(tmp_path, content):
    (tmp_path / ".consumers").mkdir()
    (tmp_path / ".consumers/split.json").write_bytes(content)
    registry = ConsumerRegistry(str(tmp_path))
    assert registry.read("split") == ConsumerState()
    registry.write("split", remembered(THREE, last=FOUR), CLOCK)
    assert registry.read("split") == remembered(THREE, last=FOUR)


@pytest.mark.parametrize(
    ("state", "checkpoint"),
    [
        (ConsumerState(), THREE),
        (remembered(NINE, last=FOUR), NINE),
        (remembered(ONE, last=FOUR), ONE),
        (remembered(NINE, last=THREE), THREE),
        (remembered(NINE, last=None), THREE),
        (remembered(NINE, last=FOUR, table="agents"), THREE),
    ],
    ids=[
        "nothing",
        "further",
        "behind, because the source was restored",
        "table changed since",
        "table was absent",
        "other table",
    ],
)
def test_the_file_counts_only_for_the_table_it_was_written_for(units, state, checkpoint):
    assert table_checkpoint(state, units, "sales_log") == checkpoint


def test_a_table_that_was_removed_starts_over(tmp_path):
    gone = Timeline(table="units", path=str(tmp_path / "nowhere"))
    assert table_checkpoint(remembered(NINE, last=FOUR), gone, "sales_log") == BEGINNING


def test_a_table_that_never_had_an_instant_is_complete_while_it_stays_absent(tmp_path):
    absent = Timeline(table="units", path=str(tmp_path / "nowhere"))
    assert table_checkpoint(remembered(NINE, last=None), absent, "sales_log") == NINE


def made(base: Path, table: str, *commits: dict[str, str]) -> Timeline:
    """A table whose commits 1, 2, … say these checkpoints, by source."""
    folder = base / table / ".hoodie"
    folder.mkdir(parents=True)
    for number, checkpoints in enumerate(commits, start=1):
        extra = {f"lakehouse.checkpoint.{source}": place for source, place in checkpoints.items()}
        (folder / f"{number:017d}.commit").write_text(json.dumps({"extraMetadata": extra}))
    return Timeline(table=table, path=str(base / table))


def test_each_source_and_each_table_has_a_place_of_its_own(tmp_path):
    """Two tables, two sources; the newest commit that says a place of one is not the newest that says the other's."""
    units = made(tmp_path, "units", {"log": ONE, "other": FOUR}, {"log": THREE}, {})
    agents = made(tmp_path, "agents", {"other": ONE})
    last = {"units": units.last, "agents": agents.last}
    unknown, state = ConsumerState(), ConsumerState(checkpoints={"log": NINE}, tables=last)
    for source, of_units, of_agents in (("log", THREE, BEGINNING), ("other", FOUR, ONE)):
        assert own_checkpoint(units, source) == table_checkpoint(unknown, units, source) == of_units
        assert own_checkpoint(agents, source) == table_checkpoint(unknown, agents, source) == of_agents
    assert [table_checkpoint(state, table, "log") for table in (units, agents)] == [NINE, NINE]
    assert [table_checkpoint(state, table, "other") for table in (units, agents)] == [FOUR, ONE]
    changed = replace(state, tables={**last, "agents": FOUR})
    assert [table_checkpoint(changed, table, "log") for table in (units, agents)] == [NINE, BEGINNING]


def test_each_table_has_a_place_of_its_own_while_it_is_as_remembered(tmp_path):
    orders = made(tmp_path, "orders", {"log": ONE}, {"log": THREE})
    lines = made(tmp_path, "lines", {"log": ONE})
    absent = Timeline(table="absent", path=str(tmp_path / "absent"))
    state = ConsumerState(
        checkpoints={"log": THREE},
        tables={"orders": orders.last, "lines": lines.last, "absent": None},
        places={"orders": NINE, "lines": FOUR, "absent": THREE},
    )
    mirrors = (orders, lines, absent)
    assert [table_checkpoint(state, each, "log") for each in mirrors] == [NINE, FOUR, THREE]
    assert [table_checkpoint(ConsumerState(), each, "log") for each in mirrors] == [THREE, ONE, BEGINNING]
    for table, expected in (("orders", [THREE, FOUR, THREE]), ("lines", [NINE, ONE, THREE])):
        for last in (Instant(ONE + "1"), None):  # written, or restored, since
            changed = replace(state, tables={**state.tables, table: last})
            assert [table_checkpoint(changed, each, "log") for each in mirrors] == expected
        unknown = replace(state, tables={name: last for name, last in state.tables.items() if name != table})
        assert [table_checkpoint(unknown, each, "log") for each in mirrors] == expected
    of_others = replace(state, places={"orders": NINE})
    assert [table_checkpoint(of_others, each, "log") for each in mirrors] == [NINE, ONE, BEGINNING]


def test_a_service_moves_no_place(tmp_path):
    """The instant that is remembered is that of the newest change: a compaction after it changes nothing."""
    units = made(tmp_path, "units", {"log": ONE})
    for number, content in (
        (5, {"operationType": "COMPACT"}),
        (6, {"extraMetadata": {"lakehouse.service": "rescale"}}),
    ):
        (Path(units.path) / ".hoodie" / f"{number:017d}.commit").write_text(json.dumps(content))
        served = Timeline(table="units", path=units.path)
        assert table_checkpoint(remembered(NINE, last=units.last), served, "sales_log") == NINE
        assert own_checkpoint(served, "log") == ONE


def test_the_lakes_own_are_those_that_it_has_tables_and_marts_for(tmp_path):
    no_spark: Any = None
    spec = load_lake_spec(Settings().lake_spec)
    assert own_consumers(spec) == {"split", "mirrors", *(mart.name for mart in spec.marts)}
    shop = make_shop_lake(no_spark, tmp_path, [{"name": "orders", "key": ["id"]}])
    assert own_consumers(load_lake_spec(shop.spec)) == {"split", "mirrors"}, "one had another name in earlier releases"


def test_consumers_move_one_by_one(tmp_path):
    """What one writes or forgets leaves the others as they were, whatever their names have in common."""
    registry, names = ConsumerRegistry(str(tmp_path)), ("report", "report_2", "split")
    for number, name in enumerate(names):
        registry.write(name, remembered(f"{number:017d}", last=FOUR), CLOCK)
    registry.write("report", remembered(NINE, last=FOUR), CLOCK + timedelta(hours=1))
    assert registry.read("report_2").moved == ("2026-01-01T00:00:00Z",)
    assert registry.read("report").moved == ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
    registry.forget("report")
    assert sorted(registry.all()) == ["report_2", "split"]
    assert registry.read("report") == ConsumerState()
    # A place that goes back, or one of a second table, is a move too; another note is none.
    two = ConsumerState(checkpoints={"sales_log": BEGINNING, "units": ONE}, tables={"units": FOUR})
    registry.write("split", two, CLOCK + timedelta(hours=2))
    registry.write("split", replace(two, tables={"units": NINE}), CLOCK + timedelta(hours=3))
    assert registry.read("split") == replace(two, tables={"units": NINE})
    assert registry.read("split").moved == ("2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z")
