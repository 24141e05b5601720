"""undo: the marts of an applied plan taken back to the rows and the definition that they had before."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.lake_plan import APPLY
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.marts.bring_on import Engine
from spark_jobs.marts.undo import undo
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.plan_files import read_plan
from spark_jobs.storage.savepoints import SavepointRecords


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--plan", required=True, metavar="FILE", help="the plan that was applied")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the plan was not applied, or was undone already."""
    SavepointRecords(settings).read(read_plan(arguments.options["plan"]).id, made_by=APPLY)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Commit the old rows once more, table by table, with the definition and the checkpoints of then.

    A run that was killed is run again. Where the files still have the new definition, the marts are blocked until it
    is put back, or planned and applied again.
    """
    spec = read_lake_spec(settings)
    record = SavepointRecords(settings).read(read_plan(arguments.options["plan"]).id, made_by=APPLY)
    outcomes = undo(Engine(spark=spark, spec=spec, settings=settings, arguments=arguments), record)
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(
            f"undone: {record.what}",
            "put the files back, or make a new plan: until then these marts are blocked",
        ),
    )
