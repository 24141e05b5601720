"""views: what people are to see of the tables, and the business's views: statements for the engine that reads them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.storage.catalog.athena import run_statements
from spark_jobs.storage.catalog.view_ddl import Engine, ViewDdl, build_views
from spark_jobs.storage.catalog.view_record import ViewRecord
from spark_jobs.storage.lake_specs import read_lake_spec

_HEAD = ("view", "state")
_UNCONFIGURED = (
    "no views were made: LAKEHOUSE_ATHENA_WORKGROUP is not set; set it where jobs run to keep them in Athena, or give "
    "the statements of 'views ddl' to another engine"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["list", "ddl", "apply"],
        help="list: which views there are; ddl: the statements that make them; apply: make in Athena what changed, "
        "drop there what has no file any more",
    )
    engines = [engine.value for engine in Engine]
    parser.add_argument(
        "--engine", choices=engines, default=Engine.ATHENA.value, help="engine of the views (default athena)"
    )
    parser.add_argument(
        "--if-configured",
        action="store_true",
        help="apply: do nothing, and say so, unless LAKEHOUSE_ATHENA_WORKGROUP is set",
    )
    parser.add_argument("--masked", action="store_true", help="the variant in which people's names are masked")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It reads timelines and files of SQL."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """List, print or make the views, each after those it reads; needs no Spark.

    Raises:
        ContractError: a file of views is wrong.
        SettingsError: Athena refuses what it is asked, or another engine is to be asked.
        TransientError: Athena does not answer.
    """
    options, spec = arguments.options, read_lake_spec(settings)
    if options["action"] == "apply" and options.get("if_configured") and not settings.athena_workgroup:
        return JobResult(
            job=arguments.job, status=NOTHING_TO_DO, clock=format_clock(arguments.clock), messages=(_UNCONFIGURED,)
        )
    database, engine = settings.catalog_database or spec.lake, Engine(options["engine"])
    views = build_views(spec, settings, database=database, engine=engine, is_masked=bool(options.get("masked")))
    if options["action"] == "list":
        print(format_table(_HEAD, list(_rows(views))))
    elif options["action"] == "ddl":
        print(
            "\n\n".join(f"{statement};" for statement in (_database(views, engine), *views.statements.values())),
            end="\n\n",
        )
    made = _apply(views, engine, settings) if options["action"] == "apply" else list(views.statements)
    counters = {"views": len(views.statements), "missing": len(views.missing)}
    return JobResult(
        job=arguments.job,
        status=DONE if made else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters=counters | ({"made": len(made)} if options["action"] == "apply" else {}),
        messages=tuple(f"view {name} needs {', '.join(tables)}" for name, tables in views.missing.items()),
    )


def _apply(views: ViewDdl, engine: Engine, settings: Settings) -> list[str]:
    """Make the views that are not there as they should be, drop those without a text; gives the names of both."""
    if engine is not Engine.ATHENA:
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


def _database(views: ViewDdl, engine: Engine) -> str:
    """In the words that each engine has for it."""
    return f"CREATE {'SCHEMA' if engine is Engine.TRINO else 'DATABASE'} IF NOT EXISTS {views.database}"


def _rows(views: ViewDdl) -> Iterator[tuple[str, str]]:
    yield from ((f"{views.database}.{name}", "can be made") for name in views.statements)
    yield from ((f"{views.database}.{name}", f"needs {', '.join(tables)}") for name, tables in views.missing.items())
