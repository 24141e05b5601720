"""Contexts of jobs in tests, and jobs run in a session that is there already."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.context import JobContext
from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import load_job
from spark_jobs.job_options.registry import options_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.lake_specs import read_lake_spec

CLOCK = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)


def context_of(
    job: str,
    settings: Settings,
    *,
    spark: SparkSession | None = None,
    spec: LakeSpec | None = None,
    clock: datetime = CLOCK,
    interval: Interval | None = None,
    **options: Any,
) -> JobContext[Any]:
    """The context of a run, by the names of its options; without a spec for jobs that are not looked into so far.

    Keys of people are options of the job ``erase``, by their roles.
    """
    made = options_of(job)
    if people := {name: options.pop(name) for name in {*options} - {each.name for each in fields(made)}}:
        assert made.grows_by_spec, f"{job} has no options {sorted(people)}"
        options["people"] = {role: str(key) for role, key in people.items() if key not in (None, "")}
    chosen = made(**options) if people else made.from_values(options)
    return JobContext(
        job=job, clock=clock, interval=interval, options=chosen, settings=settings, lake=spec, session=spark
    )


def run_in(context: JobContext[Any]) -> JobResult:
    """Run the job as the entry point does, by the lake spec of its settings, in the session of the context."""
    if context.options.reads_spec and context.lake is None:
        context = replace(context, lake=read_lake_spec(context.settings))
    job = load_job(context.job)
    job.check(context)
    return job.run(context)
