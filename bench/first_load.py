"""The first load of landing files, compressed: `ingest` into an empty lake, against Spark's parser writing Parquet."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from bench.lake import run_job, stage
from bench.race import say
from bench.report import Race
from bench.session import CORES, open_bench_session
from bench.spark_json import REBASE, parsed_by_spark
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

FIRST_EVENTS = 2_000_000
RATE_AIM = 0.5
INGEST, COLUMNS = "ingest", "Spark, Parquet of columns"
_START, _DAYS, _EVENTS_A_FILE = datetime(2026, 6, 1, tzinfo=UTC), 10, 20_000

_METHOD = """\
{events:,} generated events of {days} days, with the generator's usual share of late, partial, repeated, corrected and
broken ones: {records:,} records in gzip files of {each:,} events, Debezium's JSON without schemas. One warm session on
{cores} cores; who begins changes from round to round.

* ingest is the job, into a lake that has no log yet: at most {most:,} records a run, as many runs as it takes.
  Quarantine, duplicates and expectations are in it.
* Spark, Parquet of columns, reads the same files as text, parses them with `from_json` into the columns of the log that
  need no hash, and writes Parquet: what cannot be read is null, what came twice is in it twice. The aim is {rate:.0%}
  of its records per second."""


def measure_first_load(settings: Settings, folder: Path, *, events: int, warm_ups: int, rounds: int) -> Race:
    """Seconds of a round by each."""
    settings = replace(settings, landing_path=str(folder / "landing"))
    end = _START + timedelta(days=_DAYS)
    with stage(f"landing {events:,} events"):
        life = {"start": format_clock(_START), "end": format_clock(end), "added_column_at": 0.0}
        run_job(None, settings, "generate", end, events=events, gzip=True, events_per_file=_EVENTS_A_FILE, **life)
    spark = open_bench_session(settings, folder=folder, with_peers=False, extra=REBASE)
    records = spark.read.text(_files(settings)).count()
    contenders: dict[str, Callable[[], object]] = {
        INGEST: lambda: _ingest(spark, settings, folder / "lake", end),
        COLUMNS: lambda: _write_columns(spark, settings, folder / "columns"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(warm_ups + rounds):
        shutil.rmtree(folder / "lake", ignore_errors=True)
        for name in list(contenders)[:: 1 if number % 2 else -1]:
            began = time.perf_counter()
            contenders[name]()
            taken = time.perf_counter() - began
            say(f"round {number}: {name} {taken:.1f} s")
            if number >= warm_ups:
                seconds[name].append(taken)
    spark.stop()
    facts = {"events": events, "records": records, "days": _DAYS, "each": _EVENTS_A_FILE, "cores": CORES}
    return Race(
        title=f"First load of {events:,} events",
        method=_METHOD.format(most=settings.max_events, rate=RATE_AIM, **facts),
        subject=INGEST,
        aims={COLUMNS: 1 / RATE_AIM},
        rows_scale=events / FIRST_EVENTS,
        warm_ups=warm_ups,
        seconds=seconds,
        differing_tables={},
    )


def _ingest(spark: SparkSession, settings: Settings, lake: Path, clock: datetime) -> None:
    home = replace(settings, base_path=str(lake))
    while run_job(spark, home, "ingest", clock).counters["has_more"]:
        pass


def _write_columns(spark: SparkSession, settings: Settings, target: Path) -> None:
    rows_df = parsed_by_spark(spark.read.text(_files(settings)), load_lake_spec(settings.lake_spec))
    rows_df.write.mode("overwrite").parquet(str(target))


def _files(settings: Settings) -> str:
    return f"{settings.landing_path}/*/*.jsonl.gz"
