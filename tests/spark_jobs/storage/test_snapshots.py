"""A copy-on-write table read from its files is the one that Hudi reads, at every commit of any life."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.storage import snapshots
from spark_jobs.storage.latest_files import latest_files
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from tests.support.job_counts import counting_jobs
from tests.support.real_logs import RealLog, found

pytestmark = pytest.mark.hudi

COLUMNS = (
    "cast(n * 1.5 as decimal(20, 4)) AS amount",
    "if(n % 3 = 0, null, array_repeat(n, int(n % 4))) AS numbers",
    "if(n % 3 = 1, null, array(string(n), 'a')) AS texts",
    "array(timestamp_micros(17000000001234 + n)) AS moments",
    "array(date_from_unix_date(int(n)), date'2026-01-01') AS dates",
    "array(n > 50) AS flags",
    "array(n, if(n % 2 = 0, null, n)) AS doubtful",
    "array(null, named_struct('at', n, 'by', if(n % 2 = 0, null, 'a'))) AS structs",
)
"""Arrays among them: of the last two alone elements may be null by their type, and some are."""
DAYS = [f"2026-01-0{day}" for day in range(1, 5)]


@dataclass
class RealTable:
    """A table with rows by key, as marts are: with partitions by day, or without."""

    spark: SparkSession
    settings: Settings
    partition: str
    rng: random.Random
    columns: list[str] = field(default_factory=lambda: [*COLUMNS])

    @property
    def layout(self) -> TableLayout:
        return TableLayout(name="mart", record_key="id", partition=self.partition, form=StorageForm.KEYED)

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="mart", path=self.settings.table_path("mart"))

    def upsert(self) -> Instant:
        return self._commit(None)

    def delete(self) -> None:
        self._commit(None, is_deleted="n % 2 = 0")

    def overwrite(self) -> None:
        self._commit(Operation.INSERT_OVERWRITE_TABLE)

    def evolve(self) -> None:
        self.columns.append(f"timestamp_micros(17000000001234 + n) AS t{len(self.columns)}")
        self.upsert()

    def _commit(self, operation: Operation | None, is_deleted: str = "false") -> Instant:
        numbers = self.rng.sample(range(12), self.rng.randint(1, 8))
        rows = [(number, self.rng.randint(0, 99), DAYS[number % len(DAYS)]) for number in numbers]
        numbered_df = literal_frame(self.spark, rows, "k bigint, n bigint, day string")
        kept = f"{is_deleted} AS _hoodie_is_deleted"
        rows_df = numbered_df.selectExpr("cast(k AS string) AS id", "day", "n", *self.columns, kept)
        return commit(rows_df, self.layout, metadata={}, settings=self.settings, operation=operation).instant


@pytest.fixture
def hudis(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were left to Hudi."""
    left: list[str] = []

    def read(spark: SparkSession, path: str, instant: Instant) -> object:
        left.append(path)
        return read_as_of(spark, path, instant)

    monkeypatch.setattr(snapshots, "read_as_of", read)
    return left


def assert_same(spark: SparkSession, timeline: Timeline, instant: Instant, *days: str) -> None:
    """Both ways give the same; of some days only when these are kept."""
    folders = [f"day={day}" for day in days] or None
    ours_df, hudis_df = read_table(spark, timeline, instant, folders), read_as_of(spark, timeline.path, instant)
    assert [(each.name, each.dataType) for each in ours_df.schema] == [
        (each.name, each.dataType) for each in hudis_df.schema
    ]
    where = f"day IN ({', '.join(map(repr, days))})" if days else "true"
    assert found(ours_df.where(where)) == found(hudis_df.where(where))


def life_of(table: RealTable) -> None:
    """Every step at least once, in any order, after a first commit."""
    steps: list[Callable[[], object]] = [table.upsert, table.delete, table.overwrite, table.evolve, table.upsert]
    table.rng.shuffle(steps)
    table.upsert()
    for step in steps:
        step()


@pytest.mark.parametrize("partition", ["day", ""])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slice(name="tables")) for n in range(1, 5))])
def test_whatever_happens_to_a_mart_its_files_have_the_rows(
    spark: SparkSession, tmp_path: Path, hudis: list[str], seed: int, partition: str
) -> None:
    table = RealTable(spark, Settings(base_path=str(tmp_path)), partition, random.Random(seed))
    life_of(table)
    timeline = table.timeline
    for write in timeline.writes:
        assert_same(spark, timeline, write.time)
        if partition:
            assert_same(spark, timeline, write.time, *table.rng.sample(DAYS, 2))
    assert hudis == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slice(name="tables")) for n in range(1, 5))])
def test_whatever_happens_to_a_log_its_files_have_the_rows_or_hudi_reads_them(
    spark: SparkSession, tmp_path: Path, hudis: list[str], seed: int
) -> None:
    log, rng = RealLog(spark, Settings(base_path=str(tmp_path))), random.Random(seed)
    steps: list[Callable[[], object]] = [log.append, log.evolve, log.cluster, log.narrow, log.erase]
    steps += [log.restore] if seed else []
    rng.shuffle(steps)
    log.append()
    for step in steps:
        step()
        timeline = log.timeline
        assert_same(spark, timeline, timeline.writes[-1].time)
        assert_same(spark, timeline, rng.choice(timeline.writes).time, "2026-01-01")
    assert len(hudis) < 2 * len(steps)


def test_rows_with_arrays_of_two_levels_are_merged(spark: SparkSession, tmp_path: Path, hudis: list[str]) -> None:
    """Upserts of earlier releases wrote those, where no element was null."""
    levels, hadoop = "parquet.avro.write-old-list-structure", spark._jsc.hadoopConfiguration()
    table = RealTable(spark, Settings(base_path=str(tmp_path)), "day", random.Random(2), ["array(n, n + 1) AS numbers"])
    hadoop.set(levels, "true")
    try:
        table.upsert()
        table.upsert()
    finally:
        hadoop.set(levels, "false")
    table.columns = ["array(n, if(n % 2 = 0, null, n)) AS numbers"]
    table.upsert()
    table.upsert()
    for write in table.timeline.writes:
        assert_same(spark, table.timeline, write.time)
    assert hudis == []


def test_an_array_of_arrays_without_nulls_is_hudis(spark: SparkSession, tmp_path: Path, hudis: list[str]) -> None:
    """Its type would be another one."""
    table = RealTable(spark, Settings(base_path=str(tmp_path)), "", random.Random(1), ["array(array(n)) AS numbers"])
    instant = table.upsert()
    assert_same(spark, table.timeline, instant)
    assert len(hudis) == 1


def test_a_read_is_one_spark_job_in_a_plan_with_anything(spark: SparkSession, tmp_path: Path) -> None:
    """Hudi's reader turns vectorized reading off for the session; the join has a scan of either kind."""
    table = RealTable(spark, Settings(base_path=str(tmp_path)), "day", random.Random(1))
    instant, timeline = table.upsert(), table.timeline
    with counting_jobs(spark) as jobs:
        rows = found(read_table(spark, timeline, instant))
        assert len(jobs.names()) == 1
    ours_df = read_table(spark, timeline, instant)
    both_df = ours_df.join(read_as_of(spark, timeline.path, instant).select("id"), "id")
    assert both_df.count() == len(rows)


def test_what_is_not_certain_is_read_by_hudi(spark: SparkSession, tmp_path: Path, hudis: list[str]) -> None:
    log = RealLog(spark, Settings(base_path=str(tmp_path)))
    log.append(1)
    read = {"a folder that is no plain name": ["day=2026-01-01 "], "the rows": ["day=2026-01-01"]}
    first = log.append(1)
    for folders in read.values():
        assert len(found(read_table(spark, log.timeline, first, folders))) == 2
    assert len(hudis) == 1, "the name that is not plain"
    log.narrow()
    instant = log.timeline.writes[-1].time
    assert_same(spark, log.timeline, instant)
    assert len(hudis) == 2, "a file has a narrower type"
    assert_same(spark, log.timeline, first)
    assert len(hudis) == 2, "its commit came later"


@pytest.mark.parametrize("most", ["MOST_FILES", "MOST_BYTES"])
def test_many_files_are_hudis_to_list_and_large_ones_to_read(
    spark: SparkSession, tmp_path: Path, hudis: list[str], monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    log = RealLog(spark, Settings(base_path=str(tmp_path)))
    log.append(1)
    instant = log.append(1)
    assert_same(spark, log.timeline, instant)
    assert hudis == []
    monkeypatch.setattr(snapshots, most, 1)
    assert_same(spark, log.timeline, instant)
    assert len(hudis) == 1


def test_a_file_that_was_cleaned_meanwhile_is_hudis_to_miss(
    spark: SparkSession, tmp_path: Path, hudis: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RealLog(spark, Settings(base_path=str(tmp_path)))
    instant, latest = log.append(1), latest_files

    def listed(timeline: Timeline, partitions: Sequence[str] | None, *, as_of: Instant) -> object:
        found_files = latest(timeline, partitions, as_of=as_of)
        for path in found_files or {}:
            Path(log.timeline.path, path).rename(tmp_path / "gone.parquet")
        return found_files

    monkeypatch.setattr(snapshots, "latest_files", listed)
    read_table(spark, log.timeline, instant)
    assert len(hudis) == 1
