"""sync: the lake's tables in a catalog, AWS Glue or Hive: ``plan`` shows what differs, ``apply`` takes it away."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.catalogs import HELD, Action, CatalogChange, CatalogTable
from spark_jobs.contracts.errors import CatalogConflictError, SettingsError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import GLUE, Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.catalog.ddl import create_table
from spark_jobs.storage.catalog.glue import Glue
from spark_jobs.storage.catalog.glue_sync import GlueSync
from spark_jobs.storage.catalog.hive_sync import HiveSync
from spark_jobs.storage.catalog.metastore import Metastore
from spark_jobs.storage.catalog.tables import find_partitions, find_tables, names_of
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import choose_layouts
from spark_jobs.storage.lease import hold_tables

LEASE = "catalog"
_HEAD = ("table", "change", "what")


class CatalogSync(Protocol):
    """One lake and one database of a catalog."""

    @property
    def database(self) -> str: ...

    def plan(self) -> list[CatalogChange]: ...

    def apply(self, changes: Sequence[CatalogChange]) -> None: ...


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["plan", "apply", "ddl"],
        help="plan: what differs; apply: update the catalog; ddl: statements for a catalog without sync",
    )
    parser.add_argument("--table", help="one table alone; nothing is dropped then")
    parser.add_argument("--all", action="store_true", help="also compare partitions of tables without a new commit")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """Timelines, listings and catalogs are read without it; Hudi's own sync with a Hive metastore runs in it."""
    return arguments.options["action"] == "apply" and settings.catalog not in ("", GLUE)


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Compare what the catalog says with the lake, print the difference, and with ``apply`` take it away.

    Entries that are not this lake's are never touched. A name that such a one has is refused; everything else goes on,
    and the error comes at the end.

    Raises:
        CatalogConflictError: a name is taken by somebody else's entry.
        SettingsError: no catalog is set, or it refuses what it is asked.
        TransientError: the catalog does not answer, or too much was asked of it; another run goes on from there.
    """
    options = arguments.options
    if options["action"] == "ddl":
        return _print_ddl(arguments, settings)
    sync = _choose_sync(spark, arguments, settings)
    if options["action"] == "plan":
        changes = sync.plan()
    else:
        with hold_tables([LEASE], job=arguments.job, settings=settings):
            changes = sync.plan()
            sync.apply(changes)
    print(format_table(_HEAD, [_cells(change) for change in changes]) if changes else "the catalog is up to date")
    refused = sorted({change.name for change in changes if change.action is Action.REFUSE})
    if refused and options["action"] == "apply":
        raise CatalogConflictError(database=sync.database, names=refused)
    return JobResult(
        job=arguments.job,
        status=DONE if changes else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"changes": len(changes), "tables": len({c.name for c in changes}), "refused": len(refused)},
        messages=tuple(_messages(changes)),
    )


def _choose_sync(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> CatalogSync:
    if not settings.catalog:
        raise SettingsError(
            "no catalog is set; set LAKEHOUSE_CATALOG to glue, or to a Hive metastore such as thrift://host:9083"
        )
    spec, table = read_lake_spec(settings), arguments.options.get("table")
    layouts = choose_layouts(spec, table).values()
    database = settings.catalog_database or spec.lake
    known: Mapping[str, Any] = {
        "lake": spec.lake,
        "wanted": {each.name: each for each in _find_marked(spec, settings, table)},
        "is_partial": table is not None,
        "looks_again": bool(arguments.options.get("all")),
    }
    if settings.catalog == GLUE:
        return GlueSync(**known, glue=Glue(database), partitions_of=lambda each: find_partitions(spec, settings, each))
    paths = {name: settings.table_path(layout.name) for layout in layouts for name in names_of(layout)}
    return HiveSync(**known, metastore=Metastore(settings.catalog, database), paths=paths, spark=spark)


def _find_marked(spec: LakeSpec, settings: Settings, table: str | None) -> Iterator[CatalogTable]:
    """What the catalog should say of each table, also whether it is held."""
    holds = {hold.table: f"since {hold.since}: {', '.join(hold.expectations)}" for hold in Holds(settings).held()}
    table_of = {name: layout.name for layout in choose_layouts(spec, table).values() for name in names_of(layout)}
    for each in find_tables(spec, settings, table):
        yield replace(each, parameters={**each.parameters, HELD: holds.get(table_of[each.name], "no")})


def _print_ddl(arguments: JobArguments, settings: Settings) -> JobResult:
    spec, table = read_lake_spec(settings), arguments.options.get("table")
    choose_layouts(spec, table)
    tables = list(find_tables(spec, settings, table))
    for each in tables:
        print(create_table(each, find_partitions(spec, settings, each)), end="\n\n")
    status = DONE if tables else NOTHING_TO_DO
    return JobResult(
        job=arguments.job, status=status, clock=format_clock(arguments.clock), counters={"tables": len(tables)}
    )


def _cells(change: CatalogChange) -> tuple[str, str, str]:
    return change.name, change.action.value, change.what


def _messages(changes: Sequence[CatalogChange]) -> Iterator[str]:
    return (f"{change.name}: {change.action.value}{f': {change.what}' if change.what else ''}" for change in changes)
