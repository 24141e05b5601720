"""split: events of the log to the tables of newest values, one read of the source, tables side by side."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval, JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError, TablesFailedError
from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.mirrors import MirrorSpec, matches
from spark_jobs.contracts.names import show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import TableSpec
from spark_jobs.jobs.mirroring import Mirroring, exit_code_of
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.holds import Holds, let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata, told_of
from spark_jobs.storage.change_feed import CHANGES_KEY, write_changes
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState, checkpoint_key, table_checkpoint
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.lease import hold_tables
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "--databases", default="", metavar="PATTERNS", help="mirrors of these databases or schemas alone"
    )
    parser.add_argument(
        "--tables", default="", metavar="PATTERNS", help="mirrors of these tables alone, e.g. 'order*,customers'"
    )


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the patterns fit none of the lake's mirrors."""
    _chosen_mirrors(spec, arguments)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Bring what is new in the log into every table and every mirror.

    Without an interval: what was committed since the consumer's checkpoint. With one (a backfill): every event of these
    event dates once more; the merge is idempotent, so tables that are right stay as they are, and the checkpoint too.
    Patterns narrow it to some mirrors.

    Raises:
        TablesFailedError: some mirrors could not be written; everything else was.
    """
    spec = load_lake_spec(settings.lake_spec)
    mirrors, is_narrowed = _chosen_mirrors(spec, arguments), _is_narrowed(arguments)
    tables = () if is_narrowed else spec.tables
    names = [*(table.name for table in tables), *(mirror.name for mirror in spec.mirrors), *spec.tombstones]
    parts: list[Part] = []
    with hold_tables(names, job=arguments.job, settings=settings):
        if tables:
            parts = fold_new(spark, spec, arguments, settings)
        brought = Mirroring(spark=spark, spec=spec, arguments=arguments, settings=settings, chosen=mirrors).run()
    outcomes = [_sum(of_table) for of_table in zip(*(part.outcomes for part in parts), strict=True)]
    outcomes += [brought.outcomes[mirror.name] for mirror in mirrors]
    Holds(settings).release({table.name for table in tables})
    windows = [*(part.pull.window for part in parts), *([brought.window] if brought.window else [])]
    reasons = dict.fromkeys([*(part.pull.resync_reason for part in parts if part.pull.resync_reason), *brought.resyncs])
    result = JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        source=_source_of(spec, windows),
        counters={"events_read": sum(part.events for part in parts) + brought.events},
        messages=(*(f"resync: {reason}" for reason in reasons), *(line for part in parts for line in part.told)),
    )
    if brought.failed:
        told = {table: " ".join(str(error).split())[:_MOST_REASON] for table, error in brought.failed.items()}
        raise TablesFailedError(failed=told, result=result, exit_code=exit_code_of(brought.failed))
    return result


def _is_narrowed(arguments: JobArguments) -> bool:
    return any(arguments.options.get(name) for name in ("databases", "tables"))


def _chosen_mirrors(spec: LakeSpec, arguments: JobArguments) -> tuple[MirrorSpec, ...]:
    databases, tables = (names_of(arguments.options.get(name) or "") for name in ("databases", "tables"))
    chosen = tuple(m for m in spec.mirrors if matches(m.database, databases) and matches(m.table, tables))
    if not chosen and _is_narrowed(arguments):
        known = show_all(sorted(mirror.origin for mirror in spec.mirrors))
        raise ContractError(f"no mirror fits --databases and --tables; the lake mirrors {known}")
    return chosen


def _source_of(spec: LakeSpec, windows: Sequence[InstantRange]) -> SourceWindow | None:
    """From where to where the log was read; nowhere when there is no log."""
    if not windows:
        return None
    after, up_to = min(window.after for window in windows), max(window.up_to for window in windows)
    return SourceWindow(table=spec.log, after=after, up_to=up_to)


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


def _sum(outcomes: Sequence[TableOutcome]) -> TableOutcome:
    """What one table came to over all parts."""
    rows, is_committed = sum(done.rows for done in outcomes), any(done.is_committed for done in outcomes)
    return replace(outcomes[-1], rows=rows, is_committed=is_committed)


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
