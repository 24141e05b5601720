"""query: SQL over the lake's tables and views, printed as a table or written to files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.query import QueryOptions
from spark_jobs.pipelines.exporting import export_rows, find_target
from spark_jobs.pipelines.temporary_views import register_tables, register_versions, register_views
from spark_jobs.spec_files.views import load_views
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.time_travel import parse_moment

DEFAULT_ROWS = 50
_PLACE = re.compile(r"(; line \d+ pos \d+|\(line \d+, pos \d+\)).*")
"""Of Spark's messages: in the statement as it was handed on."""


def check(context: JobContext[QueryOptions]) -> None:
    """Raise ContractError when ``--as-of`` is no moment, ``--output`` no free place, or a file of views is wrong."""
    settings = context.settings
    find_target(context.options, settings)
    if (moment := context.options.as_of or "") and SavepointRecords(settings).find(moment) is None:
        parse_moment(moment)
    load_views(Path(settings.views_path))


def run(context: JobContext[QueryOptions]) -> JobResult:
    """Print the answer to ``--sql``, or write all of it to ``--output``.

    Tables show live rows: tombstones and the columns that order them are hidden.
    """
    spark, settings = context.spark, context.settings
    from pyspark.errors import AnalysisException, ParseException

    spec, target = context.spec, find_target(context.options, settings)
    counters, messages = dict[str, int](), list[str]()
    tables = register_tables(spark, spec, settings, moment=context.options.as_of or "")
    register_versions(spark, spec, tables)
    missing = register_views(spark, Path(settings.views_path))
    try:
        answer_df = spark.sql(_select(spark, context.options.sql))
        if target:
            export = export_rows(spark, answer_df, target, context.options)
            counters, messages = export.counters, [export.message]
        else:
            answer_df.show(context.options.rows, truncate=False)
    except (AnalysisException, ParseException) as error:
        raise ContractError(f"query: {_reason(error, context.options.sql, tables, missing)}") from error
    return context.result(
        DONE,
        counters={"tables": len(tables), **counters},
        messages=tuple(messages),
    )


def _reason(error: Exception, sql: str, tables: Sequence[str], missing: Sequence[str]) -> str:
    """Why Spark refused a statement, from the first line of what it says."""
    from pyspark.errors import ParseException

    if needed := [view for view in missing if re.search(rf"\b{re.escape(view)}\b", sql, re.IGNORECASE)]:
        return f"the view {needed[0]} needs tables that do not exist yet; run the jobs that make them"
    only = "it takes one SELECT; " if isinstance(error, ParseException) else ""
    message = _PLACE.sub("", str(error).strip().split("\n")[0]).rstrip(". ")
    return f"{only}{message} (tables: {', '.join(tables) or 'none yet, run ingest'})"


def _select(spark: SparkSession, sql: str) -> str:
    """The statement, which is one SELECT; ParseException for one that would change something.

    Spark runs a command while it parses it. In brackets it takes queries alone, so a command never gets that far.
    """
    query = sql.strip().removesuffix(";")
    spark.sql("\n".join(("SELECT 1 FROM (", query, ")")))
    return query


JOB = Job(options=QueryOptions, run=run, check=check)
