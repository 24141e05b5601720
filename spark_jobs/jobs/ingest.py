"""ingest: landing files to the event log, exactly once; what cannot be used goes to quarantine."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.sources.decoding import decode_chunks
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import LandingPlan, list_landing, pack_ledger, plan_landing, unpack_ledger
from spark_jobs.storage.erasures import check_no_erasure
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import log_layout, quarantine_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.log import drop_stored, select_log_rows, select_rejections

LEDGER_KEY = "landing_ledger"

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
    truncated_before = arguments.clock - timedelta(seconds=settings.truncated_after_seconds)
    plan = plan_landing(
        files,
        entries,
        read_ledger(log_timeline),
        max_records=arguments.options.get("max_events") or settings.max_events,
        truncated_before_ns=int(truncated_before.timestamp() * 1e9),
    )
    counters = {"files_listed": len(entries), "records_read": plan.records, "has_more": int(plan.has_more)}
    outcomes = [
        TableOutcome(table=t.table, instant=t.last, rows=0, is_committed=False)
        for t in (log_timeline, quarantine_timeline)
    ]
    if plan.chunks or plan.broken:
        log.info("reading %d records from %d files", plan.records, len({chunk.path for chunk in plan.chunks}))
        outcomes = _write(spark, spec, plan, log_timeline, quarantine_timeline, arguments, settings, counters)
    said = (*messages, *plan.messages)
    return Taken(outcomes=tuple(outcomes), counters=counters, messages=said, ledger=plan.ledger, has_more=plan.has_more)


def read_ledger(log_timeline: Timeline) -> dict[str, LedgerEntry]:
    """What the log's commits say was read of the landing files."""
    return unpack_ledger(log_timeline.newest_metadata(METADATA_PREFIX + LEDGER_KEY))


def _write(
    spark: SparkSession,
    spec: LakeSpec,
    plan: LandingPlan,
    log_timeline: Timeline,
    quarantine_timeline: Timeline,
    arguments: JobArguments,
    settings: Settings,
    counters: dict[str, int],
) -> list[TableOutcome]:
    decoded_df = decode_chunks(spark, spec, settings.landing_path, plan.chunks, plan.broken)
    with pinned(spark, decoded_df, "decoded") as decoded_df:
        facts = _measure(decoded_df)
        counters |= {"events_usable": facts["usable"], "records_rejected": facts["rejected"]}
        quarantine = TableOutcome(table=spec.quarantine, instant=quarantine_timeline.last, rows=0, is_committed=False)
        if facts["rejected"]:
            rejected_df = select_rejections(decoded_df, arguments.clock)
            done = commit(rejected_df, quarantine_layout(spec), metadata={}, settings=settings)
            quarantine = TableOutcome(table=spec.quarantine, instant=done.instant, rows=done.rows, is_committed=True)
        rows_df = select_log_rows(decoded_df, spec, arguments.clock)
        if log_timeline.last and facts["usable"]:
            stored_df = read_snapshot(spark, settings.table_path(spec.log)).where(
                F.col("event_date").isin(facts["dates"]) & F.col("event_order").between(facts["first"], facts["last"])
            )
            rows_df = drop_stored(rows_df, stored_df)
        # One file for each day and task, rows in event order: later reads skip what they do not need.
        rows_df = rows_df.repartition(settings.shuffle_partitions, "event_date").sortWithinPartitions(
            "event_date", "event_order"
        )
        _check_still(log_timeline)
        done = commit(rows_df, log_layout(spec), metadata={LEDGER_KEY: pack_ledger(plan.ledger)}, settings=settings)
        counters["events_new"] = done.rows
        return [TableOutcome(table=spec.log, instant=done.instant, rows=done.rows, is_committed=True), quarantine]


def _measure(decoded_df: DataFrame) -> dict[str, Any]:
    is_usable = F.col("reason").isNull()
    row = decoded_df.agg(
        F.count_if(is_usable).alias("usable"),
        F.count_if(~is_usable).alias("rejected"),
        F.min("event_order").alias("first"),
        F.max("event_order").alias("last"),
        F.collect_set(F.date_format("event_time", "yyyy-MM-dd")).alias("dates"),
    ).first()
    return row.asDict() if row else {}


def _check_still(timeline: Timeline) -> None:
    """A writer whose client is gone may have begun after this run looked: its rows and ours would both be added."""
    now = Timeline(table=timeline.table, path=timeline.path)
    if now.last != timeline.last or now.unfinished:
        raise TransientError(f"{timeline.table}: another writer was at work meanwhile; run the job again")
