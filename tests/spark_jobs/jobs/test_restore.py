"""A lake kept at one moment, worked on further with all services, and taken back: tables, marts and consumers agree.

Three sources of one seeded schedule. The savepoint is taken after the first round, between ingest and split of the
second, so that some of its tables are behind its log: what is behind then has to be behind again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.restore import plan_restore, restore_table
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.crashes import CrashError
from tests.support.lakes import copy_lake
from tests.support.mart_checks import assert_fast_is_right, assert_slow_is_right, assert_stitch_is_right
from tests.support.schedules import Schedule, build_schedule
from tests.support.service_lakes import make_service_lake, run_services

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(1200)]

LAYERS = ("fast", "stitch", "slow")
MARTS = (
    "fast_daily_deals",
    "stitch_agent_days",
    "stitch_agent_contracts",
    "slow_sale_paths",
)
"""One of entity tables, one with a cache, and one of the log."""
TABLES = ("units", "agents", "sales")
Rows = dict[str, list[tuple[Any, ...]]]


class Kept:
    """A lake with a savepoint, what its tables held then, and a round more."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.lake = make_service_lake(spark, folder, marts=MARTS, tables=TABLES)
        self.schedules: list[Schedule] = [build_schedule(21, number) for number in range(3)]
        self.clock = datetime.now(UTC).replace(microsecond=0)
        self.tables = load_lake_spec(str(self.lake.spec)).table_names
        self.land(0)
        self.lake.run("ingest", clock=self.clock)
        self.lake.run("split", clock=self.clock)
        for layer in LAYERS[:2]:  # the slow marts are made later
            self.lake.run("mart", clock=self.clock, layer=layer)
        self.lake.run("consumers", clock=self.clock, action="register", name="report", table="sales", at=None)
        self.land(1)
        self.lake.run("ingest", clock=self.clock)
        self.lake.run("savepoint", clock=self.clock, action="create", label="day", keep=None)
        (self.record,) = SavepointRecords(self.lake.settings).all()
        self.then = self.rows()
        self.go_on()

    def copy_to(self, folder: Path) -> Kept:
        """The same lake in a folder of its own."""
        other = copy(self)
        other.lake = copy_lake(self.lake, folder)
        return other

    def land(self, number: int) -> None:
        for schedule in self.schedules:
            schedule.land(self.lake.folder / "landing", number)

    def timeline(self, table: str) -> Timeline:
        return Timeline(table=table, path=self.lake.path(table))

    def rows(self, by: str = "rows") -> Rows:
        read: Callable[[str], list[dict[str, Any]]] = getattr(self.lake, by)
        return {
            table: sorted((tuple(sorted(row.items())) for row in read(table) if self.timeline(table).writes), key=repr)
            for table in self.tables
        }

    def go_on(self) -> None:
        """What waits, and a round more, with services."""
        self.land(2)
        self.lake.run("ingest", clock=self.clock)
        self.clock += timedelta(hours=3)
        self.refresh()
        run_services(self.lake, random.Random(21))
        self.lake.run("savepoint", clock=self.clock, action="create", label="later", keep=None)
        self.lake.run("consumers", clock=self.clock, action="register", name="report", table="sales", at=None)

    def refresh(self) -> None:
        self.lake.run("split", clock=self.clock)
        for layer in LAYERS:
            self.lake.run("mart", clock=self.clock, layer=layer)

    def restore(self, *, yes: bool = True) -> Any:
        return self.lake.run("restore", clock=self.clock, to=self.record.id, yes=yes)

    def assert_as_then(self) -> None:
        assert self.rows() == self.then
        assert self.rows("rows_by_spark") == self.then
        for table, instant in self.record.tables.items():
            assert self.timeline(table).newest == instant
            assert self.timeline(table).properties["hoodie.table.version"] == "6"

    def assert_right_when_refreshed(self) -> None:
        """What was taken back comes again from the landing folder, and nothing twice."""
        self.clock += timedelta(hours=1)
        self.lake.run("ingest", clock=self.clock)
        self.refresh()
        assert_fast_is_right(self.lake, self.clock, "UTC")
        assert_stitch_is_right(self.lake, self.clock, "UTC")
        assert_slow_is_right(self.lake, "UTC")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(spark, tmp_path_factory.mktemp("kept"))


@pytest.fixture
def kept(made: Kept, tmp_path: Path) -> Kept:
    return made.copy_to(tmp_path)


@pytest.mark.slice(name="jobs")
def test_everything_is_as_it_was_and_goes_on_from_there(kept: Kept, capsys: pytest.CaptureFixture[str]):
    later = kept.rows()
    capsys.readouterr()
    plan = kept.restore(yes=False)
    assert plan.counters["commits_planned"] > 0
    assert kept.rows() == later, "a plan changes nothing"
    printed = capsys.readouterr().out
    assert "made later: removed" in printed
    assert [line.split()[0] for line in printed.splitlines() if "commits taken back" in line][-1] == "sales_log"
    result = kept.restore()
    assert result.status == "done"
    assert SavepointRecords(kept.lake.settings).all() == [kept.record], "others were of states that are gone"
    kept.assert_as_then()
    report = ConsumerRegistry(kept.lake.settings.base_path).read("report")
    assert report.checkpoints["sales"] == kept.record.tables["sales"]
    assert any(message.startswith("report had read sales up to") for message in result.messages)
    assert kept.restore().status == "nothing_to_do"
    kept.assert_right_when_refreshed()


@pytest.mark.parametrize(
    ("at", "goes_on"),
    [
        pytest.param(1, False, id="run again", marks=pytest.mark.slice(name="jobs")),
        pytest.param(len(MARTS) - 1, True, id="jobs go on", marks=pytest.mark.slice(name="jobs")),
        pytest.param(-2, True, id="all but the log", marks=pytest.mark.slice(name="jobs")),
    ],
)
def test_a_restore_that_dies_between_two_tables(kept: Kept, monkeypatch: pytest.MonkeyPatch, at: int, *, goes_on: bool):
    """Whatever comes next, another restore or the ordinary jobs, can work on the lake, which can go back again."""
    spec = load_lake_spec(str(kept.lake.spec))
    victim = plan_restore(spec, kept.record, kept.lake.settings)[at].table

    def die(spark: SparkSession, way: Any, settings: Any) -> Any:
        if way.table == victim:
            raise CrashError(victim)
        return restore_table(spark, way, settings)

    monkeypatch.setattr("spark_jobs.jobs.restore.restore_table", die)
    with pytest.raises(CrashError):
        kept.restore()
    monkeypatch.undo()
    if not goes_on:
        kept.restore()
        kept.assert_as_then()
    kept.assert_right_when_refreshed()
    kept.restore()
    kept.assert_as_then()


@pytest.mark.slice(name="jobs")
def test_a_state_that_is_no_longer_kept_is_refused_before_anything_changes(kept: Kept):
    later = kept.rows()
    for file in Path(kept.lake.path("units"), ".hoodie").glob("*.savepoint*"):
        file.unlink()
    with pytest.raises(ContractError, match=r"units: its state of .* is not kept any more"):
        kept.restore()
    assert kept.rows() == later
    with pytest.raises(ContractError, match="no savepoint made by savepoint is called 'yesterday'; known are"):
        kept.lake.run("restore", to="yesterday", yes=True)
