"""The slow layer: a correction that touches one month of 24 against recomputing everything."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.arrivals import CORRECTIONS, clock_of, corrections
from bench.history import MONTHS, History, month_start
from bench.lake import HistoryLake, wide
from bench.mart_refreshers import Ours, OursInFull
from bench.refreshing import Refresher, compare_marts, run_refreshes
from bench.report import Race, Races
from bench.session import CORES
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.reader import read_snapshot

LAYER = "slow"
AIM = 0.1

_METHOD = f"""\
The log of the same history, and the slow layer's six tables computed from it. In every round {CORRECTIONS:,} events
come in about sales that opened in one of its {MONTHS} months, another one each round: of twenty, fourteen say another
subtotal, five another agent, one deletes. They are committed to the log; then the tables are brought up to date, as
each contender keeps them. One process with one warm Spark session on {CORES} cores; who begins changes from round to
round; at the end all rows are compared.

* ours is the job `mart --layer slow`, from its leases to the last commit read back.
* mart --full is the same job recomputing everything, in a lake with marts of its own over the same log.
* SQL over the log runs the marts' own SQL, one after another, and writes each as Parquet.

What computes over everything is given shuffles cut for that; the product has two."""


class SqlOverLog(Refresher):
    """The marts' own SQL over everything, each table written as Parquet."""

    name = "SQL over the log"

    def __init__(self, lake: HistoryLake, folder: str) -> None:
        self._lake, self._folder = lake, f"{folder}/sql-over-log"

    def refresh(self, clock: datetime) -> None:
        spark, spec = self._lake.spark, self._lake.history.spec
        read_snapshot(spark, self._lake.settings.table_path(spec.log)).createOrReplaceTempView(spec.log)
        months = [f"{month_start(number):%Y-%m}" for number in range(MONTHS + 1)]
        book = load_rules(self._lake.settings.rules_path)
        versions = book.by_month(months)
        with wide(spark, self._lake.history):
            for mart in (mart for mart in spec.marts if mart.layer == LAYER):
                names, query = {read.table: read.table for read in mart.reads}, analyse_mart(mart, spec, book)
                rows_df = spark.sql(query.sql(names, time_zone=spec.time_zone, months=versions))
                rows_df.write.mode("overwrite").parquet(f"{self._folder}/{mart.name}")
                self.rows(mart.name).createOrReplaceTempView(mart.name)

    def rows(self, mart: str) -> DataFrame:
        return self._lake.spark.read.parquet(f"{self._folder}/{mart}")


def measure_slow(
    spark: SparkSession, settings: Settings, folder: Path, *, sizes: Sequence[int], warm_ups: int, rounds: int
) -> Races:
    """Every size in a lake of its own, one after another in one session."""
    races = []
    for events in sizes:
        home = folder / str(events)
        races.append(_race(spark, settings, home, events, warm_ups, rounds))
        spark.catalog.clearCache()
        shutil.rmtree(home)
    return Races(title=f"Slow layer, one month of {MONTHS} corrected", method=_METHOD, races=tuple(races))


def _race(spark: SparkSession, settings: Settings, folder: Path, events: int, warm_ups: int, rounds: int) -> Race:
    spec = load_lake_spec(settings.lake_spec)
    history = History(spec=spec, events=events)
    lake = HistoryLake(spark=spark, history=history, settings=replace(settings, base_path=str(folder / "lake")))
    lake.make(with_tables=False)
    ours, in_full = Ours(lake, LAYER), OursInFull(lake.copy(str(folder / "full"), spec.log), LAYER)
    first = ours.compute_first(clock_of(-1))
    in_full.compute_first(clock_of(-1))
    over_log = SqlOverLog(lake, str(folder))
    refreshers: list[Refresher] = [ours, in_full, over_log]
    found = run_refreshes(
        spark,
        refreshers,
        events_of=lambda number: corrections(spark, history, number, month_of(number)),
        take_in=lake.log_events,
        warm_ups=warm_ups,
        rounds=rounds,
    )
    columns = {mart.name: over_log.rows(mart.name).columns for mart in spec.marts if mart.layer == LAYER}
    return Race(
        title=f"{events:,} events",
        method="",
        subject=ours.name,
        aims={in_full.name: AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=found.refreshing,
        differing_tables=compare_marts(refreshers, columns),
        notes=(found.intake, first),
    )


def month_of(number: int) -> int:
    """The month that a round corrects: eleven rounds take eleven different ones."""
    return (5 + 2 * number) % (MONTHS - 2)
