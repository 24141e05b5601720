"""sync: the lake's tables in the AWS Glue catalog: ``plan`` shows what differs, ``apply`` brings it up to date."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.catalogs import Action, CatalogChange
from spark_jobs.contracts.errors import CatalogConflictError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.tables import check_identifier
from spark_jobs.contracts.text_table import format_table
from spark_jobs.storage.catalog.ddl import create_table
from spark_jobs.storage.catalog.glue import Glue
from spark_jobs.storage.catalog.sync import GlueSync
from spark_jobs.storage.catalog.tables import find_partitions, find_tables
from spark_jobs.storage.layouts import choose_layouts
from spark_jobs.storage.lease import hold_tables

LEASE = "catalog.glue"
_HEAD = ("table", "change", "what")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["plan", "apply", "ddl"],
        help="plan: what differs; apply: bring the catalog up to date; ddl: statements for a catalog without sync",
    )
    parser.add_argument("--table", help="one table alone; nothing is dropped then")
    parser.add_argument("--all", action="store_true", help="look also at partitions of tables that did not move")


def needs_spark(arguments: JobArguments) -> bool:
    """Timelines, listings and the catalog are read without it."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Compare what the catalog says with the lake, print the difference, and with ``apply`` take it away.

    Entries that are not this lake's are never touched. A name that such a one has is refused; everything else goes on,
    and the error comes at the end.

    Raises:
        CatalogConflictError: a name is taken by somebody else's entry.
        TransientError: the catalog does not answer, or too much was asked of it; another run goes on from there.
    """
    options = arguments.options
    if options["action"] == "ddl":
        return _print_ddl(arguments, settings)
    sync = _sync(arguments, settings)
    if options["action"] == "plan":
        changes = sync.plan()
    else:
        with hold_tables([LEASE], job=arguments.job, settings=settings):
            changes = sync.plan()
            sync.apply(changes)
    print(format_table(_HEAD, [_cells(change) for change in changes]) if changes else "the catalog is up to date")
    refused = sorted({change.name for change in changes if change.action is Action.REFUSE})
    if refused and options["action"] == "apply":
        raise CatalogConflictError(database=sync.glue.database, names=refused)
    return JobResult(
        job=arguments.job,
        status=DONE if changes else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"changes": len(changes), "tables": len({c.name for c in changes}), "refused": len(refused)},
        messages=tuple(_messages(changes)),
    )


def _sync(arguments: JobArguments, settings: Settings) -> GlueSync:
    spec, table = load_lake_spec(settings.lake_spec), arguments.options.get("table")
    choose_layouts(spec, table)
    database = settings.catalog_database or spec.lake
    check_identifier(database, "LAKEHOUSE_CATALOG_DATABASE")
    return GlueSync(
        glue=Glue(database),
        lake=spec.lake,
        wanted={each.name: each for each in find_tables(spec, settings, table)},
        partitions_of=lambda each: find_partitions(spec, settings, each),
        is_partial=table is not None,
        looks_again=bool(arguments.options.get("all")),
    )


def _print_ddl(arguments: JobArguments, settings: Settings) -> JobResult:
    spec, table = load_lake_spec(settings.lake_spec), arguments.options.get("table")
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
