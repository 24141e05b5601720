"""schema: the columns of tables with ``from``, and those of the wide log that are not declared.

A list of them, their history, and reviewed changes of them. What is declared in the lake spec is what is wanted.
``plan`` says how the tables differ from that, ``apply`` changes them: tables of the wide log are filled from what was
kept; of the others first what is known of the columns is committed in the log, then each table and its history is
written again. A run that dies in between leaves the rest to the next ``apply``, or to the next ``split`` that has
something for that table.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock, names_of
from spark_jobs.contracts.decisions import check_line, decided_by
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.schema import SchemaOptions
from spark_jobs.lake_spec.resolving import columns_of
from spark_jobs.lake_spec.schema_plan import PlannedChange, apply_changes, plan_changes
from spark_jobs.lake_spec.schemas import SCHEMAS_KEY, SchemaBook, TableSchema, pack_book
from spark_jobs.lake_spec.table_sources import matches
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.pipelines.column_forms import write_again
from spark_jobs.pipelines.columns import unresolved_lines
from spark_jobs.pipelines.filling import Filling, fill_tables, filled_metadata, history_rows, known_tables, listed
from spark_jobs.pipelines.log_metadata import commit_log_metadata
from spark_jobs.pipelines.merge.tables import merged_table
from spark_jobs.storage.lake_specs import read_book, read_kept
from spark_jobs.storage.layouts import history_layout, table_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.recovery import settled_timeline, settled_timelines
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished
from spark_jobs.storage.writer import fit_layout

_COLUMNS = ("table", "column", "type", "at the source", "since", "state")
_CHANGES = ("at", "table", "what", "column", "before", "after", "by", "from event", "read from")
_PLANNED = ("table", "what", "column", "before", "after", "result")


def needs_spark(context: JobContext[SchemaOptions]) -> bool:
    """Everything but a change is read from the log's commits."""
    return context.options.action == "apply" and context.options.yes


def check(context: JobContext[SchemaOptions]) -> None:
    """Raise ContractError when the lake has no such table, or ``--by`` is not one line."""
    _chosen(context)
    check_line(context.options.by, "by")


def run(context: JobContext[SchemaOptions]) -> JobResult:
    """Show columns, their history or the plan; or carry the plan out.

    Raises:
        ContractError: the lake has no such table, or the plan cannot be carried out. Nothing was changed.
    """
    spec, settings = context.spec, context.settings
    (mirrors, has_log), action = _chosen(context), context.options.action
    if needs_spark(context):
        return _apply(context, mirrors, has_log=has_log)
    timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    book, kept = read_book(timeline), read_kept(timeline) if has_log else {}
    if action in ("list", "history"):
        rows = [*_list(mirrors, book), *listed(spec, kept)]
        history = [*_history(mirrors, book), *history_rows(spec, kept)]
        print(format_table(_COLUMNS, rows) if action == "list" else format_table(_CHANGES, sorted(history)))
        return _result(context, 0, messages=unresolved_lines(spec))
    planned, filling = plan_changes(mirrors, book), Filling.of(spec, kept)
    _show(planned, filling.rows(spec, kept))
    count = len(planned) + len(filling.columns)
    return _result(context, count, messages=("nothing was changed; do it with: schema apply --yes",) if count else ())


def _apply(
    context: JobContext[SchemaOptions],
    mirrors: Sequence[TableSpec],
    *,
    has_log: bool,
) -> JobResult:
    spark, spec, settings = context.spark, context.spec, context.settings
    layouts = [(mirror, table_layout(mirror)) for mirror in mirrors]
    layouts += [(mirror, history_layout(mirror)) for mirror in mirrors if mirror.history]
    names = [layout.name for _, layout in layouts]
    held = dict.fromkeys((spec.log, *names, *(spec.split_tables if has_log else ())))
    with hold_tables((*held,), job=context.job, settings=settings):
        check_nothing_unfinished(settings, (*held,))
        log_timeline = settled_timeline(spark, spec.log, settings)
        timelines = settled_timelines(spark, names, settings)
        book, kept = read_book(log_timeline), read_kept(log_timeline) if has_log else {}
        planned, filling = plan_changes(mirrors, book), Filling.of(spec, kept)
        _show(planned, filling.rows(spec, kept))
        filling.check()
        book = apply_changes(book, planned, at=format_clock(context.clock), by=decided_by(context.options.by))
        outcomes, known = list[TableOutcome](), {SCHEMAS_KEY: pack_book(book)} if planned else {}
        if filling.columns:  # first the tables: a run that dies in between fills them once more
            outcomes += fill_tables(context, filling)
            known |= filled_metadata(kept, filling, clock=context.clock, by=decided_by(context.options.by))
        outcomes += [commit_log_metadata(context, known, log_timeline)] if known else []
        for (mirror, layout), timeline in zip(layouts, timelines, strict=True):
            table, fit = merged_table(mirror, spec, book), fit_layout(layout, timeline)
            if timeline.last and (done := write_again(spark, table, timeline, fit, settings)):
                outcomes.append(
                    TableOutcome(table=layout.name, instant=done.instant, rows=done.rows, is_committed=True)
                )
    return _result(context, len(planned) + len(filling.columns), outcomes=outcomes)


def _chosen(context: JobContext[SchemaOptions]) -> tuple[tuple[TableSpec, ...], bool]:
    """The tables with from that were chosen, and whether the wide log was."""
    spec = context.spec
    patterns = names_of(context.options.tables)
    chosen = tuple(mirror for mirror in spec.mirrors if matches(mirror.name, patterns))
    has_log = bool(spec.source.columns) and matches(spec.log, patterns)
    if not chosen and not has_log:
        known = known_tables(spec)
        raise ContractError(f"no table with from fits --tables, nor does the wide log; this lake has {known}")
    return chosen, has_log


def _list(mirrors: Sequence[TableSpec], book: SchemaBook) -> list[tuple[str, ...]]:
    return [
        (mirror.name, each.name, each.type, plain(each.source), each.since, "gone" if each.is_gone else "there")
        for mirror in mirrors
        for each in columns_of(mirror, book)
    ]


def _history(mirrors: Sequence[TableSpec], book: SchemaBook) -> list[tuple[str, ...]]:
    return [
        (each.at, mirror.name, each.kind, plain(each.column), each.before, each.after, each.by, each.order, each.place)
        for mirror in mirrors
        for origin in mirror.origins
        for each in book.get(origin, TableSchema()).changes
    ]


def _show(planned: Sequence[PlannedChange], filled: Sequence[tuple[str, ...]]) -> None:
    rows: list[tuple[str, ...]] = [
        (p.mirror, str(p.kind), plain(p.column), p.before, p.after, p.unfit or "ok") for p in planned
    ]
    rows += filled
    print(format_table(_PLANNED, rows) if rows else "every column is as the lake spec declares it")


def _result(
    context: JobContext[SchemaOptions],
    changes: int,
    *,
    outcomes: Sequence[TableOutcome] = (),
    messages: tuple[str, ...] = (),
) -> JobResult:
    return context.result(
        DONE if outcomes else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={"changes": changes},
        messages=messages,
    )


JOB = Job(options=SchemaOptions, run=run, check=check, needs_spark=needs_spark)
