"""A day of batches by our own code and by Iceberg, each with its own maintenance: the work of all processors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.contenders import fingerprint
from bench.day import QUERY, data_files, deliver
from bench.day_iceberg import COMPACT_EVERY, EXPIRE_EVERY, IcebergDay
from bench.day_report import Beside, Work
from bench.day_services import BATCH, SERVICES_EVERY, START, run_services
from bench.lake import run_job
from bench.processes import processor_seconds
from bench.race import differing, say
from bench.session import open_bench_session
from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.column_orders import table_columns

OURS, ICEBERG = "ours", "Iceberg MERGE, merge-on-read"
NEW = "a new lake"
_BATCH_COLUMN, _QUERIES = "batch", 3
Prints = Sequence[tuple[str, tuple[int, int]]]

METHOD = f"""\
**Beside Iceberg**: the same batches once more, as events that are decoded already, into the log and the seven tables
alone, no marts, of a new lake as above. Each contender has a process of its own with a session of its own, both at the
same time; the figure is the processor time of Python, JVM and workers from the second batch on: the first warms up.
Before a batch its events are cached, which is not counted.

* {OURS}: the product's commit of the log, the job `split` as a whole (leases, reading the log's files, merge, checks
  before the commit, commits read back, row index), and after every sixth batch `services run` by the shipped targets.
* {ICEBERG}: an append to the log, a read of the snapshot that it made, and of its events, folded the same way, a MERGE
  for each table, side by side, which leaves rows alone that nothing newer is known of. Every {COMPACT_EVERY} batches
  (an hour) `rewrite_data_files` (from five small files, or five files of deletes over one) and
  `rewrite_position_delete_files` of each table, every {EXPIRE_EVERY} (six hours) and at the end `rewrite_manifests` and
  `expire_snapshots` of what is older than six hours, then `remove_orphan_files` once. No checkpoint, lease or check.

In the end the rows of the log and of all tables are compared, and the query over `sales` is timed in both."""


@dataclass(kw_only=True)
class OurDay:
    """The product's way."""

    spark: SparkSession
    spec: LakeSpec
    settings: Settings
    instants: list[Instant] = field(default_factory=list)

    def make(self, events_df: DataFrame) -> None:
        """The log without a row."""
        commit(events_df.limit(0), log_layout(self.spec), metadata={}, settings=self.settings, is_first=True)

    def take(self, events_df: DataFrame) -> None:
        """Commit a batch to the log, and let `split` do the rest."""
        commit(events_df, log_layout(self.spec), metadata={}, settings=self.settings)
        run_job(self.spark, self.settings, "split", START + (len(self.instants) + 1) * BATCH)
        timelines = [Timeline(table=name, path=self.settings.table_path(name)) for name in self._tables]
        self.instants.append(max(timeline.newest or NO_INSTANT for timeline in timelines))

    def maintain(self, *, is_last: bool) -> None:
        """The services, as often as they are looked at."""
        if is_last or len(self.instants) % SERVICES_EVERY == 0:
            run_services(self.spark, self.settings, self.instants)

    def rows(self, table: str) -> DataFrame:
        """What a table, or the log, holds."""
        return read_snapshot(self.spark, self.settings.table_path(table))

    def data_files(self) -> int:
        """All that are stored."""
        return data_files(Path(self.settings.base_path), self._tables)[0]

    @property
    def _tables(self) -> list[str]:
        return [self.spec.log, *(table.name for table in self.spec.tables)]


def measure_beside(settings: Settings, folder: Path, *, batches: int) -> Sequence[Beside]:
    """The work of a day by both contenders, which run at the same time, in a new lake."""
    with _processes(1) as alone:
        alone.submit(_decode, settings, folder, batches).result()
    return [_measure_both(settings, folder, NEW, batches)]


def _measure_both(settings: Settings, folder: Path, start: str, batches: int) -> Beside:
    with _processes(2) as processes:
        days = {name: processes.submit(_measure, settings, folder, start, name, batches) for name in (OURS, ICEBERG)}
        found = {name: day.result() for name, day in days.items()}
    prints = [(name, *each) for name, (_, of_tables) in found.items() for each in of_tables]
    work = tuple(work for work, _ in found.values())
    return Beside(start=start, batches=batches - 1, work=work, differing_tables=differing(prints))


def _processes(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), max_tasks_per_child=1)


def _decode(settings: Settings, folder: Path, batches: int) -> None:
    """Write the rows of the log that each delivery of the day becomes to a folder of their own."""
    home = folder / "decoding"
    spark = open_bench_session(settings, folder=home, with_peers=False)
    place = replace(settings, base_path=str(home / "lake"), landing_path=str(home / "landing"))
    for number in range(batches):
        deliver(place, number, batches)
    while run_job(spark, place, "ingest", START + batches * BATCH).counters.get("has_more"):
        say("events of the day: more to decode")
    events_df = read_snapshot(spark, place.table_path(load_lake_spec(settings.lake_spec).log))
    files = sorted(str(row[0]) for row in events_df.select("read_from").distinct().collect())
    numbers = F.create_map(*(F.lit(each) for at, file in enumerate(files) for each in (file, at)))
    written = events_df.withColumn(_BATCH_COLUMN, numbers[F.col("read_from")])
    written.write.partitionBy(_BATCH_COLUMN).parquet(str(folder / "decoded"))
    say(f"events of the day: {len(files)} batches are decoded")
    spark.stop()


def _measure(settings: Settings, folder: Path, start: str, name: str, batches: int) -> tuple[Work, Prints]:
    home = folder / f"{start} {name}".replace(" ", "-").replace(",", "")
    spark = open_bench_session(settings, folder=home, with_peers=name == ICEBERG)
    spec = load_lake_spec(settings.lake_spec)
    place = replace(settings, base_path=str(home / "lake"))
    day = (
        IcebergDay(spark=spark, spec=spec, threads=settings.write_threads)
        if name == ICEBERG
        else OurDay(spark=spark, spec=spec, settings=place)
    )
    day.make(_events(spark, folder, 0, spec))
    changes, upkeep = 0.0, 0.0
    for number in range(batches):
        events_df = _events(spark, folder, number, spec).cache()
        events_df.count()
        taken = _work(partial(day.take, events_df))
        events_df.unpersist(blocking=True)
        kept = _work(partial(day.maintain, is_last=number == batches - 1))
        if number:  # the first one warms up
            changes, upkeep = changes + taken, upkeep + kept
        if number % 12 == 11:
            say(f"{start}, {name}: batch {number}: {taken:.1f} s of processors, so far {changes:.0f} and {upkeep:.0f}")
    work = Work(
        contender=name,
        changes=changes,
        upkeep=upkeep,
        files=day.data_files(),
        query_seconds=median(_query(spark, day) for _ in range(_QUERIES)),
    )
    prints = [(table, fingerprint(day.rows(table), columns)) for table, columns in _compared(spec)]
    spark.stop()
    return work, prints


def _compared(spec: LakeSpec) -> Iterator[tuple[str, Sequence[str]]]:
    yield spec.log, spec.log_columns
    for table in spec.tables:
        yield table.name, table_columns(table)


def _events(spark: SparkSession, folder: Path, number: int, spec: LakeSpec) -> DataFrame:
    return spark.read.parquet(str(folder / "decoded" / f"{_BATCH_COLUMN}={number}")).select(*spec.log_columns)


def _work(act: Callable[[], None]) -> float:
    with processor_seconds() as taken:
        act()
    return taken["seconds"]


def _query(spark: SparkSession, day: OurDay | IcebergDay) -> float:
    began = time.perf_counter()
    day.rows("sales").createOrReplaceTempView("day_sales")
    spark.sql(QUERY.format(sales="day_sales")).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
