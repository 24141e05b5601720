"""partitions: which a table has; removing whole ones of a table that is loaded, by name or by age; a plan first."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.partitions import PartitionsOptions
from spark_jobs.lake_spec.loads import LoadSpec, first_kept_day, is_day, is_partition
from spark_jobs.storage.layouts import choose_layouts, load_layout
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.partitions import Partition, count_rows, delete_partitions, find_partitions
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished

_LIST_HEAD = ("table", "partition", "rows", "files", "bytes", "newest commit")
_PLAN_HEAD = ("table", "partition", "files", "bytes")
Plan = Mapping[str, Sequence[Partition]]
"""Of each table what is removed."""

log = logging.getLogger(__name__)


def needs_spark(context: JobContext[PartitionsOptions]) -> bool:
    """Rows are counted, and partitions removed, by the engine; a plan is made from timelines and listings."""
    if context.options.action == "list":
        return True
    return context.options.yes and any(_plan(context).values())


def check(context: JobContext[PartitionsOptions]) -> None:
    """Raise ContractError when the table has no partitions, or none that may be removed so."""
    spec = context.spec
    options = context.options
    action, table = options.action, options.table
    layouts = choose_layouts(spec, table)
    if table and not layouts[table].partition:
        raise ContractError(f"{table} has no partitions; see the partitioned tables with partitions list")
    if action == "list":
        return
    if table and spec.find_load(table) is None:
        raise ContractError(
            f"{table} is made of changes, which would come back or be missed where its partitions went; only loads "
            f"lose partitions (docs/loads.md)"
        )
    if action == "retain":
        if table and not spec.load(table).keep_days:
            raise ContractError(f"{table} keeps all its partitions; say in the lake spec for how long: keep_days")
        return
    values = names_of(options.partition)
    if not table or not values:
        raise ContractError("delete needs --table and --partition; partitions list shows what there is")
    if wrong := [value for value in values if not is_partition(value)]:
        raise ContractError(f"--partition {show(wrong[0])} is no name of a partition; partitions list shows them")


def run(context: JobContext[PartitionsOptions]) -> JobResult:
    """Print the partitions, or what would be removed; with ``--yes`` remove it, of each table in one commit.

    By age: those whose day is more than ``keep_days`` before that of the run's clock (UTC).
    """
    spec = context.spec
    if context.options.action == "list":
        return _list(context)
    plan = _plan(context)
    rows = [(name, each.value, each.files, each.bytes) for name, of_table in plan.items() for each in of_table]
    print(format_table(_PLAN_HEAD, rows) if rows else "no partition is to be removed")
    counters = {"partitions": len(rows)}
    if not rows:
        return _result(context, [], counters, ())
    if not context.options.yes:
        return _result(context, [], counters, ("nothing was changed; do it with --yes",))
    outcomes = [
        _remove(context, spec.load(name), [each.path for each in of_table])
        for name, of_table in plan.items()
        if of_table
    ]
    messages = [
        f"{name}: removed {show_all(each.value for each in of_table)}" for name, of_table in plan.items() if of_table
    ]
    return _result(context, outcomes, counters, tuple(messages))


def _list(context: JobContext[PartitionsOptions]) -> JobResult:
    spark, spec, settings = context.spark, context.spec, context.settings
    rows: list[tuple[str, str, int, int, int, str]] = []
    for name, layout in choose_layouts(spec, context.options.table).items():
        if not layout.partition or not Timeline(table=name, path=settings.table_path(name)).writes:
            continue
        counted = count_rows(spark, layout, settings)
        for each in find_partitions(layout, settings):
            count, newest = counted.get(each.path, (0, each.began))
            rows.append((name, each.path, count, each.files, each.bytes, newest))
    print(format_table(_LIST_HEAD, rows) if rows else "there is no partition yet")
    counters = {"partitions": len(rows), "rows": sum(row[2] for row in rows), "files": sum(row[3] for row in rows)}
    return _result(context, [], counters, ())


def _plan(context: JobContext[PartitionsOptions]) -> Plan:
    spec, settings = context.spec, context.settings
    options = context.options
    loads = [load for load in spec.loads if options.table in (None, "", load.name)]
    if options.action == "delete":
        wanted = set(names_of(options.partition))
        return {load.name: [each for each in _partitions(load, settings) if each.value in wanted] for load in loads}
    return {load.name: _aged(context, load) for load in loads if load.keep_days}


def _aged(context: JobContext[PartitionsOptions], load: LoadSpec) -> list[Partition]:
    """Those of days before the first that stays; what is called otherwise is no day, and stays."""
    settings = context.settings
    kept = first_kept_day(context.clock.astimezone(UTC).date(), load.keep_days)
    return [each for each in _partitions(load, settings) if is_day(each.value) and each.value < kept]


def _partitions(load: LoadSpec, settings: Settings) -> list[Partition]:
    return find_partitions(load_layout(load), settings)


def _remove(context: JobContext[PartitionsOptions], load: LoadSpec, paths: Sequence[str]) -> TableOutcome:
    spark, settings = context.spark, context.settings
    with hold_whole((load.name,), services_of=(load.name,), job=context.job, settings=settings):
        check_nothing_unfinished(settings, (load.name,))
        timeline = settled_timeline(spark, load.name, settings)
        there = {each.path for each in _partitions(load, settings)} & set(paths)
        if not there:  # another run removed them first
            return TableOutcome(table=load.name, instant=timeline.last, rows=0, is_committed=False)
        done = delete_partitions(spark, load_layout(load), timeline, there, settings)
        log.info("%s: removed %d partitions at %s", load.name, len(there), done.instant)
        return TableOutcome(table=load.name, instant=done.instant, rows=done.rows, is_committed=True)


def _result(
    context: JobContext[PartitionsOptions],
    outcomes: list[TableOutcome],
    counters: dict[str, int],
    messages: tuple[str, ...],
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters=counters,
        messages=messages,
    )


JOB = Job(options=PartitionsOptions, run=run, check=check, needs_spark=needs_spark)
