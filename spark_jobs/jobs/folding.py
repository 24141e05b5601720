"""What is new in the log folded into the tables of newest values: one read, one plan, tables side by side."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval, JobArguments
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import TableSpec
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata, told_of
from spark_jobs.storage.change_feed import CHANGES_KEY, write_changes
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState, checkpoint_key, table_checkpoint
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, plan_pull, read_interval, read_pull
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.row_index import RowIndex
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.changes import to_changes
from spark_jobs.transforms.newest import (
    IS_DELETED,
    STORED,
    TABLE,
    fold_events,
    from_table,
    merge_rows,
    newest_rows,
    slot_names,
    to_table,
    with_values,
)
from spark_jobs.transforms.packed import key_hash, pack_rows, unpack_rows

_MB = 1024 * 1024
_MOST_REASON = 200
_ROWS = "rows"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What was folded into the tables at a time."""

    pull: Pull
    outcomes: Sequence[TableOutcome]
    events: int
    told: tuple[str, ...] = ()
    """A line for each expectation that rows broke."""


def fold_new(spark: SparkSession, spec: LakeSpec, arguments: JobArguments, settings: Settings) -> list[Part]:
    """Fold what is new into every table, part by part. The caller holds the tables' leases."""
    source = Timeline(table=spec.log, path=settings.table_path(spec.log))
    source.check_version()
    timelines = settled_timelines(spark, (table.name for table in spec.tables), settings)
    for table, timeline in zip(spec.tables, timelines, strict=True):
        timeline.check_type(table.type)
    parts = [_fold_next(spark, spec, source, timelines, arguments, settings)]
    while parts[-1].pull.has_more:
        log.info("folded up to %s; there is more", parts[-1].pull.window.up_to)
        timelines = settled_timelines(spark, (table.name for table in spec.tables), settings)
        parts.append(_fold_next(spark, spec, source, timelines, arguments, settings))
    return parts


def _fold_next(
    spark: SparkSession,
    spec: LakeSpec,
    source: Timeline,
    timelines: Sequence[Timeline],
    arguments: JobArguments,
    settings: Settings,
) -> Part:
    """Fold what comes after the checkpoint of the table that is furthest behind, as much as is folded at a time."""
    registry = ConsumerRegistry(settings.base_path)
    state = registry.read(SPLIT)
    after = min(table_checkpoint(state, timeline, spec.log) for timeline in timelines)
    is_interval = arguments.interval is not None
    pull = plan_pull(source, after=after, most_bytes=None if is_interval else int(settings.max_pull_mb * _MB))
    if not source.writes or (pull.window.is_empty and not is_interval):
        unchanged = [TableOutcome(table=t.table, instant=t.last, rows=0, is_committed=False) for t in timelines]
        return Part(pull=pull, outcomes=unchanged, events=0)
    # Read here, before the row index is: a plan that reads both fails, because Hudi's reader turns vectorized
    # reading of Parquet off for the whole session while the plan is being carried out.
    with pinned(spark, _read_events(spark, spec, settings, pull, arguments.interval), "events") as events_df:
        count = int(events_df.count())
        checkpoint = "" if is_interval else pull.window.up_to
        outcomes, told = fold_tables(
            spark, spec, events_df, timelines, checkpoint, settings, event_count=count, run=arguments
        )
    if not is_interval:
        tables = {outcome.table: outcome.instant for outcome in outcomes}
        done = ConsumerState(checkpoints={spec.log: pull.window.up_to}, tables=tables)
        registry.write(SPLIT, done, arguments.clock)
    return Part(pull=pull, outcomes=outcomes, events=count, told=told)


def _read_events(
    spark: SparkSession, spec: LakeSpec, settings: Settings, pull: Pull, interval: Interval | None
) -> DataFrame:
    path = settings.table_path(spec.log)
    events_df = read_interval(spark, path, interval) if interval else read_pull(spark, path, pull)
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
    run: JobArguments,
) -> tuple[list[TableOutcome], tuple[str, ...]]:
    """Fold the events into every table of ``spec``: one plan for all, then one commit for each that changed.

    ``events_df`` are pinned and read, ``event_count`` of them; ``timelines`` are those of the tables in their order;
    ``checkpoint`` goes into each commit unless it is empty. The commits go side by side: one that fails stops no other,
    and its error is raised when all have ended. A table's first commit has no change feed: its readers begin with a
    snapshot. Gives the tables' outcomes and a line for each expectation that rows broke.

    Raises:
        GateStoppedError: rows break what is expected of their table; no table was written.
    """
    metadata = {checkpoint_key(spec.log): checkpoint} if checkpoint else {}
    index = _row_index(spec, settings)
    index.catch_up(spark, {timeline.table: timeline for timeline in timelines})
    with pinned(spark, fold_events(events_df, spec), "folded") as folded_df:
        packed_df = index.find(spark, folded_df.select(key_hash()), most=event_count * len(spec.tables))
        stored_df = None if packed_df is None else unpack_rows(packed_df, slot_names(spec))
        fed = sorted(timeline.table for timeline in timelines if timeline.last and timeline.table in spec.fed_tables)
        with pinned(spark, merge_rows(folded_df, stored_df, keep_stored=fed), "changed") as changed_df:
            verdicts = audit_tables(changed_df, spec, run, settings)
            changed = {table: to_metadata(rows, found) for table, (rows, found) in verdicts.items()}
            told = tuple(line for table, (_, found) in verdicts.items() for line in told_of(table, found))

            def write(table: TableSpec, timeline: Timeline) -> TableOutcome:
                if table.name not in changed:
                    return TableOutcome(table=table.name, instant=timeline.last, rows=0, is_committed=False)
                feed = _write_feed(changed_df, table, spec, settings) if table.name in fed else {}
                rows_df, layout = to_table(changed_df, table, spec), fit_layout(table_layout(table), timeline)
                is_first, said = timeline.last is None, {**metadata, **feed, QUALITY_KEY: changed[table.name]}
                done = commit(rows_df, layout, metadata=said, settings=settings, is_first=is_first)
                return TableOutcome(table=table.name, instant=done.instant, rows=done.rows, is_committed=True)

            if not changed:
                return list(map(write, spec.tables, timelines)), told
            with ThreadPoolExecutor(settings.write_threads) as threads:
                layer = threads.submit(index.write_layer, pack_rows(changed_df.drop(STORED)))
                outcomes = list(threads.map(write, spec.tables, timelines))
            committed = {done.table: done.instant for done in outcomes if done.is_committed and done.instant}
            index.accept(layer.result(), committed)
            return outcomes, told


def audit_tables(
    changed_df: DataFrame, spec: LakeSpec, run: JobArguments, settings: Settings
) -> dict[str, tuple[dict[str, int], tuple[Verdict, ...]]]:
    """Ask every table's gate of its changed rows, in one query; of each table that has any, counts and verdicts.

    Raises:
        GateStoppedError: rows break what is expected of their table.
    """
    gates = {table.name: Gate.of(spec, table.name) for table in spec.tables}
    values_df = with_values(changed_df, spec)
    asked = [
        aggregate
        for name, gate in gates.items()
        for aggregate in gate.aggregates(values_df.schema, of=(F.col(TABLE) == name) & ~F.col(IS_DELETED))
    ]
    rows = values_df.groupBy(TABLE).agg(F.count("*").alias(_ROWS), *asked).collect()
    facts = {row[TABLE]: row.asDict() for row in rows}
    verdicts = {table: gates[table].judge(of_table) for table, of_table in facts.items()}
    passed = let_pass(verdicts, job=run.job, clock=run.clock, settings=settings)
    return {table: ({"written": facts[table][_ROWS]}, found) for table, found in passed.items()}


def _write_feed(changed_df: DataFrame, table: TableSpec, spec: LakeSpec, settings: Settings) -> dict[str, str]:
    """Write the change feed of a commit that is about to be made; gives what the commit says of it."""
    return {CHANGES_KEY: write_changes(to_changes(changed_df, table, spec), table.name, settings)}


def _row_index(spec: LakeSpec, settings: Settings) -> RowIndex:
    def pack(table: str, rows_df: DataFrame) -> DataFrame:
        return pack_rows(from_table(rows_df, spec.table(table), spec))

    def merge(packed_df: DataFrame) -> DataFrame:
        return pack_rows(newest_rows(unpack_rows(packed_df, slot_names(spec))))

    columns = {
        table.name: [f"{name} {spec.columns_by_name[name].sql_type}" for name in (table.key, *table.columns)]
        for table in spec.tables
    }
    return RowIndex(spec.lake, columns, settings, pack=pack, merge=merge)
