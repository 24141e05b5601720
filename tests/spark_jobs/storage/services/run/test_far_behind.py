"""A consumer up to 80 commits behind, with clean and archive at every occasion: its pull is complete, or says why not.

Commit n adds the key n and changes the key 0. The consumer has read the first commit.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import TableVersionError
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.procedures import call
from spark_jobs.storage.reader import plan_pull, read_pull
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from tests.support.service_lakes import HUNGRY

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(1200)]

MANY = [
    (TableType.MERGE_ON_READ, 13),
    pytest.param(TableType.COPY_ON_WRITE, 13, marks=pytest.mark.slice(name="tables")),
    pytest.param(TableType.MERGE_ON_READ, 80, marks=pytest.mark.slice(name="tables")),
    pytest.param(TableType.COPY_ON_WRITE, 60, marks=pytest.mark.slice(name="tables")),
]
SERVED_EVERY = 12


class Consumed:
    """The table, its consumer, and the services between commits."""

    def __init__(self, spark: SparkSession, folder: Path, type_: TableType, commits: int) -> None:
        self.spark, self.settings = spark, Settings(base_path=str(folder))
        self.layout = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=type_)
        self.place = self.write(0)
        registry = ConsumerRegistry(self.settings.base_path)
        registry.write("report", ConsumerState(checkpoints={"units": self.place}), datetime.now(UTC))
        for number in range(1, commits + 1):
            self.write(number)
            if number % SERVED_EVERY == 0:
                self.serve()

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="units", path=self.settings.table_path("units"))

    def write(self, number: int) -> str:
        rows = [(0, number), *([(number, number)] if number else [])]
        rows_df = literal_frame(self.spark, rows, "id int, v int")
        return commit(rows_df, self.layout, metadata={}, settings=self.settings, is_first=number == 0).instant

    def serve(self) -> None:
        later = datetime.now(UTC) + timedelta(days=2)
        hungry: dict[str, Any] = HUNGRY
        services = TableServices(
            spark=self.spark, layout=self.layout, targets=ServiceTargets(**hungry), settings=self.settings, clock=later
        )
        for service in Service:
            services.run(service)

    def pull(self) -> tuple[str, list[tuple[int, int]]]:
        """Why everything is read instead of the window, and the rows."""
        pull = plan_pull(self.timeline, after=self.place)
        return pull.resync_reason, sorted(map(tuple, read_pull(self.spark, self.timeline.path, pull).collect()))


@pytest.mark.parametrize(("type_", "commits"), MANY)
def test_many_commits_behind(spark: SparkSession, tmp_path: Path, type_: TableType, commits: int):
    expected = [(0, commits), *((n, n) for n in range(1, commits + 1))]
    consumed = Consumed(spark, tmp_path, type_, commits)
    assert len(consumed.timeline.writes) > commits, "nothing that was not read is archived"
    assert consumed.pull() == ("", expected)
    # Another writer, which knows of no consumers, archives and cleans what it likes.
    keep = {"min_commits": 4, "max_commits": 5, "retain_commits": 2}
    call(
        spark,
        "units",
        consumed.timeline.path,
        "run_clean",
        {"clean_policy": "KEEP_LATEST_COMMITS", "retain_commits": 1},
    )
    call(spark, "units", consumed.timeline.path, "archive_commits", {**keep, "enable_metadata": False})
    assert len(consumed.timeline.writes) < commits
    reason, rows = consumed.pull()
    assert reason.startswith(f"checkpoint {consumed.place} is not on the timeline of units")
    assert rows == expected


@pytest.mark.parametrize("type_", TableType)
def test_a_table_of_version_9_is_refused_by_name(spark: SparkSession, tmp_path: Path, type_: TableType):
    options = {
        "hoodie.table.name": "units",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.table.type": type_.value.upper(),
        "hoodie.write.table.version": "9",
    }
    path = str(tmp_path / "units")
    spark.range(3).write.format("hudi").options(**options).mode("append").save(path)
    with pytest.raises(TableVersionError, match="units: the table on disk has Hudi table version 9"):
        Timeline(table="units", path=path).check_version()
