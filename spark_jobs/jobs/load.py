"""load: whole files (CSV, JSON lines, Parquet) into a table of their own, by the operation that its spec names."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.job_options.load import LoadOptions
from spark_jobs.lake_spec.loads import LoadOperation, LoadSpec
from spark_jobs.pipelines.loading import Loading, known_loads
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import describe_verdicts
from spark_jobs.sources.load_files import LoadFiles, check_delimiter, find_files
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.unfinished import check_nothing_unfinished

log = logging.getLogger(__name__)


def check(context: JobContext[LoadOptions]) -> None:
    """Raise ContractError when the table is none, or cannot be loaded so."""
    spec = context.spec
    load, options = spec.load(context.options.table), context.options
    if _operation(context, load) is LoadOperation.INSERT_OVERWRITE and not load.partition:
        raise ContractError(f"{load.name} has no partitions to be replaced; use --operation insert_overwrite_table")
    if not options.from_path.isprintable():
        raise ContractError("--from has characters that cannot be printed; rename the file or folder")
    check_delimiter(options.delimiter)


def run(context: JobContext[LoadOptions]) -> JobResult:
    """Load the files as one commit; rows that cannot be used go to the quarantine first.

    The same files with the same operation are taken once, however often the job is run: the commit that holds their
    rows says so. A run that dies leaves all of the load or nothing.

    Raises:
        ContractError: a file cannot be read at all, lacks a column, or a bulk insert has a key that is there.
        GateStoppedError: an expectation stops the load; nothing was written.
    """
    spark, settings = context.spark, context.settings
    spec, options = context.spec, context.options
    load, operation = spec.load(options.table), _operation(context, spec.load(options.table))
    files = find_files(options.from_path, load, operation, format_=options.format, delimiter=options.delimiter)
    log.info("%s: %s of %d files, load %s", load.name, operation.value, len(files.entries), files.fingerprint)
    served = (load.name,) if operation.replaces else ()  # what is replaced must not be merged meanwhile
    with hold_whole((load.name, spec.quarantine), services_of=served, job=context.job, settings=settings):
        check_nothing_unfinished(settings, (load.name, spec.quarantine))
        timeline = settled_timeline(spark, load.name, settings)
        timeline.check_type(load.type)
        if files.fingerprint in known_loads(timeline) and not options.again:
            same = f"{load.name} has loaded these files with {operation.value} before; --again does it once more"
            outcome = TableOutcome(table=load.name, instant=timeline.last, rows=0, is_committed=False)
            return _result(context, [outcome], files, {"rows_read": 0}, (same,))
        loading = Loading(
            context=context,
            load=load,
            files=files,
            operation=operation,
            timeline=timeline,
            quarantine_timeline=settled_timeline(spark, spec.quarantine, settings),
        )
        if operation.replaces:
            finish_plans(spark, load_layout(load), settings)
        outcomes = loading.commit()
        Holds(settings).release({load.name})
    counters = {f"rows_{what}": count for what, count in loading.rows.items()}
    left = set_aside_rows(load.name, loading.rejected, loading.rows)
    return _result(
        context, outcomes, files, counters, (*describe_verdicts(load.name, loading.verdicts), *left), alerts=left
    )


def set_aside_rows(table: str, rejected: int, rows: Mapping[str, int]) -> tuple[str, ...]:
    """The message about rows that could not be used; () when all of them could."""
    if not rejected:
        return ()
    none = "nothing was written" if not rows["written"] else f"{rows['written']:,} were written"
    return (
        f"{rejected:,} of {rows['read']:,} rows of {table} cannot be used and are in the quarantine, {none}; "
        f"quarantine list says why",
    )


def _operation(context: JobContext[LoadOptions], load: LoadSpec) -> LoadOperation:
    return context.options.operation or load.operation


def _result(
    context: JobContext[LoadOptions],
    outcomes: list[TableOutcome],
    files: LoadFiles,
    counters: dict[str, int],
    messages: tuple[str, ...],
    alerts: tuple[str, ...] = (),
) -> JobResult:
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={"files": len(files.entries), **counters},
        messages=(*files.messages, *messages),
        alerts=alerts,
    )


JOB = Job(options=LoadOptions, run=run, check=check)
