"""A lake that was copied without the times of its files: it is named, put right, goes on, and can be restored.

Two rounds of a schedule, a savepoint, and a compaction of every table, copied newest commit first, as ``cp -r`` may do.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.savepoints import SavepointRecords
from tests.support.lakes import SpecLake, assert_equals_oracle
from tests.support.schedules import build_schedule
from tests.support.service_lakes import make_service_lake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(1200), pytest.mark.slice(name="jobs")]

TABLES = ("units", "agents", "sales")


def copy_newest_first(made: SpecLake, folder: Path) -> SpecLake:
    """Each file by itself, the last one first; its time is that of the copy."""
    files = sorted((path for path in made.folder.rglob("*") if path.is_file()), reverse=True)
    for file in files:
        to = folder / file.relative_to(made.folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
    return replace(made, folder=folder, spec=folder / made.spec.name)


@pytest.mark.parametrize("is_repaired", [True, False], ids=["repaired", "put right by jobs"])
def test_a_copied_lake_is_named_goes_on_and_can_be_restored(spark: SparkSession, tmp_path: Path, *, is_repaired: bool):
    (tmp_path / "made").mkdir()
    made, schedule = make_service_lake(spark, tmp_path / "made", tables=TABLES), build_schedule(41, 1)
    clock = datetime.now(UTC).replace(microsecond=0)
    for number in range(2):
        schedule.land(made.folder / "landing", number)
        made.run("ingest", clock=clock)
        made.run("split", clock=clock)
    made.run("savepoint", clock=clock, action="create", label="day", keep=None)
    for table in TABLES:
        made.run("services", clock=clock, action="run", table=table, service=Service.COMPACTION.value, all=True)
    then = {table: made.rows(table) for table in TABLES}
    lake = copy_newest_first(made, tmp_path / "copied")
    messages = lake.run("doctor", clock=clock, action="check", table=None, deep=False).messages
    assert {f"{table}: {Ailment.TIMES.value}" for table in TABLES} <= {
        ": ".join(each.split(": ")[:2]) for each in messages
    }
    with pytest.raises(CommitTimesError, match="run: doctor repair"):
        lake.run("query", clock=clock, sql="SELECT COUNT(*) FROM sales", rows=1)
    if is_repaired:
        assert (
            lake.run("doctor", clock=clock, action="repair", table=None, deep=False, yes=True).counters["findings"] == 0
        )
        assert {table: lake.rows_by_spark(table) for table in TABLES} == then
    schedule.land(lake.folder / "landing", 2)
    lake.run("ingest", clock=clock)
    lake.run("split", clock=clock)
    assert_equals_oracle(lake, schedule.lines)
    (record,) = SavepointRecords(lake.settings).all()
    lake.run("restore", clock=clock, to=record.id, yes=True)
    lake.run("ingest", clock=clock)
    lake.run("split", clock=clock)
    assert_equals_oracle(lake, schedule.lines)
