"""consumers: who reads which table, how far and how often; readers outside the lake are registered here."""

from __future__ import annotations

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.instants import BEGINNING, parse_instant
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.consumers import ConsumersOptions
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.consumer_places import ConsumerPlace, places_of
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, own_consumers
from spark_jobs.storage.timeline import Timeline

_HEAD = ("consumer", "table", "read up to", "commits behind", "reads about every", "place")


def run(context: JobContext[ConsumersOptions]) -> JobResult:
    """List or change the registered consumers; needs no Spark.

    What a consumer has not read yet is neither cleaned nor archived, however long that takes: one that will never come
    again has to be forgotten.
    """
    settings = context.settings
    spec, options = context.spec, context.options
    registry = ConsumerRegistry(settings.base_path)
    if options.action == "register":
        _register(context, registry)
    elif options.action == "forget":
        _forget(registry, spec, options.name or "")
    consumers = registry.all()
    read = {table for state in consumers.values() for table in state.checkpoints}
    timelines = {table: Timeline(table=table, path=settings.table_path(table)) for table in read}
    rows = [_row(place) for place in places_of(consumers, timelines)]
    print(format_table(_HEAD, rows) if rows else "no consumer has read anything yet")
    return context.result(DONE, counters={"consumers": len(consumers)})


def _register(context: JobContext[ConsumersOptions], registry: ConsumerRegistry) -> None:
    spec, settings = context.spec, context.settings
    name, table = context.options.name or "", context.options.table or ""
    check_identifier(name, "consumer (--name)")
    if name in own_consumers(spec):
        raise ContractError(f"{name} is the lake's own and keeps its place itself; give your reader another name")
    if table not in spec.table_names:
        raise ContractError(f"lake {spec.lake} has no table {show(table)} (--table); it has {sorted(spec.table_names)}")
    timeline = Timeline(table=table, path=settings.table_path(table))
    at = parse_instant(context.options.at or timeline.readable_up_to)
    if at != BEGINNING and not timeline.holds(at):
        raise ContractError(f"{table} has no commit {at} on its timeline any more; register at one that it has")
    before = registry.read(name)
    state = ConsumerState(checkpoints={**before.checkpoints, table: at}, tables=before.tables, notes=before.notes)
    registry.write(name, state, context.clock)


def _forget(registry: ConsumerRegistry, spec: LakeSpec, name: str) -> None:
    known = registry.all()
    if name not in known:
        raise ContractError(f"no consumer is called {show(name)} (--name); known are {sorted(known) or 'none'}")
    if name in own_consumers(spec):
        raise ContractError(f"{name} is the lake's own: run its layer, and it gets further by itself")
    registry.forget(name)


def _row(place: ConsumerPlace) -> tuple[object, ...]:
    every = "-" if place.every is None else str(place.every)
    return (place.consumer, place.table, place.checkpoint, place.behind, every, place.state.value)


JOB = Job(options=ConsumersOptions, run=run, needs_spark=never)
