"""undo: tables and marts of an applied plan restored to the rows and the definition that they had; a plan first."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.instants import moment_of
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.lake_plan import APPLY
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.undo import undo
from spark_jobs.pipelines.rebuild.swap import Rebuild, targets_of_tables
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.plan_files import PLAN_HELP, find_plan_id
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished

_HEAD = ("table", "restored to its rows of", "commits since")
_AFTER = "put the files back, or make a new plan: until then these marts and tables are blocked"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--plan", required=True, metavar="FILE", help=f"the plan that was applied: {PLAN_HELP}")
    parser.add_argument("--yes", action="store_true", help="do it; without it the plan is shown and nothing is changed")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """What it would do is known from timelines."""
    return bool(arguments.options.get("yes"))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the plan was not applied, or was undone already."""
    _record(arguments, settings)


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show what would come back; with ``--yes`` commit the old rows once more, with definition and checkpoints of then.

    Tables first, then marts, those over them too. Each changes in one commit, and a run that was killed is run again.
    Where the files still have the new definition, they are blocked until it is put back, or planned and applied again.
    """
    spec, record = read_lake_spec(settings), _record(arguments, settings)
    if spark is None or not arguments.options.get("yes"):
        return _plan(arguments, record, settings)
    check_nothing_unfinished(settings, record.tables)
    engine = Engine(spark=spark, spec=spec, settings=settings, arguments=arguments)
    outcomes = [*_restore_tables(engine, record), *undo(engine, record)]
    return _result(arguments, record, outcomes, (f"undone: {record.what}", _AFTER))


def _record(arguments: JobArguments, settings: Settings) -> Record:
    """The savepoint of the plan, which ``apply`` made before it changed anything."""
    return SavepointRecords(settings).read(find_plan_id(arguments.options["plan"], settings), made_by=APPLY)


def _plan(arguments: JobArguments, record: Record, settings: Settings) -> JobResult:
    rows = []
    for table, instant in record.tables.items():
        timeline = Timeline(table=table, path=settings.table_path(table))
        since = [write for write in timeline.writes if write.time > instant and not timeline.is_service(write)]
        rows.append((table, f"{moment_of(instant):%Y-%m-%d %H:%M:%S} UTC", len(since)))
    print(f"would undo: {record.what} (applied {record.made_at})\n{format_table(_HEAD, rows)}")
    messages = [f"would undo: {record.what} (applied {record.made_at})"]
    messages += [f"{table}: restored to its rows of {then}, commits since: {since}" for table, then, since in rows]
    return _result(arguments, record, [], (*messages, _AFTER, "nothing was changed; do it with --yes"))


def _result(
    arguments: JobArguments, record: Record, outcomes: list[TableOutcome], messages: tuple[str, ...]
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"tables_planned": len(record.tables), "rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=messages,
    )


def _restore_tables(engine: Engine, record: Record) -> list[TableOutcome]:
    tables = [name for name in record.tables if engine.spec.find_table(name)]
    if not tables:
        return []
    rebuild = Rebuild(
        spark=engine.spark, spec=engine.spec, settings=engine.settings, arguments=engine.arguments, plan=record.id
    )
    services_of = targets_of_tables(engine.spec, tables)
    job, settings = engine.arguments.job, engine.settings
    with hold_whole(engine.spec.split_tables, services_of=services_of, job=job, settings=settings):
        return [outcome for name in tables for outcome in rebuild.take_back(name, record)]
