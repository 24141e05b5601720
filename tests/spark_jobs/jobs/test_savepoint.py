"""Savepoints of the whole lake: made whole by a retry, counted by label, and read by name."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.jobs import savepoint
from spark_jobs.storage.procedures import call
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import CLOCK, context_of
from tests.support.lakes import PIPELINE, SpecLake
from tests.support.schedules import build_schedule
from tests.support.service_lakes import make_service_lake

pytestmark = pytest.mark.hudi


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SpecLake:
    lake = make_service_lake(spark, tmp_path_factory.mktemp("savepoints"))
    land(lake, 0)
    return lake


def land(lake: SpecLake, number: int) -> None:
    build_schedule(5, 0).land(lake.folder / "landing", number)
    for job, options in PIPELINE:
        lake.run(job, **options)


def run(lake: SpecLake, action: str, *, hours: int = 0, **options: Any) -> JobResult:
    given = {"label": "day"} if action == "create" else {}
    return lake.run("savepoint", clock=CLOCK + timedelta(hours=hours), action=action, **{**given, **options})


def ids(lake: SpecLake) -> list[str]:
    return [record.id for record in SavepointRecords(lake.settings).all()]


def kept_states(lake: SpecLake, table: str) -> set[str]:
    return set(Timeline(table=table, path=lake.path(table)).savepoints)


def test_a_savepoint_is_of_every_table_and_one_that_died_is_made_whole(lake: SpecLake):
    run(lake, "create")
    (record,) = SavepointRecords(lake.settings).all()
    assert record.id == "day-20260102T123000"
    assert {"sales_log", "sales", "fast_daily_deals"} <= set(record.tables)
    assert {"split", "fast_daily_deals"} <= set(record.consumers)
    for table, instant in record.tables.items():
        assert kept_states(lake, table) == {instant}
    for file in (lake.folder / "lake" / "sales" / ".hoodie").glob("*.savepoint*"):
        file.unlink()
    land(lake, 1)
    assert run(lake, "create").messages == (f"kept: {record.id}, {len(record.tables)} tables",)
    assert kept_states(lake, "sales") == {record.tables["sales"]}, "the state that was written down first"


def test_a_query_reads_the_state_of_that_name(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    sql = "SELECT COUNT(*) AS n FROM sales_log"
    counts = []
    for moment in (ids(lake)[0], None):
        capsys.readouterr()
        lake.run("query", sql=sql, rows=1, as_of=moment)
        counts.append(int(capsys.readouterr().out.splitlines()[3].strip("| ")))
    assert 0 < counts[0] < counts[1]
    with pytest.raises(ContractError, match=r"query: .*nothing.*tables: .*sales_log"):
        lake.run("query", sql="SELECT nothing FROM sales_log", rows=1, as_of=None)


def test_the_documented_procedures_are_there(lake: SpecLake):
    """The calls that docs/time-travel.md shows, on the table `sales`."""
    text = (PROJECT_ROOT / "docs" / "time-travel.md").read_text(encoding="utf-8")
    calls = re.findall(r"CALL (show_\w+)\(table => 'sales'(.*)\);", text)
    assert len(calls) > 5
    instant = SavepointRecords(lake.settings).all()[0].tables["sales"]
    for procedure, more in calls:
        given: dict[str, str | int] = {"limit": 10} if "limit" in more else {}
        given |= {"instant_time": instant} if "instant_time" in more else {}
        call(lake.spark, "sales", lake.path("sales"), procedure, given)


def test_the_documented_query_of_the_log_is_the_state_of_then(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    text = (PROJECT_ROOT / "docs" / "time-travel.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"^    WITH events AS \(\n(?:    .*\n)*?    GROUP BY sale_id$", text, re.MULTILINE)
    capsys.readouterr()
    lake.run("query", sql=query.replace("2025-02-01", "2100-01-01"), rows=1000, as_of=None)
    rows = [line.replace(" ", "").strip("|").split("|") for line in capsys.readouterr().out.splitlines()]
    found = [row for row in rows if row[0].isdigit()]
    live = [row for row in lake.rows("sales") if not row["is_deleted"]]
    wanted = [[row[name] for name in ("sale_id", "status_id", "agent_id")] for row in live]
    assert sorted(found) == sorted(["NULL" if value is None else str(value) for value in row] for row in wanted)


def test_of_a_label_the_newest_are_kept_and_other_labels_stay(lake: SpecLake):
    run(lake, "create", hours=1, label="before_release")
    for hours in (2, 3):
        run(lake, "create", hours=hours, keep=2)
    assert ids(lake) == ["before_release-20260102T133000", "day-20260102T143000", "day-20260102T153000"]
    states = {record.tables["sales"] for record in SavepointRecords(lake.settings).all()}
    assert kept_states(lake, "sales") == states, "what others name stays, and nothing else"


def test_letting_go_and_what_is_refused(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    for id_ in ids(lake):
        run(lake, "delete", name=id_)
    assert kept_states(lake, "sales") == set()
    capsys.readouterr()
    assert run(lake, "list").status == "nothing_to_do"
    assert capsys.readouterr().out == "no savepoint is kept\n"
    with pytest.raises(ContractError, match="no savepoint is called 'x'; known are none"):
        run(lake, "delete", name="x")
    with pytest.raises(ContractError, match="--label 'Day 1': use small letters"):
        run(lake, "create", label="Day 1")
    with pytest.raises(ContractError, match="--keep 0 must be at least 1"):
        run(lake, "create", keep=0)


def test_the_list_needs_no_engine(lake: SpecLake):
    assert not savepoint.needs_spark(context_of("savepoint", lake.settings, action="list"))


def test_an_empty_lake_has_nothing_to_keep(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
):
    """A new installation runs the daily DAG before its first ingest has ended: that is no failure."""
    lake = make_service_lake(spark, tmp_path_factory.mktemp("empty"))
    with caplog.at_level("INFO"):
        assert run(lake, "create", keep=3).status == "nothing_to_do"
    assert "nothing to keep: no table of the lake has a commit yet" in caplog.text
    assert ids(lake) == []
