"""split: events of the log to the tables of newest values and to mirrors, one read of the source for each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError, TablesFailedError
from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.mirrors import MirrorSpec, matches
from spark_jobs.contracts.names import show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.jobs.folding import Part, fold_new
from spark_jobs.jobs.mirroring import Mirroring, exit_code_of
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.lease import hold_tables

_MOST_REASON = 200


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "--databases", default="", metavar="PATTERNS", help="mirrors of these databases or schemas alone"
    )
    parser.add_argument(
        "--tables", default="", metavar="PATTERNS", help="mirrors of these tables alone, e.g. 'order*,customers'"
    )


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the patterns fit none of the lake's mirrors."""
    _chosen_mirrors(spec, arguments)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Bring what is new in the log into every table and every mirror.

    Without an interval: what was committed since the consumer's checkpoint. With one (a backfill): every event of these
    event dates once more; the merge is idempotent, so tables that are right stay as they are, and the checkpoint too.
    Patterns narrow it to some mirrors.

    Raises:
        TablesFailedError: some mirrors could not be written; everything else was.
    """
    spec = load_lake_spec(settings.lake_spec)
    mirrors, is_narrowed = _chosen_mirrors(spec, arguments), _is_narrowed(arguments)
    tables = () if is_narrowed else spec.tables
    names = [*(table.name for table in tables), *(mirror.name for mirror in spec.mirrors), *spec.tombstones]
    parts: list[Part] = []
    with hold_tables(names, job=arguments.job, settings=settings):
        if tables:
            parts = fold_new(spark, spec, arguments, settings)
        brought = Mirroring(spark=spark, spec=spec, arguments=arguments, settings=settings, chosen=mirrors).run()
    outcomes = [_sum(of_table) for of_table in zip(*(part.outcomes for part in parts), strict=True)]
    outcomes += [brought.outcomes[mirror.name] for mirror in mirrors]
    passed = {mirror.name for mirror in mirrors} - {*brought.failed}
    Holds(settings).release({table.name for table in tables} | passed)
    windows = [*(part.pull.window for part in parts), *([brought.window] if brought.window else [])]
    reasons = dict.fromkeys([*(part.pull.resync_reason for part in parts if part.pull.resync_reason), *brought.resyncs])
    told = dict.fromkeys([*(line for part in parts for line in part.told), *brought.told])
    result = JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        source=_source_of(spec, windows),
        counters={"events_read": sum(part.events for part in parts) + brought.events},
        messages=(*(f"resync: {reason}" for reason in reasons), *told),
    )
    if brought.failed:
        why = {table: " ".join(str(error).split())[:_MOST_REASON] for table, error in brought.failed.items()}
        raise TablesFailedError(failed=why, result=result, exit_code=exit_code_of(brought.failed))
    return result


def _is_narrowed(arguments: JobArguments) -> bool:
    return any(arguments.options.get(name) for name in ("databases", "tables"))


def _chosen_mirrors(spec: LakeSpec, arguments: JobArguments) -> tuple[MirrorSpec, ...]:
    databases, tables = (names_of(arguments.options.get(name) or "") for name in ("databases", "tables"))
    chosen = tuple(m for m in spec.mirrors if matches(m.database, databases) and matches(m.table, tables))
    if not chosen and _is_narrowed(arguments):
        known = show_all(sorted(mirror.origin for mirror in spec.mirrors))
        raise ContractError(f"no mirror fits --databases and --tables; the lake mirrors {known}")
    return chosen


def _source_of(spec: LakeSpec, windows: Sequence[InstantRange]) -> SourceWindow | None:
    """From where to where the log was read; nowhere when there is no log."""
    if not windows:
        return None
    after, up_to = min(window.after for window in windows), max(window.up_to for window in windows)
    return SourceWindow(table=spec.log, after=after, up_to=up_to)


def _sum(outcomes: Sequence[TableOutcome]) -> TableOutcome:
    """What one table came to over all parts."""
    rows, is_committed = sum(done.rows for done in outcomes), any(done.is_committed for done in outcomes)
    return replace(outcomes[-1], rows=rows, is_committed=is_committed)
