"""views: what people are to see of the tables, and the business's views: statements for the engine that reads them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.tables import check_identifier
from spark_jobs.contracts.text_table import format_table
from spark_jobs.storage.catalog.athena import run_statements
from spark_jobs.storage.catalog.view_ddl import Engine, ViewDdl, build_views

_HEAD = ("view", "state")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "action",
        choices=["list", "ddl", "apply"],
        help="list: which views there are; ddl: the statements that make them; apply: run these in Athena",
    )
    engines = [engine.value for engine in Engine]
    parser.add_argument("--engine", choices=engines, default=Engine.ATHENA.value, help="who reads (default athena)")
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
    options, spec = arguments.options, load_lake_spec(settings.lake_spec)
    database, engine = settings.catalog_database or spec.lake, Engine(options["engine"])
    check_identifier(database, "LAKEHOUSE_CATALOG_DATABASE")
    views = build_views(spec, settings, database=database, engine=engine, is_masked=bool(options.get("masked")))
    if options["action"] == "list":
        print(format_table(_HEAD, list(_rows(views))))
    elif options["action"] == "ddl":
        print("\n\n".join(f"{statement};" for statement in _statements(views, engine)), end="\n\n")
    else:
        _apply(views, engine, settings)
    return JobResult(
        job=arguments.job,
        status=DONE if views.statements else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"views": len(views.statements), "missing": len(views.missing)},
        messages=tuple(f"view {name} needs {', '.join(tables)}" for name, tables in views.missing.items()),
    )


def _apply(views: ViewDdl, engine: Engine, settings: Settings) -> None:
    if engine is not Engine.ATHENA:
        raise SettingsError(f"views are applied in athena alone; give the statements of 'views ddl' to {engine}")
    if views.statements:
        run_statements(list(_statements(views, engine)), settings)


def _statements(views: ViewDdl, engine: Engine) -> Iterator[str]:
    """The database first, in the words that each engine has for it."""
    kind = "SCHEMA" if engine is Engine.TRINO else "DATABASE"
    yield f"CREATE {kind} IF NOT EXISTS {views.database}"
    yield from views.statements.values()


def _rows(views: ViewDdl) -> Iterator[tuple[str, str]]:
    yield from ((f"{views.database}.{name}", "can be made") for name in views.statements)
    yield from ((f"{views.database}.{name}", f"needs {', '.join(tables)}") for name, tables in views.missing.items())
