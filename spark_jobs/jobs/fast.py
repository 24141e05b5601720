"""fast: the marts of today, brought up to the log and the tables, as of the run's clock."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import DailyTotalsSpec, LakeSpec, MartSpec
from spark_jobs.jobs.fast_daily import refresh_daily
from spark_jobs.jobs.fast_hourly import refresh_hourly
from spark_jobs.jobs.mart_refresh import MartRefresh
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline


def add_options(parser: argparse.ArgumentParser) -> None:
    """This job has no options of its own."""


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Bring every mart to the newest state of its sources, as of the clock.

    A mart's clock never goes back: a run with an older one (a backfill, a late retry) takes in new data and leaves the
    mart's window where it is.
    """
    spec = load_lake_spec(settings.lake_spec)
    outcomes = [_refresh(spark, spec, mart, arguments, settings) for mart in spec.marts]
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
    )


def _refresh(
    spark: SparkSession, spec: LakeSpec, mart: MartSpec, arguments: JobArguments, settings: Settings
) -> TableOutcome:
    with hold_tables((mart.name,), job=arguments.job, settings=settings):
        refresh = MartRefresh(
            spark=spark,
            spec=spec,
            settings=settings,
            arguments=arguments,
            timeline=settled_timeline(spark, mart.name, settings),
            state=ConsumerRegistry(settings.base_path).read(mart.name),
        )
        return refresh_daily(refresh, mart) if isinstance(mart, DailyTotalsSpec) else refresh_hourly(refresh, mart)
