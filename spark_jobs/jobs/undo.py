"""undo: the tables and marts of an applied plan taken back to the rows and the definition that they had before."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.lake_plan import APPLY
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.marts.bring_on import Engine
from spark_jobs.marts.undo import undo
from spark_jobs.pipelines.rebuild.swap import Rebuild, targets_of_tables
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.plan_files import read_plan
from spark_jobs.storage.savepoints import Record, SavepointRecords


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--plan", required=True, metavar="FILE", help="the plan that was applied")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the plan was not applied, or was undone already."""
    SavepointRecords(settings).read(read_plan(arguments.options["plan"]).id, made_by=APPLY)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Commit the old rows once more, table by table, with the definition and the checkpoints of then.

    Tables first, then marts, those over them too. A run that was killed is run again. Where the files still have the
    new definition, what was taken back is blocked until it is put back, or planned and applied again.
    """
    spec = read_lake_spec(settings)
    record = SavepointRecords(settings).read(read_plan(arguments.options["plan"]).id, made_by=APPLY)
    engine = Engine(spark=spark, spec=spec, settings=settings, arguments=arguments)
    outcomes = [*_take_tables_back(engine, record), *undo(engine, record)]
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(
            f"undone: {record.what}",
            "put the files back, or make a new plan: until then what was changed is blocked",
        ),
    )


def _take_tables_back(engine: Engine, record: Record) -> list[TableOutcome]:
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
