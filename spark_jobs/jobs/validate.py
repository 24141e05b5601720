"""validate: committed rows asked what is expected of them, by Great Expectations; every result is kept.

The gate asks the rows of each write before they are committed; this asks what is there. With ``--increment`` the rows
that came since it asked last; without, whole tables, and what needs all their rows: that keys are unique, that
references lead somewhere, that the last whole day was as usual. What the gates said meanwhile is kept with the results.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import AuditFailedError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.stored_columns import expected_of_stored
from spark_jobs.pipelines.validation import Ask, Found, Validation, is_increment, plan_asks
from spark_jobs.quality.docs_site import DOCS, publish_docs
from spark_jobs.quality.holds import Holds, accepted_of
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import Outcome, Verdict, told_of
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lake_specs import read_lake_spec

_HEAD = ("table", "as of", "expectations", "rows", "broken")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument("--tables", default="", metavar="A,B", help="these tables alone")
    parser.add_argument(
        "--increment",
        action="store_true",
        help="check the rows that came since the last check, of tables whose last check is long enough ago "
        "(quality: every_minutes in the lake spec); without it, whole tables",
    )


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """False when no table has rows that are to be asked."""
    spec = read_lake_spec(settings)
    return not is_increment(arguments) or bool(plan_asks(spec, _chosen(spec, arguments), arguments, settings))


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Refuse at once tables of which nothing can be expected, and expectations that do not fit."""
    for table in _chosen(spec, arguments):
        expectations_of(spec, table)


def run(spark: SparkSession | None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Ask, print how many rows break something, keep the results and, of whole tables, write Data Docs.

    A table whose rows break an expectation with action ``stop`` is held: what is served stays, until a later run finds
    the whole of it right or a person accepts it.

    Raises:
        ContractError: an expectation cannot be asked.
        AuditFailedError: rows break one that stops.
    """
    spec = read_lake_spec(settings)
    asks = plan_asks(spec, _chosen(spec, arguments), arguments, settings) if spark is not None else []
    if spark is None or not asks:
        return JobResult(job=arguments.job, status=NOTHING_TO_DO, clock=format_clock(arguments.clock))
    expected = expected_of_stored(spec, {ask.table: ask.timeline for ask in asks}, settings)
    validation = Validation(spark=spark, spec=spec, expected=expected, arguments=arguments, settings=settings)
    with tempfile.TemporaryDirectory(prefix="lakehouse-docs-") as folder:
        suites = Suites(Path(folder))
        found = validation.ask(asks, suites)
        if is_documented := not is_increment(arguments) and bool(found):
            suites.write_docs()
            pages = {name: (each.instant, each.verdicts) for name, each in found.items()}
            clock, files = format_clock(arguments.clock), Filesystem(settings.base_path)
            publish_docs(Path(folder), spec.lake, clock, pages, files)
    found = _decide(found, settings)
    _hold(found, arguments, settings)  # before it is kept how far was asked: what dies in between asks once more
    recorded = validation.record(asks, found)
    if not is_increment(arguments):
        found, recorded = validation.judge_history(asks, found, recorded)
        found = _decide(found, settings)
        _hold(found, arguments, settings)
        _let_go(found, arguments, settings)
    waiting = [line for ask in asks for line in expected.waiting(ask.table)]
    result = _result(asks, found, recorded, arguments, settings, waiting, is_documented=is_documented)
    if failed := {name: each.stopped for name, each in found.items() if each.stopped}:
        raise AuditFailedError(failed={n: [v.told for v in verdicts] for n, verdicts in failed.items()}, result=result)
    return result


def _chosen(spec: LakeSpec, arguments: JobArguments) -> list[str]:
    asked = names_of(arguments.options["tables"])
    if unknown := sorted(set(asked) - set(spec.asked_tables)):
        raise ContractError(f"lake {spec.lake} has no table {show(unknown[0])} (--tables); it has {spec.asked_tables}")
    return list(asked) or spec.asked_tables


def _decide(found: Mapping[str, Found], settings: Settings) -> dict[str, Found]:
    """What was found, that marked which a person has accepted."""
    holds = Holds(settings)
    return {name: replace(each, verdicts=accepted_of(each.verdicts, holds.known(name))) for name, each in found.items()}


def _hold(found: Mapping[str, Found], arguments: JobArguments, settings: Settings) -> None:
    for name, each in found.items():
        if each.stopped:
            Holds(settings).hold(name, arguments.job, each.stopped, arguments.clock, instant=each.instant)


def _let_go(found: Mapping[str, Found], arguments: JobArguments, settings: Settings) -> None:
    """Tables that were held for what was found in them, and are right as a whole."""
    holds = Holds(settings)
    for name, each in found.items():
        if not each.stopped and (hold := holds.hold_of(name)) and hold.job == arguments.job:
            holds.let_go(name)
        if all(verdict.outcome is not Outcome.ACCEPTED for verdict in each.verdicts):
            holds.forget_known(name)


def _result(
    asks: list[Ask],
    found: Mapping[str, Found],
    recorded: TableOutcome,
    arguments: JobArguments,
    settings: Settings,
    waiting: list[str],
    *,
    is_documented: bool,
) -> JobResult:
    verdicts = [verdict for each in found.values() for verdict in each.verdicts]
    if found:
        print(format_table(_HEAD, [_cells(name, each.instant, each.verdicts) for name, each in found.items()]))
    told = [line for name, each in found.items() for line in told_of(name, each.verdicts)]
    docs = [f"Data Docs: {settings.base_path}/{DOCS}/index.html"] if is_documented else []
    return JobResult(
        job=arguments.job,
        status=DONE,
        clock=format_clock(arguments.clock),
        tables=(recorded,),
        counters={
            "tables": len(found),
            "expectations": len(verdicts),
            "broken": sum(verdict.outcome is not Outcome.HELD for verdict in verdicts),
            "results": recorded.rows,
        },
        messages=(*(ask.resync for ask in asks if ask.resync), *told, *waiting, *docs),
    )


def _cells(table: str, instant: str, verdicts: tuple[Verdict, ...]) -> tuple[object, ...]:
    broken = [each.expectation.name for each in verdicts if each.outcome is not Outcome.HELD]
    return table, instant, len(verdicts), max((each.asked for each in verdicts), default=0), ", ".join(broken) or "-"
