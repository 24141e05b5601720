"""sync: the lake's tables in a catalog, AWS Glue or Hive: ``plan`` shows what differs, ``apply`` takes it away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.catalogs import HELD, Action, CatalogChange, CatalogTable
from spark_jobs.contracts.errors import CatalogConflictError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.sync import SyncOptions
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.catalog.ddl import create_table
from spark_jobs.storage.catalog.kind import CatalogRequest
from spark_jobs.storage.catalog.registry import catalog_at
from spark_jobs.storage.catalog.synced import SyncedTables
from spark_jobs.storage.catalog.tables import find_partitions, find_tables, names_of
from spark_jobs.storage.layouts import choose_layouts
from spark_jobs.storage.lease import hold_tables

LEASE = "catalog"
_HEAD = ("table", "change", "what")


def needs_spark(context: JobContext[SyncOptions]) -> bool:
    """Timelines, listings and catalogs are read without it; Hudi's own sync with a Hive metastore runs in it."""
    return context.options.action == "apply" and catalog_at(context.settings.catalog).applies_in_spark


def run(context: JobContext[SyncOptions]) -> JobResult:
    """Compare what the catalog says with the lake, print the difference, and with ``apply`` take it away.

    Entries that are not this lake's are never touched. A name that such a one has is refused; everything else goes on,
    and the error comes at the end.

    Raises:
        CatalogConflictError: a name is taken by an entry of another owner.
        SettingsError: no catalog is set, or it refuses a request.
        TransientError: the catalog does not answer, or it had too many requests; another run goes on from there.
    """
    options, settings = context.options, context.settings
    if options.action == "ddl":
        return _print_ddl(context)
    request = _request(context)
    sync = catalog_at(settings.catalog).open(request)
    if options.action == "plan":
        changes = sync.plan()
    else:
        with hold_tables([LEASE], job=context.job, settings=settings):
            changes = sync.plan()
            sync.apply(changes)
            left = {change.name for change in changes if change.action is Action.REFUSE}
            brought = [table for table in request.wanted.values() if table.name not in left]
            SyncedTables(settings).remember(brought, context.clock, is_partial=request.is_partial)
    print(format_table(_HEAD, [_cells(change) for change in changes]) if changes else "the catalog is up to date")
    refused = sorted({change.name for change in changes if change.action is Action.REFUSE})
    if refused and options.action == "apply":
        raise CatalogConflictError(database=sync.database, names=refused)
    return context.result(
        DONE if changes else NOTHING_TO_DO,
        counters={"changes": len(changes), "tables": len({c.name for c in changes}), "refused": len(refused)},
        messages=tuple(_messages(changes)),
    )


def _request(context: JobContext[SyncOptions]) -> CatalogRequest:
    spec, settings, table = context.spec, context.settings, context.options.table
    layouts = choose_layouts(spec, table).values()
    return CatalogRequest(
        address=settings.catalog,
        database=settings.catalog_database or spec.lake,
        lake=spec.lake,
        wanted={each.name: each for each in _find_marked(spec, settings, table)},
        paths={name: settings.table_path(layout.name) for layout in layouts for name in names_of(layout)},
        partitions_of=lambda each: find_partitions(spec, settings, each),
        session=context.session,
        is_partial=table is not None,
        looks_again=context.options.all,
    )


def _find_marked(spec: LakeSpec, settings: Settings, table: str | None) -> Iterator[CatalogTable]:
    """What the catalog should say of each table, also whether it is held."""
    holds = {hold.table: f"since {hold.since}: {', '.join(hold.expectations)}" for hold in Holds(settings).held()}
    table_of = {name: layout.name for layout in choose_layouts(spec, table).values() for name in names_of(layout)}
    for each in find_tables(spec, settings, table):
        yield replace(each, parameters={**each.parameters, HELD: holds.get(table_of[each.name], "no")})


def _print_ddl(context: JobContext[SyncOptions]) -> JobResult:
    settings = context.settings
    spec, table = context.spec, context.options.table
    choose_layouts(spec, table)
    tables = list(find_tables(spec, settings, table))
    for each in tables:
        print(create_table(each, find_partitions(spec, settings, each)), end="\n\n")
    status = DONE if tables else NOTHING_TO_DO
    return context.result(status, counters={"tables": len(tables)})


def _cells(change: CatalogChange) -> tuple[str, str, str]:
    return change.name, change.action.value, change.what


def _messages(changes: Sequence[CatalogChange]) -> Iterator[str]:
    return (f"{change.name}: {change.action.value}{f': {change.what}' if change.what else ''}" for change in changes)


JOB = Job(options=SyncOptions, run=run, needs_spark=needs_spark)
