"""query: SQL over the lake's tables and views, printed as a table or written to files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.versions import history_columns, versions_select
from spark_jobs.contracts.views import load_views
from spark_jobs.jobs.exporting import add_export_options, export_rows, find_target
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.reader import read_as_of, read_snapshot
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.time_travel import find_state, parse_moment
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import visible_rows

DEFAULT_ROWS = 50
_PLACE = re.compile(r"(; line \d+ pos \d+|\(line \d+, pos \d+\)).*")
"""Of Spark's messages: in the statement as it was handed on."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--sql", required=True, help="a SELECT over tables and views of the lake, by their names")
    parser.add_argument(
        "--as-of",
        metavar="MOMENT",
        help="tables as they were at this instant or time, such as 2026-01-31, or in this savepoint",
    )
    parser.add_argument("--rows", type=int, default=DEFAULT_ROWS, help=f"most rows to print (default {DEFAULT_ROWS})")
    add_export_options(parser)


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when ``--as-of`` is no moment, ``--output`` no free place, or a file of views is wrong."""
    find_target(arguments, settings)
    if (moment := arguments.options.get("as_of") or "") and SavepointRecords(settings).find(moment) is None:
        parse_moment(moment)
    load_views(Path(settings.views_path))


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Print the answer to ``--sql``, or write all of it to ``--output``.

    Tables show live rows: tombstones and the columns that order them are hidden.
    """
    from pyspark.errors import AnalysisException, ParseException

    spec, target = read_lake_spec(settings), find_target(arguments, settings)
    counters, messages = dict[str, int](), list[str]()
    tables = register_tables(spark, spec, settings, moment=arguments.options.get("as_of") or "")
    _register_versions(spark, spec, tables)
    missing = _register_views(spark, Path(settings.views_path))
    try:
        answer_df = spark.sql(_select(spark, arguments.options["sql"]))
        if target:
            export = export_rows(spark, answer_df, target, arguments)
            counters, messages = export.counters, [export.message]
        else:
            answer_df.show(arguments.options["rows"], truncate=False)
    except (AnalysisException, ParseException) as error:
        raise ContractError(f"query: {_reason(error, arguments.options['sql'], tables, missing)}") from error
    return JobResult(
        job=arguments.job,
        status=DONE,
        clock=format_clock(arguments.clock),
        counters={"tables": len(tables), **counters},
        messages=tuple(messages),
    )


def _reason(error: Exception, sql: str, tables: Sequence[str], missing: Sequence[str]) -> str:
    """Why Spark refused a statement, from the first line of what it says."""
    from pyspark.errors import ParseException

    if needed := [view for view in missing if re.search(rf"\b{re.escape(view)}\b", sql, re.IGNORECASE)]:
        return f"the view {needed[0]} needs tables that do not exist yet; run the jobs that make them"
    only = "it takes one SELECT; " if isinstance(error, ParseException) else ""
    said = _PLACE.sub("", str(error).strip().split("\n")[0]).rstrip(". ")
    return f"{only}{said} (tables: {', '.join(tables) or 'none yet, run ingest'})"


def _select(spark: SparkSession, sql: str) -> str:
    """The statement, which is one SELECT; ParseException for one that would change something.

    Spark runs a command while it parses it. In brackets it takes queries alone, so a command never gets that far.
    """
    query = sql.strip().removesuffix(";")
    spark.sql("\n".join(("SELECT 1 FROM (", query, ")")))
    return query


def register_tables(
    spark: SparkSession, spec: LakeSpec, settings: Settings, *, moment: str = "", only: Collection[str] = ()
) -> list[str]:
    """Every table with a commit (of ``only`` these), under its name; live rows and the columns people ask for.

    With a ``moment`` (a time, an instant, the name of a savepoint) those that had a commit then, as they were.
    """
    registered = []
    record = SavepointRecords(settings).find(moment) if moment else None
    for name in (each for each in spec.table_names if not only or each in only):
        timeline = Timeline(table=name, path=settings.table_path(name))
        timeline.check_readable()
        if timeline.last is None:
            continue
        if moment:
            wanted = record.tables.get(name) if record else parse_moment(moment)
            if wanted is None or (instant := find_state(spark, timeline, wanted)) is None:
                continue
            rows_df = read_as_of(spark, timeline.path, instant)
        else:
            rows_df = read_snapshot(spark, timeline.path)
        visible_rows(rows_df, name, spec).createOrReplaceTempView(name)
        registered.append(name)
    return registered


def _register_versions(spark: SparkSession, spec: LakeSpec, registered: Collection[str]) -> None:
    """The versions of the rows of each table whose history is there."""
    for table in (each for each in spec.tables if each.history and each.history_name in registered):
        columns = history_columns(table, spark.table(table.history_name).columns)
        select = versions_select(table, columns, spec, source=f"`{table.history_name}`", quote="`")
        spark.sql(select).createOrReplaceTempView(table.versions_name)


def _register_views(spark: SparkSession, folder: Path) -> list[str]:
    """Each view below ``folder`` under its own name, after those it reads; gives those that lack a table."""
    from pyspark.errors import AnalysisException

    missing = []
    for view in load_views(folder):
        try:
            spark.sql(view.text).createOrReplaceTempView(view.name)
        except AnalysisException:
            missing.append(view.name)
    return missing
