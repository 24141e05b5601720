"""generate: a seeded life of a property company as change events in the landing zone, with the truth beside them."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.generator.generation import generate
from spark_jobs.generator.request import Request
from spark_jobs.job_options.generate import GenerateOptions

_LOG = logging.getLogger(__name__)


def run(context: JobContext[GenerateOptions]) -> JobResult:
    """Write the files; needs no Spark. ContractError when an option makes no sense."""
    settings = context.settings
    began, landing = time.monotonic(), settings.landing_path
    if "://" in landing:
        raise ContractError(f"generate writes local files only; set LAKEHOUSE_LANDING_PATH to a folder, not {landing}")
    outcome = generate(_request(context), Path(landing))
    counters = outcome.counters
    _LOG.info("generate: %d events to %s in %.1f s", counters["events"], outcome.folder, time.monotonic() - began)
    messages = [f"files in {outcome.folder}", f"truth in {outcome.truth}"]
    if left := counters["events_left"]:
        messages.append(f"{left} events are left; go on with --resume")
    return context.result(DONE, counters=counters, messages=tuple(messages))


def _request(context: JobContext[GenerateOptions]) -> Request:
    options = context.options
    rates = {
        "partial": options.partial_rate,
        "correction": options.correction_rate,
        "late": options.late_rate,
        "redelivery": options.redelivery_rate,
        "delete": options.delete_rate,
        "broken": options.broken_rate,
        "added_column_at": options.added_column_at,
    }
    return Request(
        clock=context.clock,
        events=options.events,
        total_events=options.total_events,
        seed=options.seed,
        start=parse_clock(options.start) if options.start else None,
        end=parse_clock(options.end) if options.end else None,
        rates={name: rate for name, rate in rates.items() if rate is not None},
        topic=options.topic,
        is_wrapped=options.wrapped,
        has_tombstones=options.tombstones,
        nulls=options.nulls,
        is_resume=options.resume,
        is_gzip=options.gzip,
        files=options.files,
        events_per_file=options.events_per_file,
    )


JOB = Job(options=GenerateOptions, run=run, needs_spark=never)
