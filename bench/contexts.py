"""Contexts of runs that are measured without a job around them."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from spark_jobs.context import JobContext
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.split import SplitOptions
from spark_jobs.lake_spec.specs import LakeSpec


def split_context(spark: SparkSession, spec: LakeSpec, settings: Settings) -> JobContext[SplitOptions]:
    """Of a run of ``split`` over all tables, now."""
    return JobContext(
        job="split", clock=datetime.now(UTC), options=SplitOptions(), settings=settings, lake=spec, session=spark
    )
