"""split: events of the log to the tables of newest values, one read of the source, tables side by side."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval, JobArguments, format_clock
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec, TableSpec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, checkpoint_key, table_checkpoint
from spark_jobs.storage.layouts import EVENT_DATE, table_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, plan_pull, read_pull, read_snapshot
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.row_index import RowIndex
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.newest import (
    TABLE,
    fold_events,
    from_table,
    merge_rows,
    newest_rows,
    slot_names,
    to_table,
)
from spark_jobs.transforms.packed import key_hash, pack_rows, unpack_rows

CONSUMER = "split"

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """This job has no options of its own."""


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Fold what is new in the log into every table.

    Without an interval: what was committed since the consumer's checkpoint. With one (a backfill): every event of these
    event dates once more; the merge is idempotent, so tables that are right stay as they are, and the checkpoint too.
    """
    spec = load_lake_spec(settings.lake_spec)
    with hold_tables((table.name for table in spec.tables), job=arguments.job, settings=settings):
        source = Timeline(table=spec.log, path=settings.table_path(spec.log))
        source.check_version()
        timelines = settled_timelines(spark, (table.name for table in spec.tables), settings)
        for table, timeline in zip(spec.tables, timelines, strict=True):
            timeline.check_type(table.type)
        registry = ConsumerRegistry(settings.base_path)
        state = registry.read(CONSUMER)
        after = min(table_checkpoint(state, timeline, spec.log) for timeline in timelines)
        pull = plan_pull(source, after=after)
        outcomes = [TableOutcome(table=t.table, instant=t.last, rows=0, is_committed=False) for t in timelines]
        counters = {"events_read": 0}
        if source.writes and (arguments.interval or not pull.window.is_empty):
            # Read here, before the row index is: a plan that reads both fails, because Hudi's reader turns vectorized
            # reading of Parquet off for the whole session while the plan is being carried out.
            with pinned(spark, _read_events(spark, spec, settings, pull, arguments.interval), "events") as events_df:
                counters["events_read"] = int(events_df.count())
                checkpoint = "" if arguments.interval else pull.window.up_to
                outcomes = fold_tables(
                    spark, spec, events_df, timelines, checkpoint, settings, event_count=counters["events_read"]
                )
            if not arguments.interval:
                tables = {outcome.table: outcome.instant for outcome in outcomes}
                registry.write(CONSUMER, ConsumerState(checkpoints={spec.log: pull.window.up_to}, tables=tables))
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        source=SourceWindow(table=spec.log, after=pull.window.after, up_to=pull.window.up_to),
        counters=counters,
        messages=(f"resync: {pull.resync_reason}",) if pull.resync_reason else (),
    )


def _read_events(
    spark: SparkSession, spec: LakeSpec, settings: Settings, pull: Pull, interval: Interval | None
) -> DataFrame:
    path = settings.table_path(spec.log)
    if interval is None:
        events_df = read_pull(spark, path, pull)
    else:
        last = interval.end - timedelta(microseconds=1)
        dates = F.col(EVENT_DATE).between(interval.start.date().isoformat(), last.date().isoformat())
        events_df = read_snapshot(spark, path).where(dates)
    used = {column for table in spec.tables for column in (table.key, *table.columns)}
    return events_df.select("op", "event_order", *sorted(used))


def fold_tables(
    spark: SparkSession,
    spec: LakeSpec,
    events_df: DataFrame,
    timelines: Sequence[Timeline],
    checkpoint: str,
    settings: Settings,
    *,
    event_count: int,
) -> list[TableOutcome]:
    """Fold the events into every table of ``spec``: one plan for all, then one commit for each that changed.

    ``events_df`` are pinned and read, ``event_count`` of them; ``timelines`` are those of the tables in their order;
    ``checkpoint`` goes into each commit unless it is empty. The commits go side by side: one that fails stops no other,
    and its error is raised when all have ended.
    """
    metadata = {checkpoint_key(spec.log): checkpoint} if checkpoint else {}
    index = _row_index(spec, settings)
    index.catch_up(spark, {timeline.table: timeline for timeline in timelines})
    with pinned(spark, fold_events(events_df, spec), "folded") as folded_df:
        packed_df = index.find(spark, folded_df.select(key_hash()), most=event_count * len(spec.tables))
        stored_df = None if packed_df is None else unpack_rows(packed_df, slot_names(spec))
        with pinned(spark, merge_rows(folded_df, stored_df), "changed") as changed_df:
            changed = {row[TABLE] for row in changed_df.select(TABLE).distinct().collect()}

            def write(table: TableSpec, timeline: Timeline) -> TableOutcome:
                if table.name not in changed:
                    return TableOutcome(table=table.name, instant=timeline.last, rows=0, is_committed=False)
                rows_df = to_table(changed_df, table, spec)
                layout = fit_layout(table_layout(table), timeline)
                done = commit(rows_df, layout, metadata=metadata, settings=settings, is_first=timeline.last is None)
                return TableOutcome(table=table.name, instant=done.instant, rows=done.rows, is_committed=True)

            if not changed:
                return list(map(write, spec.tables, timelines))
            with ThreadPoolExecutor(settings.write_threads) as threads:
                layer = threads.submit(index.write_layer, pack_rows(changed_df))
                outcomes = list(threads.map(write, spec.tables, timelines))
            committed = {done.table: done.instant for done in outcomes if done.is_committed and done.instant}
            index.accept(layer.result(), committed)
            return outcomes


def _row_index(spec: LakeSpec, settings: Settings) -> RowIndex:
    def pack(table: TableSpec, rows_df: DataFrame) -> DataFrame:
        return pack_rows(from_table(rows_df, table, spec))

    def merge(packed_df: DataFrame) -> DataFrame:
        return pack_rows(newest_rows(unpack_rows(packed_df, slot_names(spec))))

    return RowIndex(spec, settings, pack=pack, merge=merge)
