"""load: whole files (CSV, JSON lines, Parquet) into a table of their own, by the operation that its spec names."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.loads import FileFormat, LoadOperation, LoadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.loading import Loading, known_loads
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import told_of
from spark_jobs.sources.load_files import LoadFiles, check_delimiter, find_files
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.unfinished import check_nothing_unfinished

log = logging.getLogger(__name__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--table", required=True, help="one of the loads of the lake spec")
    parser.add_argument(
        "--from",
        dest="from_path",
        required=True,
        metavar="PATH",
        help="a file, or a folder whose files are one load",
    )
    parser.add_argument(
        "--format",
        choices=[each.value for each in FileFormat],
        help="format of the files (default: by their names)",
    )
    parser.add_argument("--delimiter", default=",", help="the separator of values in CSV (default: a comma)")
    parser.add_argument(
        "--operation",
        choices=[each.value for each in LoadOperation],
        help="another operation than in the lake spec",
    )
    parser.add_argument("--again", action="store_true", help="also when the same files were loaded before")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the table is none, or cannot be loaded so."""
    load, options = spec.load(arguments.options["table"]), arguments.options
    if _operation(load, arguments) is LoadOperation.INSERT_OVERWRITE and not load.partition:
        raise ContractError(f"{load.name} has no partitions to be replaced; use --operation insert_overwrite_table")
    if not options["from_path"].isprintable():
        raise ContractError("--from has characters that cannot be printed; rename the file or folder")
    check_delimiter(options.get("delimiter") or ",")


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Load the files as one commit; rows that cannot be used go to the quarantine first.

    The same files with the same operation are taken once, however often the job is run: the commit that holds their
    rows says so. A run that dies leaves all of the load or nothing.

    Raises:
        ContractError: a file cannot be read at all, lacks a column, or a bulk insert has a key that is there.
        GateStoppedError: an expectation stops the load; nothing was written.
    """
    spec, options = read_lake_spec(settings), arguments.options
    check(spec, arguments, settings)
    load, operation = spec.load(options["table"]), _operation(spec.load(options["table"]), arguments)
    format_ = FileFormat(options["format"]) if options.get("format") else None
    files = find_files(
        options["from_path"], load, operation, format_=format_, delimiter=options.get("delimiter") or ","
    )
    log.info("%s: %s of %d files, load %s", load.name, operation.value, len(files.entries), files.fingerprint)
    served = (load.name,) if operation.replaces else ()  # what is replaced must not be merged meanwhile
    with hold_whole((load.name, spec.quarantine), services_of=served, job=arguments.job, settings=settings):
        check_nothing_unfinished(settings, (load.name, spec.quarantine))
        timeline = settled_timeline(spark, load.name, settings)
        timeline.check_type(load.type)
        if files.fingerprint in known_loads(timeline) and not options.get("again"):
            same = f"{load.name} has loaded these files with {operation.value} before; --again does it once more"
            outcome = TableOutcome(table=load.name, instant=timeline.last, rows=0, is_committed=False)
            return _result(arguments, [outcome], files, {"rows_read": 0}, (same,))
        loading = Loading(
            spark=spark,
            spec=spec,
            load=load,
            files=files,
            operation=operation,
            timeline=timeline,
            quarantine_timeline=settled_timeline(spark, spec.quarantine, settings),
            arguments=arguments,
            settings=settings,
        )
        if operation.replaces:
            finish_plans(spark, load_layout(load), settings)
        outcomes = loading.commit()
        Holds(settings).release({load.name})
    counters = {f"rows_{what}": count for what, count in loading.rows.items()}
    left = set_aside_rows(load.name, loading.rejected, loading.rows)
    return _result(arguments, outcomes, files, counters, (*told_of(load.name, loading.verdicts), *left), alerts=left)


def set_aside_rows(table: str, rejected: int, rows: Mapping[str, int]) -> tuple[str, ...]:
    """What is to be said of rows that could not be used; () when all of them could."""
    if not rejected:
        return ()
    none = "nothing was written" if not rows["written"] else f"{rows['written']:,} were written"
    return (
        f"{rejected:,} of {rows['read']:,} rows of {table} cannot be used and are in the quarantine, {none}; "
        f"quarantine list says why",
    )


def _operation(load: LoadSpec, arguments: JobArguments) -> LoadOperation:
    given = arguments.options.get("operation")
    return LoadOperation(given) if given else load.operation


def _result(
    arguments: JobArguments,
    outcomes: list[TableOutcome],
    files: LoadFiles,
    counters: dict[str, int],
    messages: tuple[str, ...],
    alerts: tuple[str, ...] = (),
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"files": len(files.entries), **counters},
        messages=(*files.messages, *messages),
        alerts=alerts,
    )
