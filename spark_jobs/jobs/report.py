"""report: business pictures of the lake's views as one HTML file (docs/report.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show, show_path
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.report import ReportOptions
from spark_jobs.lake_report.files import check_output, write_file
from spark_jobs.lake_report.page import page_of
from spark_jobs.lake_report.report import report_of
from spark_jobs.lake_spec.reports import ReportSpec
from spark_jobs.pipelines.view_rows import ViewReader
from spark_jobs.session import open_session
from spark_jobs.spec_files.report_file import load_report
from spark_jobs.spec_files.views import ViewSpec, load_views


def needs_spark(context: JobContext[ReportOptions]) -> bool:
    """Not where the local engine is tried first: should it not do, a session is opened then."""
    return context.options.engine == "spark"


def check(context: JobContext[ReportOptions]) -> None:
    """Raise ContractError when the file cannot be written, the report is not right, or a kind of people is unknown."""
    _target(context)
    _declared(context, _views(context))
    _people(context)


def run(context: JobContext[ReportOptions]) -> JobResult:
    """Write the report; views are read without a JVM where that is certain.

    Raises:
        ContractError: a picture does not fit its view, or something came to the place of the file meanwhile.
    """
    path, opened = _target(context), list[SparkSession]()

    def session() -> SparkSession:
        if context.session is not None:
            return context.session
        if not opened:
            opened.append(open_session(context.settings, app_name=f"lakehouse-{context.job}"))
        return opened[0]

    views = _views(context)
    reader = ViewReader(
        spec=context.spec, settings=context.settings, views=views, engine=context.options.engine, session=session
    )
    try:
        report = report_of(_declared(context, views), reader, context.clock, people=_people(context))
    finally:
        for spark in opened:
            spark.stop()
    write_file(page_of(report), path, overwrite=context.options.overwrite)
    print(f"report of lake {context.spec.lake}: {show_path(path)}")
    pictures = [picture for page in report.pictures for picture in page]
    missing = {table for each in pictures for table, instant in each.instants.items() if not instant}
    messages = [f"not made yet: {', '.join(sorted(missing))}"] if missing else []
    messages += [f"late: {line}" for line in dict.fromkeys(line for each in pictures for line in each.late)]
    counters = {
        "pictures": len(pictures),
        "not_made": sum(each.series is None for each in pictures),
        "late": sum(bool(each.late) for each in pictures),
    }
    return context.result(DONE, counters=counters, messages=tuple(messages))


def _target(context: JobContext[ReportOptions]) -> Path:
    settings, options = context.settings, context.options
    return check_output(
        options.output, overwrite=options.overwrite, folders=(settings.base_path, settings.landing_path)
    )


def _views(context: JobContext[ReportOptions]) -> Sequence[ViewSpec]:
    return load_views(Path(context.settings.views_path))


def _declared(context: JobContext[ReportOptions], views: Sequence[ViewSpec]) -> ReportSpec:
    return load_report(context.settings.reports_path, context.spec, views)


def _people(context: JobContext[ReportOptions]) -> tuple[str, ...]:
    """The kinds whose names are shown; ContractError for one that the lake does not have."""
    named, known = names_of(context.options.people), [person.role for person in context.spec.people]
    for role in named:
        if role not in known:
            way = one_of(role, known) if known else "leave --people out"
            raise ContractError(f"lake {context.spec.lake} has no people called {show(role)}; {way}")
    return tuple(named)


JOB = Job(options=ReportOptions, run=run, check=check, needs_spark=needs_spark)
