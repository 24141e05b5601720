"""partitions: which a table has; removing whole ones of a table that is loaded, by name or by age; a plan first."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.loads import LoadSpec, first_kept_day, is_day, is_partition
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.lake_specs import read_lake_spec
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["list", "delete", "retain"],
        help="list: which there are; delete: remove those named; retain: remove those older than keep_days",
    )
    parser.add_argument("--table", help="one table alone; needed to delete")
    parser.add_argument("--partition", default="", metavar="VALUE,VALUE", help="delete: which ones")
    parser.add_argument("--yes", action="store_true", help="carry out the plan; by default it is only shown")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """Rows are counted, and partitions removed, by the engine; a plan is made from timelines and listings."""
    if arguments.options["action"] == "list":
        return True
    spec = read_lake_spec(settings)
    check(spec, arguments, settings)
    return bool(arguments.options.get("yes") and any(_plan(spec, arguments, settings).values()))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the table has no partitions, or none that may be removed so."""
    options = arguments.options
    action, table = options["action"], options.get("table")
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
    values = names_of(options.get("partition") or "")
    if not table or not values:
        raise ContractError("delete needs --table and --partition; partitions list shows what there is")
    if wrong := [value for value in values if not is_partition(value)]:
        raise ContractError(f"--partition {show(wrong[0])} is no name of a partition; partitions list shows them")


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print the partitions, or what would be removed; with ``--yes`` remove it, of each table in one commit.

    By age: those whose day is more than ``keep_days`` before that of the run's clock (UTC).
    """
    spec = read_lake_spec(settings)
    check(spec, arguments, settings)
    if arguments.options["action"] == "list":
        return _list(spark, spec, arguments, settings) if spark is not None else _result(arguments, [], {}, ())
    plan = _plan(spec, arguments, settings)
    rows = [(name, each.value, each.files, each.bytes) for name, of_table in plan.items() for each in of_table]
    print(format_table(_PLAN_HEAD, rows) if rows else "no partition is to be removed")
    counters = {"partitions": len(rows)}
    if not rows:
        return _result(arguments, [], counters, ())
    if spark is None or not arguments.options.get("yes"):
        return _result(arguments, [], counters, ("nothing was changed; do it with --yes",))
    outcomes = [
        _remove(spark, spec.load(name), [each.path for each in of_table], arguments, settings)
        for name, of_table in plan.items()
        if of_table
    ]
    said = [
        f"{name}: removed {show_all(each.value for each in of_table)}" for name, of_table in plan.items() if of_table
    ]
    return _result(arguments, outcomes, counters, tuple(said))


def _list(spark: SparkSession, spec: LakeSpec, arguments: JobArguments, settings: Settings) -> JobResult:
    rows: list[tuple[str, str, int, int, int, str]] = []
    for name, layout in choose_layouts(spec, arguments.options.get("table")).items():
        if not layout.partition or not Timeline(table=name, path=settings.table_path(name)).writes:
            continue
        counted = count_rows(spark, layout, settings)
        for each in find_partitions(layout, settings):
            count, newest = counted.get(each.path, (0, each.began))
            rows.append((name, each.path, count, each.files, each.bytes, newest))
    print(format_table(_LIST_HEAD, rows) if rows else "there is no partition yet")
    counters = {"partitions": len(rows), "rows": sum(row[2] for row in rows), "files": sum(row[3] for row in rows)}
    return _result(arguments, [], counters, ())


def _plan(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> Plan:
    options = arguments.options
    loads = [load for load in spec.loads if options.get("table") in (None, "", load.name)]
    if options["action"] == "delete":
        wanted = set(names_of(options["partition"]))
        return {load.name: [each for each in _partitions(load, settings) if each.value in wanted] for load in loads}
    return {load.name: _aged(load, arguments, settings) for load in loads if load.keep_days}


def _aged(load: LoadSpec, arguments: JobArguments, settings: Settings) -> list[Partition]:
    """Those of days before the first that stays; what is called otherwise is no day, and stays."""
    kept = first_kept_day(arguments.clock.astimezone(UTC).date(), load.keep_days)
    return [each for each in _partitions(load, settings) if is_day(each.value) and each.value < kept]


def _partitions(load: LoadSpec, settings: Settings) -> list[Partition]:
    return find_partitions(load_layout(load), settings)


def _remove(
    spark: SparkSession, load: LoadSpec, paths: Sequence[str], arguments: JobArguments, settings: Settings
) -> TableOutcome:
    with hold_whole((load.name,), services_of=(load.name,), job=arguments.job, settings=settings):
        check_nothing_unfinished(settings, (load.name,))
        timeline = settled_timeline(spark, load.name, settings)
        there = {each.path for each in _partitions(load, settings)} & set(paths)
        if not there:  # somebody was faster
            return TableOutcome(table=load.name, instant=timeline.last, rows=0, is_committed=False)
        done = delete_partitions(spark, load_layout(load), timeline, there, settings)
        log.info("%s: removed %d partitions at %s", load.name, len(there), done.instant)
        return TableOutcome(table=load.name, instant=done.instant, rows=done.rows, is_committed=True)


def _result(
    arguments: JobArguments, outcomes: list[TableOutcome], counters: dict[str, int], messages: tuple[str, ...]
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters=counters,
        messages=messages,
    )
