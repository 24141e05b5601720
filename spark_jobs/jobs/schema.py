"""schema: the columns of tables with ``from``: a list of them, their history, and reviewed changes of them.

What is declared in the lake spec is what is wanted. ``plan`` says how the tables differ from that, ``apply`` changes
them: first what is known of the columns, in a commit of the log, then each table and its history, written again. A run
that dies in between leaves the rest to the next ``apply``, or to the next ``split`` that has something for that table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show_all
from spark_jobs.contracts.resolving import columns_of
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.said import check_line, said_by
from spark_jobs.contracts.schema_plan import PlannedChange, apply_changes, plan_changes
from spark_jobs.contracts.schemas import SCHEMAS_KEY, SchemaBook, TableSchema, pack_book
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.table_sources import matches
from spark_jobs.contracts.table_spec import TableSpec
from spark_jobs.contracts.text_table import format_table
from spark_jobs.jobs.intake import check_still
from spark_jobs.pipelines.column_forms import write_again
from spark_jobs.pipelines.columns import unresolved_lines
from spark_jobs.pipelines.merge.tables import merged_table
from spark_jobs.sources.discovery import checkpoints
from spark_jobs.storage.lake_specs import read_book, read_lake_spec
from spark_jobs.storage.layouts import history_layout, log_layout, table_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import settled_timeline, settled_timelines
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished
from spark_jobs.storage.writer import commit, fit_layout

_COLUMNS = ("table", "column", "type", "at the source", "since", "state")
_CHANGES = ("at", "table", "what", "column", "before", "after", "by", "from event", "read from")
_PLANNED = ("table", "what", "column", "before", "after", "result")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["list", "history", "plan", "apply"],
        help="list: the columns; history: their changes; plan: how they differ from the spec; apply: change them",
    )
    parser.add_argument("--tables", default="", metavar="PATTERNS", help="only tables that fit these patterns")
    parser.add_argument("--yes", action="store_true", help="apply: carry out the plan; by default it is only shown")
    parser.add_argument("--by", help="apply: who decided (default: the user of this machine)")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """Everything but a change is read from the log's commits."""
    return bool(arguments.options["action"] == "apply" and arguments.options.get("yes"))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the lake has no such table, or who says so is no line."""
    _chosen(spec, arguments)
    check_line(arguments.options, "by")


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show columns, their history or the plan; or carry the plan out.

    Raises:
        ContractError: the lake has no such table, or the plan cannot be carried out. Nothing was changed.
    """
    spec = read_lake_spec(settings)
    mirrors, action = _chosen(spec, arguments), arguments.options["action"]
    if action in ("list", "history"):
        book = read_book(Timeline(table=spec.log, path=settings.table_path(spec.log)))
        table = _list(mirrors, book) if action == "list" else _history(mirrors, book)
        print(table)
        return _result(arguments, (), said=unresolved_lines(spec))
    if spark is not None and needs_spark(arguments, settings):
        return _apply(spark, spec, mirrors, arguments, settings)
    planned = plan_changes(mirrors, read_book(Timeline(table=spec.log, path=settings.table_path(spec.log))))
    _show(planned)
    said = ("nothing was changed; do it with: schema apply --yes",) if planned else ()
    return _result(arguments, planned, said=said)


def _apply(
    spark: SparkSession,
    spec: LakeSpec,
    mirrors: Sequence[TableSpec],
    arguments: JobArguments,
    settings: Settings,
) -> JobResult:
    layouts = [(mirror, table_layout(mirror)) for mirror in mirrors]
    layouts += [(mirror, history_layout(mirror)) for mirror in mirrors if mirror.history]
    names = [layout.name for _, layout in layouts]
    with hold_tables((spec.log, *names), job=arguments.job, settings=settings):
        check_nothing_unfinished(settings, (spec.log, *names))
        log_timeline = settled_timeline(spark, spec.log, settings)
        timelines = settled_timelines(spark, names, settings)
        book = read_book(log_timeline)
        planned = plan_changes(mirrors, book)
        _show(planned)
        by = said_by(arguments.options)
        book = apply_changes(book, planned, at=format_clock(arguments.clock), by=by)
        outcomes = [_keep_book(spark, spec, book, log_timeline, settings)] if planned else []
        for (mirror, layout), timeline in zip(layouts, timelines, strict=True):
            table, fit = merged_table(mirror, spec, book), fit_layout(layout, timeline)
            if timeline.last and (done := write_again(spark, table, timeline, fit, settings)):
                outcomes.append(
                    TableOutcome(table=layout.name, instant=done.instant, rows=done.rows, is_committed=True)
                )
    return _result(arguments, planned, outcomes=outcomes)


def _keep_book(
    spark: SparkSession, spec: LakeSpec, book: SchemaBook, log_timeline: Timeline, settings: Settings
) -> TableOutcome:
    """A commit of the log without a row, which says what is known of the columns from now on."""
    check_still(log_timeline)
    metadata = {**checkpoints(log_timeline), SCHEMAS_KEY: pack_book(book)}
    nothing_df = read_stored(spark, log_timeline.path).limit(0)
    done = commit(nothing_df, log_layout(spec), metadata=metadata, settings=settings)
    return TableOutcome(table=spec.log, instant=done.instant, rows=0, is_committed=True)


def _chosen(spec: LakeSpec, arguments: JobArguments) -> tuple[TableSpec, ...]:
    patterns = names_of(arguments.options.get("tables") or "")
    chosen = tuple(mirror for mirror in spec.mirrors if matches(mirror.name, patterns))
    if not chosen:
        known = show_all(mirror.name for mirror in spec.mirrors)
        raise ContractError(f"no table with from fits --tables; this lake has {known}")
    return chosen


def _list(mirrors: Sequence[TableSpec], book: SchemaBook) -> str:
    rows = [
        (mirror.name, each.name, each.type, plain(each.source), each.since, "gone" if each.is_gone else "there")
        for mirror in mirrors
        for each in columns_of(mirror, book)
    ]
    return format_table(_COLUMNS, rows)


def _history(mirrors: Sequence[TableSpec], book: SchemaBook) -> str:
    rows: list[tuple[str, ...]] = [
        (each.at, mirror.name, each.kind, plain(each.column), each.before, each.after, each.by, each.order, each.place)
        for mirror in mirrors
        for origin in mirror.origins
        for each in book.get(origin, TableSchema()).changes
    ]
    return format_table(_CHANGES, sorted(rows))


def _show(planned: Sequence[PlannedChange]) -> None:
    rows = [(p.mirror, p.kind, plain(p.column), p.before, p.after, p.unfit or "ok") for p in planned]
    print(format_table(_PLANNED, rows) if rows else "every column is as the lake spec declares it")


def _result(
    arguments: JobArguments,
    planned: Sequence[PlannedChange],
    *,
    outcomes: Sequence[TableOutcome] = (),
    said: tuple[str, ...] = (),
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if outcomes else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"changes": len(planned)},
        messages=said,
    )
