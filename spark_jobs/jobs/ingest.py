"""ingest: landing files to the event log, exactly once; what cannot be used goes to quarantine."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.jobs.intake import LEDGER_KEY, Intake
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import told_of
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import list_landing, plan_landing, unpack_ledger
from spark_jobs.storage.erasures import check_no_erasure
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--max-events", type=int, help="most events to take in this run (LAKEHOUSE_MAX_EVENTS)")


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Take what is new in the landing folder, at most ``max_events`` records of it.

    What was read is recorded in the log's commit that holds the rows. The quarantine is written first, by content: a
    run that dies in between repeats it without effect.
    """
    spec = load_lake_spec(settings.lake_spec)
    with hold_tables((spec.log, spec.quarantine), job=arguments.job, settings=settings):
        check_no_erasure(settings)
        taken = take_in(spark, spec, arguments, settings)
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in taken.outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=taken.outcomes,
        counters=taken.counters,
        messages=taken.messages,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a look at the landing folder came to; ``ledger`` is what is known of its files now."""

    outcomes: tuple[TableOutcome, ...]
    counters: dict[str, int]
    messages: tuple[str, ...]
    ledger: Mapping[str, LedgerEntry]
    has_more: bool


def take_in(spark: SparkSession, spec: LakeSpec, arguments: JobArguments, settings: Settings) -> Taken:
    """Take what is new, as much as is taken in at a time. The caller holds the leases of log and quarantine."""
    log_timeline = settled_timeline(spark, spec.log, settings)
    quarantine_timeline = settled_timeline(spark, spec.quarantine, settings)
    files = Filesystem(settings.landing_path)
    entries, messages = list_landing(files, spec.source.topics)
    plan = plan_landing(
        files,
        entries,
        read_ledger(log_timeline),
        max_records=arguments.options.get("max_events") or settings.max_events,
        truncated_before_ns=truncated_before_ns(arguments.clock, settings),
    )
    counters = {"files_listed": len(entries), "records_read": plan.records, "has_more": int(plan.has_more)}
    outcomes = [
        TableOutcome(table=t.table, instant=t.last, rows=0, is_committed=False)
        for t in (log_timeline, quarantine_timeline)
    ]
    if plan.chunks or plan.broken:
        log.info("reading %d records from %d files", plan.records, len({chunk.path for chunk in plan.chunks}))
        intake = Intake(
            spark=spark,
            spec=spec,
            plan=plan,
            log_timeline=log_timeline,
            quarantine_timeline=quarantine_timeline,
            arguments=arguments,
            settings=settings,
        )
        outcomes = intake.commit()
        counters |= intake.counters
        messages = (*messages, *told_of(spec.log, intake.verdicts))
    Holds(settings).release({spec.log})
    said = (*messages, *plan.messages)
    return Taken(outcomes=tuple(outcomes), counters=counters, messages=said, ledger=plan.ledger, has_more=plan.has_more)


def read_ledger(log_timeline: Timeline) -> dict[str, LedgerEntry]:
    """What the log's commits say was read of the landing files."""
    return unpack_ledger(log_timeline.newest_metadata(METADATA_PREFIX + LEDGER_KEY))


def truncated_before_ns(clock: datetime, settings: Settings) -> int:
    """Files that have not changed since, in nanoseconds since 1970, get no more bytes: what they lack never comes."""
    return int((clock - timedelta(seconds=settings.truncated_after_seconds)).timestamp() * 1e9)
