"""Tables whose n-th commit is known by its values: keys 0 to 9, of the log ten more each time, all with the value n.

Several writers may share one: each has keys of its own and says in its commits which of its own numbers they are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from local_stack.demos.lake_view import read_with_rust
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.services.run import ServiceRun, TableServices
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from tests.support.service_lakes import HUNGRY

MERGED = TableLayout(name="merged", record_key="id", form=StorageForm.KEYED, buckets=2, type=TableType.MERGE_ON_READ)
COPIED = TableLayout(name="copied", record_key="id", form=StorageForm.KEYED, type=TableType.COPY_ON_WRITE)
LOG = TableLayout(name="log", record_key="id", partition="day", form=StorageForm.APPENDED)
REPLACED = TableLayout(name="replaced", record_key="id", partition="day", form=StorageForm.REPLACED)
LAYOUTS = (MERGED, COPIED, LOG, REPLACED)
NUMBER = "number"
Rows = list[tuple[str, int]]


@dataclass(frozen=True)
class NumberedTable:
    """One such table; its writer is what every job of the product is, in small."""

    spark: SparkSession
    layout: TableLayout
    settings: Settings
    writer: str = ""

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def path(self) -> str:
        return self.settings.table_path(self.name)

    @property
    def timeline(self) -> Timeline:
        return Timeline(table=self.name, path=self.path)

    def put(self, number: int, *, keys: Collection[str] = ()) -> Instant | None:
        """Make the commit of this number, unless the table says that it has it; gives the table's last instant.

        ``keys``: of these alone.

        As jobs do: under the lease, at rest, what was ingested is recorded in the commit that holds it.
        """
        with hold_tables([self.name], job="test", settings=self.settings):
            timeline = settled_timeline(self.spark, self.name, self.settings)
            key = NUMBER + self.writer
            if int(timeline.newest_metadata(METADATA_PREFIX + key) or -1) >= number:
                return timeline.last
            is_first = timeline.last is None and self.layout.form is StorageForm.KEYED
            rows_df = self._rows_of(number, keys)
            metadata = {key: str(number)}
            layout = fit_layout(self.layout, timeline)
            return commit(rows_df, layout, metadata=metadata, settings=self.settings, is_first=is_first).instant

    def put_all(self, first: int, last: int) -> None:
        """The commits of these numbers, both ends included."""
        for number in range(first, last + 1):
            self.put(number)

    def run(self, service: Service, *, is_forced: bool = False, **targets: Any) -> ServiceRun:
        """Run a service with targets that are soon reached, at a time when everything is old."""
        services = TableServices(
            spark=self.spark,
            layout=self.layout,
            targets=ServiceTargets(**{**HUNGRY, **targets}),
            settings=self.settings,
            clock=datetime.now(UTC) + timedelta(days=2),
        )
        return services.run(service, is_forced=is_forced)

    def expected(self, last: int) -> Rows:
        """The rows after the commit of this number."""
        numbers = range(last + 1) if self.layout.form is StorageForm.APPENDED else [last]
        return sorted((self._id(number, n), number) for number in numbers for n in range(10))

    def rows_by_spark(self) -> Rows:
        rows = self.spark.read.format("hudi").load(self.path).select("id", "v").collect()
        return sorted((row["id"], row["v"]) for row in rows)

    def rows_by_rust(self) -> Rows:
        return sorted((row["id"], row["v"]) for row in read_with_rust(self.path))

    def _rows_of(self, number: int, keys: Collection[str]) -> DataFrame:
        rows = [(self._id(number, n), f"day-{n % 2}", number) for n in range(10)]
        kept = [row for row in rows if not keys or row[0] in keys]
        return literal_frame(self.spark, kept, "id string, day string, v int")

    def _id(self, number: int, n: int) -> str:
        return f"{self.writer}{number * 10 + n if self.layout.form is StorageForm.APPENDED else n:05d}"
