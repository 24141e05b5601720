"""A real log that takes any step in its life: rows, columns, narrower types, services, an erasure, a restore."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.procedures import call, register_table
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit

LOG = TableLayout(name="log", record_key="id", partition="day", form=StorageForm.APPENDED)
_VERSION_6 = "hoodie.write.table.version=6,hoodie.write.auto.upgrade=false,hoodie.metadata.enable=false"
EVOLVED = (
    {
        "d": "cast(n * 1.25 as decimal(20, 4))",
        "f": "cast(n / 3 as float)",
        "b": "n % 2 = 0",
        "y": "cast(cast(n as string) as binary)",
        "t": "timestamp_micros(1700000000123456 + n)",
        "z": "cast(timestamp_micros(n) as timestamp_ntz)",
        "a": "array(named_struct('x', cast(n as int), 'u', 'text'), null)",
    },
    {"m": "map('k', n / 7)", "s": "named_struct('p', date_add(date'1899-12-31', cast(n as int)), 'q', array(n, null))"},
)


@dataclass
class RealLog:
    """A real log; its rows are numbered, and their values follow from the number."""

    spark: SparkSession
    settings: Settings
    rows: int = 0
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="log", path=self.settings.table_path("log"))

    def append(self, *days: int, type_: str = "bigint") -> Instant:
        rows = [(self.rows + n, f"2026-01-0{day}") for n, day in enumerate(days or (1, 2), start=1)]
        self.rows += len(rows)
        values = [f"IF(n % 5 = 0, NULL, {value}) AS {name}" for name, value in self.columns.items()]
        numbered_df = literal_frame(self.spark, rows, "n bigint, day string")
        rows_df = numbered_df.selectExpr("lpad(n, 3, '0') AS id", "day", f"cast(n AS {type_}) AS v", *values)
        return commit(rows_df, LOG, metadata={}, settings=self.settings).instant

    def evolve(self) -> None:
        self.columns |= EVOLVED[bool(self.columns)]
        self.append(3)

    def narrow(self) -> None:
        """A column of a narrower type than the table has, which Hudi casts."""
        self.append(1, type_="int")

    def cluster(self) -> None:
        name = register_table(self.spark, "log", self.timeline.path)
        self.spark.sql(
            f"CALL run_clustering(table => '{name}', op => 'scheduleandexecute', "
            f"options => '{_VERSION_6},hoodie.write.record.merge.mode=COMMIT_TIME_ORDERING')"
        ).collect()

    def erase(self) -> None:
        """A row is written again."""
        rows_df = read_stored(self.spark, self.timeline.path).orderBy("id").limit(1)
        commit(rows_df, LOG, metadata={}, settings=self.settings, operation=Operation.UPSERT)

    def clean(self) -> None:
        """Of the newest commit that was clustered a file goes."""
        timeline = self.timeline
        for write in reversed(timeline.writes):
            for path in timeline.files_written(write):
                partition, _, name = path.rpartition("/")
                if (partition, name.split("_")[0]) in timeline.replaced_groups:
                    Path(timeline.path, path).unlink(missing_ok=True)
                    return

    def restore(self) -> None:
        newest = self.timeline.newest
        assert newest
        call(self.spark, "log", self.timeline.path, "create_savepoint", {"commit_time": newest})
        self.append(4)
        call(self.spark, "log", self.timeline.path, "rollback_to_savepoint", {"instant_time": newest})
        call(self.spark, "log", self.timeline.path, "delete_savepoint", {"instant_time": newest})


def found(rows_df: DataFrame) -> list[str]:
    return sorted(str(row) for row in rows_df.collect())
