"""apply: tables and marts of a plan made by the definition of the files, after a savepoint, each in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.apply import ApplyOptions
from spark_jobs.lake_spec.lake_plan import APPLY, LakePlan
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.registry import refresh_mart
from spark_jobs.pipelines.planning import make_plan
from spark_jobs.pipelines.rebuild.swap import Rebuild, targets_of_tables
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry
from spark_jobs.storage.forms import TableForm
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.plan_files import read_plan
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished


def check(context: JobContext[ApplyOptions]) -> None:
    """Raise unless the file is a plan of the lake as it is."""
    _check(context, read_plan(context.options.plan, context.settings))


def run(context: JobContext[ApplyOptions]) -> JobResult:
    """Keep a savepoint of what the plan changes, then make it again: its tables from the log, its marts from those.

    Readers see the old rows of a table or mart, or the new ones. Marts that read a table of the plan are refreshed, as
    a whole. A run that was killed is run again with the same plan. Marts that read marts of the plan alone take the
    changes in with their next refresh.

    Raises:
        StalePlanError: the lake or its files are not those that the plan was made from. Nothing was changed.
        GateStoppedError: the new rows break what is expected of them; their table stays as it is.
    """
    spec, settings = context.spec, context.settings
    plan = read_plan(context.options.plan, settings)
    engine = Engine(context=context, applies=frozenset(change.table for change in plan.recomputed))
    tables, marts = [change.table for change in plan.rebuilt], _touched(spec, plan, settings)
    if not tables and not marts:
        return _result(context, engine, plan, [])
    outcomes: list[TableOutcome] = []
    with _holding(engine, tables, marts):
        check_nothing_unfinished(settings, (*targets_of_tables(spec, tables), *(mart.name for mart in marts)))
        _check(context, plan)
        _keep_states(engine, plan, tables, marts)
        rebuild = Rebuild(context=context, plan=plan.id)
        for table in tables:
            outcomes += rebuild.run(table)
    for mart in marts:
        if mart.name not in spec.caches:  # a cache is refreshed with its mart
            outcomes += _refresh(engine, mart)
    return _result(context, engine, plan, outcomes)


def _check(context: JobContext[ApplyOptions], plan: LakePlan) -> None:
    spec, settings = context.spec, context.settings
    kept = SavepointRecords(settings).find(plan.id)
    plan.check(make_plan(spec, settings, context.clock), kept.tables if kept else {})


def _touched(spec: LakeSpec, plan: LakePlan, settings: Settings) -> list[MartSpec]:
    """The marts of the plan, and those over its tables that were computed before; each after those it reads.

    A stitch mart and its cache are together.
    """
    rebuilt = [change.table for change in plan.rebuilt if spec.find_table(change.table)]
    over = {mart.name for mart in spec.readers_of(*targets_of_tables(spec, rebuilt))}
    there = {name for name in over if Timeline(table=name, path=settings.table_path(name)).last}
    names = there | {change.table for change in plan.recomputed}
    pairs = [{cache, mart.name} for cache, mart in spec.caches.items()]
    names = names.union(*(pair for pair in pairs if pair & names))
    return [mart for mart in spec.marts if mart.name in names]


def _holding(engine: Engine, tables: Sequence[str], marts: Sequence[MartSpec]) -> AbstractContextManager[None]:
    """The leases of the marts; with tables, those of all that split writes too, and of the tables' services."""
    if not tables:
        return engine.holding(*marts)
    names = [*engine.context.spec.split_tables, *(mart.name for mart in marts)]
    services_of = targets_of_tables(engine.context.spec, tables)
    return hold_whole(names, services_of=services_of, job=engine.context.job, settings=engine.context.settings)


def _keep_states(engine: Engine, plan: LakePlan, tables: Sequence[str], marts: Sequence[MartSpec]) -> None:
    """A savepoint of all that may change, before any of it does; of a run that was killed, the one it made."""
    records, registry = SavepointRecords(engine.context.settings), ConsumerRegistry(engine.context.settings.base_path)
    targets, names = targets_of_tables(engine.context.spec, tables), [mart.name for mart in marts]
    made = settled_timelines(engine.context.spark, targets, engine.context.settings)
    computed = settled_timelines(engine.context.spark, names, engine.context.settings)
    forms = {timeline.table: TableForm.stored(timeline) for timeline in made}
    record = records.find(plan.id) or Record(
        id=plan.id,
        made_by=APPLY,
        made_at=format_clock(engine.context.clock),
        what=f"{plan.id}: {', '.join(change.table for change in plan.applied)}",
        tables={
            **{timeline.table: timeline.newest for timeline in made if timeline.newest},
            **{timeline.table: timeline.last for timeline in computed if timeline.last},
        },
        consumers={name: registry.read(name).to_content() for name in (*names, *([SPLIT] if tables else []))},
        keys={table: form.record_key for table, form in forms.items() if form},
    )
    records.keep(engine.context.spark, record)


def _refresh(engine: Engine, mart: MartSpec) -> list[TableOutcome]:
    """Refresh a mart; one that is blocked by a change that is not of the plan stays as it is, and is reported."""
    try:
        return refresh_mart(engine, mart)
    except DefinitionChangedError as error:
        if mart.name in engine.applies:
            raise
        engine.messages.append(f"{mart.name}: was not refreshed: {error}")
        return []


def _result(
    context: JobContext[ApplyOptions], engine: Engine, plan: LakePlan, outcomes: list[TableOutcome]
) -> JobResult:
    to_undo = [f"to undo: undo --plan {context.options.plan} --yes"] if plan.applied else []
    left = [change.describe() for change in plan.changes if change not in plan.applied]
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(*engine.messages, *left, *to_undo),
    )


JOB = Job(options=ApplyOptions, run=run, check=check)
