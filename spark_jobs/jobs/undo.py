"""undo: tables and marts of an applied plan restored to the rows and the definition that they had; a plan first."""

from __future__ import annotations

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.instants import moment_of
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.undo import UndoOptions
from spark_jobs.lake_spec.lake_plan import APPLY
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.undo import undo
from spark_jobs.pipelines.rebuild.swap import Rebuild, targets_of_tables
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.plan_files import find_plan_id
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished

_HEAD = ("table", "restored to its rows of", "commits since")
_AFTER = "put the files back, or make a new plan: until then these marts and tables are blocked"


def needs_spark(context: JobContext[UndoOptions]) -> bool:
    """What it would do is known from timelines."""
    return context.options.yes


def check(context: JobContext[UndoOptions]) -> None:
    """Raise ContractError when the plan was not applied, or was undone already."""
    _record(context)


def run(context: JobContext[UndoOptions]) -> JobResult:
    """Show what would come back; with ``--yes`` commit the old rows once more, with definition and checkpoints of then.

    Tables first, then marts, those over them too. Each changes in one commit, and a run that was killed is run again.
    Where the files still have the new definition, they are blocked until it is put back, or planned and applied again.
    """
    settings = context.settings
    record = _record(context)
    if not context.options.yes:
        return _plan(context, record)
    check_nothing_unfinished(settings, record.tables)
    engine = Engine(context=context)
    outcomes = [*_restore_tables(engine, record), *undo(engine, record)]
    return _result(context, record, outcomes, (f"undone: {record.what}", _AFTER))


def _record(context: JobContext[UndoOptions]) -> Record:
    """The savepoint of the plan, which ``apply`` made before it changed anything."""
    settings = context.settings
    return SavepointRecords(settings).read(find_plan_id(context.options.plan, settings), made_by=APPLY)


def _plan(context: JobContext[UndoOptions], record: Record) -> JobResult:
    settings = context.settings
    rows = []
    for table, instant in record.tables.items():
        timeline = Timeline(table=table, path=settings.table_path(table))
        since = [write for write in timeline.writes if write.time > instant and not timeline.is_service(write)]
        rows.append((table, f"{moment_of(instant):%Y-%m-%d %H:%M:%S} UTC", len(since)))
    print(f"would undo: {record.what} (applied {record.made_at})\n{format_table(_HEAD, rows)}")
    messages = [f"would undo: {record.what} (applied {record.made_at})"]
    messages += [f"{table}: restored to its rows of {then}, commits since: {since}" for table, then, since in rows]
    return _result(context, record, [], (*messages, _AFTER, "nothing was changed; do it with --yes"))


def _result(
    context: JobContext[UndoOptions], record: Record, outcomes: list[TableOutcome], messages: tuple[str, ...]
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={"tables_planned": len(record.tables), "rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=messages,
    )


def _restore_tables(engine: Engine, record: Record) -> list[TableOutcome]:
    tables = [name for name in record.tables if engine.context.spec.find_table(name)]
    if not tables:
        return []
    rebuild = Rebuild(context=engine.context, plan=record.id)
    services_of = targets_of_tables(engine.context.spec, tables)
    job, settings = engine.context.job, engine.context.settings
    with hold_whole(engine.context.spec.split_tables, services_of=services_of, job=job, settings=settings):
        return [outcome for name in tables for outcome in rebuild.take_back(name, record)]


JOB = Job(options=UndoOptions, run=run, check=check, needs_spark=needs_spark)
