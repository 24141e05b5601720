"""Pulls by the files that commits name give what Hudi's incremental relation gives, whatever happens to a table.

Steps come in any order; after each of them a window with a random beginning is read both ways.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.instants import Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.storage.commit_files import files_of_commit, files_of_window
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.procedures import call, register_table
from spark_jobs.storage.reader import Pull, read_pull, read_snapshot, read_stored
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit

pytestmark = pytest.mark.hudi

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

    def assert_equal(self, window: InstantRange) -> bool:
        """Both ways give the same; True when there are two."""
        timeline = self.timeline
        files = files_of_window(timeline, window)
        if files is None:
            return False
        by_files_df = read_pull(self.spark, timeline.path, Pull(window=window, files=files))
        by_hudi_df = read_pull(self.spark, timeline.path, Pull(window=window))
        assert by_files_df.schema.simpleString() == by_hudi_df.schema.simpleString()
        assert found(by_files_df) == found(by_hudi_df)
        return True


def found(rows_df: DataFrame) -> list[str]:
    return sorted(str(row) for row in rows_df.collect())


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> RealLog:
    made = RealLog(spark, Settings(base_path=str(tmp_path)))
    made.append()
    return made


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slice(name="tables")) for n in range(1, 5))])
def test_whatever_happens_to_a_log_both_ways_give_the_same_rows(log: RealLog, seed: int) -> None:
    rng = random.Random(seed)
    steps: list[Callable[[], object]] = [log.append, log.evolve, log.cluster, log.narrow]
    steps += [log.append, log.evolve, log.clean, log.restore, log.erase] if seed else []
    rng.shuffle(steps)
    equal = 0
    for step in steps:
        step()
        writes = log.timeline.writes
        after, up_to = sorted([rng.choice(writes[:-1] or writes), rng.choice(writes)], key=lambda write: write.time)
        equal += log.assert_equal(InstantRange(after=after.time, up_to=up_to.time))
    log.append()
    writes = log.timeline.writes
    assert log.assert_equal(InstantRange(after=writes[-2].time, up_to=writes[-1].time))
    assert equal


def test_a_part_of_a_commit_is_cast_to_the_columns_of_now(log: RealLog) -> None:
    """Also of a commit of an earlier release, which does not say what is in its files."""
    log.narrow()
    timeline = log.timeline
    before, write = timeline.writes[-2:]
    log.evolve()
    window = InstantRange(after=before.time, up_to=write.time)
    assert files_of_window(log.timeline, window) is None
    expected_df = read_pull(log.spark, timeline.path, Pull(window=window))
    files = files_of_commit(log.timeline, write, list(timeline.files_written(write)))
    assert files.stored is not None
    assert files.stored["v"].dataType.simpleString() == "int"
    for known in (files, replace(files, stored=None), replace(files, stored=None, columns=None)):
        part_df = read_pull(log.spark, timeline.path, Pull(window=window, files=known), is_alone=True)
        assert part_df.schema.simpleString() == expected_df.schema.simpleString()
        assert found(part_df) == found(expected_df)


def test_a_pull_by_files_is_one_spark_job_in_a_plan_with_anything(log: RealLog) -> None:
    """Hudi's reader turns vectorized reading off for the session; the join has a scan of either kind."""
    spark, path = log.spark, log.timeline.path
    window = InstantRange(after=log.timeline.writes[-1].time, up_to=log.append())
    files = files_of_window(log.timeline, window)
    jobs = {}
    for name, pull in (("hudi", Pull(window=window)), ("files", Pull(window=window, files=files))):
        spark.sparkContext.setJobGroup(f"{name} {path}", name)
        assert found(read_pull(spark, path, pull).select("v")) == ["Row(v=3)", "Row(v=4)"]
        jobs[name] = len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"{name} {path}"))
    assert (jobs["files"], jobs["hudi"] > 1) == (1, True)
    came_df = read_pull(spark, path, Pull(window=window, files=files)).cache()
    again_df = read_pull(spark, path, Pull(window=window)).select("id")
    assert came_df.join(again_df, "id").join(read_snapshot(spark, path).select("id"), "id").count() == 2
    came_df.unpersist()
