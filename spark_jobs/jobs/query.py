"""query: SQL over the lake's tables and views, printed as a table or written to files."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import nearest, plain, show
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.query import QueryOptions
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.exporting import export_rows, find_target, print_answer, print_rows
from spark_jobs.pipelines.local_query import AnsweredBySparkError, plan_locally
from spark_jobs.pipelines.temporary_views import register_all
from spark_jobs.session import open_session
from spark_jobs.spec_files.views import ViewSpec, load_views
from spark_jobs.sql_analysis.statements import names_in, reached, read_select
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.time_travel import parse_moment

_PLACE = re.compile(r"(; line \d+ pos \d+|\(line \d+, pos \d+\)).*")
"""Of Spark's messages: in the statement as it was handed on."""
_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"

log = logging.getLogger(__name__)


def needs_spark(context: JobContext[QueryOptions]) -> bool:
    """Not where the local engine is tried first: should it not do, a session is opened then."""
    options = context.options
    return options.engine == "spark" or bool(options.as_of or options.output)


def check(context: JobContext[QueryOptions]) -> None:
    """Raise ContractError when something that needs no engine is wrong.

    ``--as-of`` is no moment, ``--output`` no free place, a file of views is wrong, or a table is nearly called so.
    """
    options, settings = context.options, context.settings
    find_target(options, settings)
    if (moment := options.as_of or "") and SavepointRecords(settings).find(moment) is None:
        parse_moment(moment)
    if options.engine == "local" and needs_spark(context):
        raise ContractError("--engine local answers what is printed, as it is now: leave out --as-of and --output")
    views = load_views(Path(settings.views_path))
    if not settings.spark_remote:  # a server may have tables of its own
        _check_names(options.sql, context.spec, views)


def run(context: JobContext[QueryOptions]) -> JobResult:
    """Print the answer to ``--sql``, or write all of it to ``--output``.

    Tables show live rows: tombstones and the columns that order them are hidden.
    """
    if context.session is not None:
        return _by_spark(context)
    try:
        return _locally(context)
    except AnsweredBySparkError as error:
        if context.options.engine == "local":
            raise ContractError(f"query: {error}; leave out --engine local") from error
        log.info("query: Spark answers: %s", error)
    spark = open_session(context.settings, app_name=f"lakehouse-{context.job}")
    try:
        return _by_spark(dataclasses.replace(context, session=spark))
    finally:
        spark.stop()


def _locally(context: JobContext[QueryOptions]) -> JobResult:
    options = context.options
    planned = plan_locally(options.sql, context.spec, context.settings)
    more = print_answer(planned.answer(options.most_rows), options)
    return context.result(DONE, counters={"tables": len(planned.tables)}, messages=more)


def _by_spark(context: JobContext[QueryOptions]) -> JobResult:
    spark, options = context.spark, context.options
    from pyspark.errors import AnalysisException, ParseException

    tables, missing = _register(context, _needed(context))
    try:
        try:
            answer_df = spark.sql(_select(spark, options.sql))
        except AnalysisException as error:
            if _NO_TABLE not in str(error):
                raise
            tables, missing = _register(context, ())
            answer_df = spark.sql(_select(spark, options.sql))
        counters, messages = _give(spark, answer_df, context)
    except (AnalysisException, ParseException) as error:
        raise ContractError(f"query: {_reason(error, options.sql, tables, missing)}") from error
    return context.result(DONE, counters={"tables": len(tables), **counters}, messages=messages)


def _give(
    spark: SparkSession, answer_df: DataFrame, context: JobContext[QueryOptions]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Print the answer, of any columns, or write it."""
    if target := find_target(context.options, context.settings):
        export = export_rows(spark, answer_df, target, context.options)
        return export.counters, (export.message,)
    return {}, print_rows(answer_df, context.options)


def _register(context: JobContext[QueryOptions], needed: Collection[str]) -> tuple[list[str], list[str]]:
    """Tables, versions and views of the lake, of ``needed`` alone; gives the tables, and views that lack one."""
    moment = context.options.as_of or ""
    return register_all(context.spark, context.spec, context.settings, moment=moment, only=needed)


def _needed(context: JobContext[QueryOptions]) -> Collection[str]:
    """What the statement names, and what is behind it; () for everything, where that is not certain."""
    query, spec = read_select(context.options.sql), context.spec
    named = names_in(query) if query is not None else None
    reads = {view.name: view.reads for view in load_views(Path(context.settings.views_path))}
    reads |= {table.versions_name: frozenset({table.history_name}) for table in spec.tables if table.history}
    return reached(named, reads) if named and named <= {*spec.table_names, *reads} else ()


def _check_names(sql: str, spec: LakeSpec, views: Sequence[ViewSpec]) -> None:
    """Raise ContractError for a name that no table or view has, and that is nearly one's."""
    query = read_select(sql)
    known = {*spec.table_names, *spec.readable, *(view.name for view in views)}
    for name in sorted((names_in(query) if query is not None else None) or ()):
        if name not in known and (near := nearest(name, sorted(known))) and not spec.may_yield(name):
            raise ContractError(f"query: there is no table or view {show(name)}; did you mean {plain(near)}?")


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


JOB = Job(options=QueryOptions, run=run, check=check, needs_spark=needs_spark)
