"""What the safety of a commit costs: the same rows written with all that keeps them safe, and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.contenders import fingerprint
from bench.race import differing, say
from bench.report import Race
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import Hudi, build_write_options
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.writer import commit

LAYOUT = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, buckets=2, type=TableType.MERGE_ON_READ)
STORED, CHANGED = 50_000, 4_000
AIM = 1.1
_UNSAFE = (
    Hudi.CONCURRENCY_MODE,
    Hudi.LOCK_PROVIDER,
    Hudi.FAILED_WRITES,
    Hudi.HEARTBEAT_INTERVAL,
    Hudi.HEARTBEAT_MISSES,
)

_METHOD = f"""\
A merge-on-read table of {STORED:,} rows in two buckets; in every round {CHANGED:,} of them change, already in memory.
One process with one warm Spark session on {CORES} cores; who begins changes from round to round.

* ours is a commit as every job makes it: the lease, the table brought to rest (nothing is unfinished), optimistic
  concurrency with heartbeats and a lock, and the commit found on the timeline afterwards.
* bare is the same write with Hudi's defaults for a single writer, and nothing around it."""


def measure_safety(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Race:
    """Two tables, the same rows."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    ways: Mapping[str, Callable[[DataFrame, Settings, bool], object]] = {
        "ours": lambda rows_df, home, is_first: _safely(spark, rows_df, home, is_first=is_first),
        "bare": lambda rows_df, home, is_first: _barely(rows_df, home, is_first=is_first),
    }
    homes = {name: replace(settings, base_path=str(folder / name)) for name in ways}
    for name, write in ways.items():
        write(_rows(spark, 0, STORED), homes[name], True)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(warm_ups + rounds):
        rows_df = _rows(spark, number + 1, CHANGED).cache()
        rows_df.count()
        for name in sorted(ways, reverse=bool(number % 2)):
            began = time.perf_counter()
            ways[name](rows_df, homes[name], False)
            if number >= warm_ups:
                seconds[name].append(time.perf_counter() - began)
        rows_df.unpersist(blocking=True)
    say(f"{rounds} rounds timed")
    return Race(
        title="The safety of a commit",
        method=_METHOD,
        subject="ours",
        aims={"bare": AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=seconds,
        differing_tables=differing(
            (name, LAYOUT.name, fingerprint(read_snapshot(spark, home.table_path(LAYOUT.name)), ["id", "v"]))
            for name, home in homes.items()
        ),
    )


def _rows(spark: SparkSession, value: int, count: int) -> DataFrame:
    """``count`` rows spread over all keys, each with the value."""
    return spark.range(count).selectExpr(f"id * {STORED // count} AS id", f"{value} AS v").coalesce(1)


def _safely(spark: SparkSession, rows_df: DataFrame, settings: Settings, *, is_first: bool) -> None:
    with hold_tables([LAYOUT.name], job="bench", settings=settings):
        settled_timeline(spark, LAYOUT.name, settings)
        commit(rows_df, LAYOUT, metadata={}, settings=settings, is_first=is_first)


def _barely(rows_df: DataFrame, settings: Settings, *, is_first: bool) -> None:
    options = build_write_options(LAYOUT, parallelism=settings.shuffle_partitions, is_first=is_first)
    bare = {key: value for key, value in options.items() if key not in _UNSAFE}
    rows_df.write.format("hudi").options(**bare).mode("append").save(settings.table_path(LAYOUT.name))
