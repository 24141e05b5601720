"""views: what people are to see of the tables, and the business's views: statements for the engine that reads them."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.views import ViewsOptions
from spark_jobs.storage.catalog.athena import run_statements
from spark_jobs.storage.catalog.view_ddl import ViewDdl, ViewEngine, build_views
from spark_jobs.storage.catalog.view_record import ViewRecord

_HEAD = ("view", "state")
_UNCONFIGURED = (
    "no views were made: LAKEHOUSE_ATHENA_WORKGROUP is not set; set it where jobs run to keep them in Athena, or give "
    "the statements of 'views ddl' to another engine"
)


def run(context: JobContext[ViewsOptions]) -> JobResult:
    """List, print or make the views, each after those it reads; needs no Spark.

    Raises:
        ContractError: a file of views is wrong.
        SettingsError: Athena refuses a statement, or views are to be applied in another engine.
        TransientError: Athena does not answer.
    """
    settings = context.settings
    options, spec = context.options, context.spec
    if options.action == "apply" and options.if_configured and not settings.athena_workgroup:
        return context.result(NOTHING_TO_DO, messages=(_UNCONFIGURED,))
    database, engine = settings.catalog_database or spec.lake, ViewEngine(options.engine)
    views = build_views(spec, settings, database=database, engine=engine, is_masked=options.masked)
    if options.action == "list":
        print(format_table(_HEAD, list(_rows(views))))
    elif options.action == "ddl":
        print(
            "\n\n".join(f"{statement};" for statement in (_database(views, engine), *views.statements.values())),
            end="\n\n",
        )
    made = _apply(views, engine, settings) if options.action == "apply" else list(views.statements)
    counters = {"views": len(views.statements), "missing": len(views.missing)}
    return context.result(
        DONE if made else NOTHING_TO_DO,
        counters=counters | ({"made": len(made)} if options.action == "apply" else {}),
        messages=tuple(f"view {name} needs {', '.join(tables)}" for name, tables in views.missing.items()),
    )


def _apply(views: ViewDdl, engine: ViewEngine, settings: Settings) -> list[str]:
    """Make the views that are not there as they should be, drop those without a text; gives the names of both."""
    if engine is not ViewEngine.ATHENA:
        raise SettingsError(f"views are applied in athena alone; give the statements of 'views ddl' to {engine}")
    if not views.statements:
        return []
    record = ViewRecord(views.database, settings)
    changed, gone = record.changes(views)
    statements = [f'DROP VIEW IF EXISTS "{views.database}"."{name}"' for name in gone]
    if changed:
        statements += [_database(views, engine), *(views.statements[name] for name in changed)]
    if statements:
        run_statements(statements, settings)
        record.remember(views)
    return [*changed, *gone]


def _database(views: ViewDdl, engine: ViewEngine) -> str:
    """In the words that each engine has for it."""
    return f"CREATE {'SCHEMA' if engine is ViewEngine.TRINO else 'DATABASE'} IF NOT EXISTS {views.database}"


def _rows(views: ViewDdl) -> Iterator[tuple[str, str]]:
    yield from ((f"{views.database}.{name}", "can be made") for name in views.statements)
    yield from ((f"{views.database}.{name}", f"needs {', '.join(tables)}") for name, tables in views.missing.items())


JOB = Job(options=ViewsOptions, run=run, needs_spark=never)
