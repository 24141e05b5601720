"""apply: the marts of a plan computed by the definition of the files, after a savepoint, each in one commit."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.lake_plan import APPLY, LakePlan
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.marts.bring_on import Engine
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.plan_files import PLAN_HELP, read_plan
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.savepoints import Record, SavepointRecords


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--plan", required=True, metavar="FILE", help=PLAN_HELP)


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise unless the file is a plan of the lake as it is."""
    _check(spec, read_plan(arguments.options["plan"], settings), arguments, settings)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Keep a savepoint of the plan's marts, then compute each by its new definition, over what its sources have now.

    Readers see the old rows of a mart or the new ones. A run that was killed is run again with the same plan. Marts
    that read these take the changes in with their next refresh.

    Raises:
        StalePlanError: the lake or its files are not those that the plan was made from. Nothing was changed.
        GateStoppedError: the new rows of a mart break what is expected of it; it stays as it is.
    """
    spec, plan = read_lake_spec(settings), read_plan(arguments.options["plan"], settings)
    engine = Engine(
        spark=spark,
        spec=spec,
        settings=settings,
        arguments=arguments,
        applies=frozenset(change.table for change in plan.recomputed),
    )
    marts = _touched(spec, plan)
    if not marts:
        return _result(engine, plan, [])
    with engine.holding(*marts):
        _check(spec, plan, arguments, settings)
        _keep_states(engine, plan, marts)
    outcomes: list[TableOutcome] = []
    for mart in marts:
        if mart.name not in spec.caches:  # a cache is refreshed with its mart
            outcomes += engine.bring_on(mart)
    return _result(engine, plan, outcomes)


def _check(spec: LakeSpec, plan: LakePlan, arguments: JobArguments, settings: Settings) -> None:
    kept = SavepointRecords(settings).find(plan.id)
    plan.check(make_plan(spec, settings, arguments.clock), kept.tables if kept else {})


def _touched(spec: LakeSpec, plan: LakePlan) -> list[MartSpec]:
    """The marts of the plan, a stitch mart and its cache together; each after those it reads."""
    names = {change.table for change in plan.recomputed}
    pairs = [{cache, mart.name} for cache, mart in spec.caches.items()]
    names = names.union(*(pair for pair in pairs if pair & names))
    return [mart for mart in spec.marts if mart.name in names]


def _keep_states(engine: Engine, plan: LakePlan, marts: list[MartSpec]) -> None:
    """A savepoint of every mart as it is, before any of them changes; of a run that was killed, the one it made."""
    records, registry = SavepointRecords(engine.settings), ConsumerRegistry(engine.settings.base_path)
    names = [mart.name for mart in marts]
    timelines = settled_timelines(engine.spark, names, engine.settings)
    record = records.find(plan.id) or Record(
        id=plan.id,
        made_by=APPLY,
        made_at=format_clock(engine.arguments.clock),
        what=f"{plan.id}: {', '.join(change.table for change in plan.recomputed)}",
        tables={timeline.table: timeline.last for timeline in timelines if timeline.last},
        consumers={name: registry.read(name).to_content() for name in names},
    )
    records.keep(engine.spark, record)


def _result(engine: Engine, plan: LakePlan, outcomes: list[TableOutcome]) -> JobResult:
    way_back = f"to undo: undo --plan {engine.arguments.options['plan']} --yes"
    left = [change.describe() for change in plan.changes if change not in plan.recomputed]
    return JobResult(
        job=engine.arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(engine.arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(*engine.messages, *left, *([way_back] if plan.recomputed else [])),
    )
