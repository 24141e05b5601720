"""validate: committed rows asked what is expected of them, by Great Expectations; every result is kept.

The gate asks the rows of each write before they are committed; this asks what is there. With ``--increment`` the rows
that came since it asked last; without, whole tables, and what needs all their rows: that keys are unique, that
references lead somewhere, that the last whole day was as usual. What the gates said meanwhile is kept with the results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import AuditFailedError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.validate import ValidateOptions
from spark_jobs.pipelines.stored_columns import expected_of_stored
from spark_jobs.pipelines.validation import Ask, Found, Validation, plan_asks
from spark_jobs.quality.docs_site import DOCS, publish_docs
from spark_jobs.quality.holds import Holds, accepted_of
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import Outcome, Verdict, told_of
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from spark_jobs.storage.filesystem import Filesystem

_HEAD = ("table", "as of", "expectations", "rows", "broken")


def needs_spark(context: JobContext[ValidateOptions]) -> bool:
    """False when no table has rows that are to be asked."""
    return not context.options.increment or bool(plan_asks(context, _chosen(context), is_whole=False))


def check(context: JobContext[ValidateOptions]) -> None:
    """Refuse at once tables of which nothing can be expected, and expectations that do not fit."""
    spec = context.spec
    for table in _chosen(context):
        expectations_of(spec, table)


def run(context: JobContext[ValidateOptions]) -> JobResult:
    """Ask, print how many rows break something, keep the results and, of whole tables, write Data Docs.

    A table whose rows break an expectation with action ``stop`` is held: what is served stays, until a later run finds
    the whole of it right or a person accepts it.

    Raises:
        ContractError: an expectation cannot be asked.
        AuditFailedError: rows break one that stops.
    """
    settings = context.settings
    spec = context.spec
    is_whole = not context.options.increment
    asks = plan_asks(context, _chosen(context), is_whole=is_whole)
    if not asks:
        return context.result(NOTHING_TO_DO)
    expected = expected_of_stored(spec, {ask.table: ask.timeline for ask in asks}, settings)
    validation = Validation(context=context, expected=expected)
    with tempfile.TemporaryDirectory(prefix="lakehouse-docs-") as folder:
        suites = Suites(Path(folder))
        found = validation.ask(asks, suites)
        if is_documented := is_whole and bool(found):
            suites.write_docs()
            pages = {name: (each.instant, each.verdicts) for name, each in found.items()}
            clock, files = format_clock(context.clock), Filesystem(settings.base_path)
            publish_docs(Path(folder), spec.lake, clock, pages, files)
    found = _decide(found, settings)
    _hold(context, found)  # before it is kept how far was asked: what dies in between asks once more
    recorded = validation.record(asks, found)
    if is_whole:
        found, recorded = validation.judge_history(asks, found, recorded)
        found = _decide(found, settings)
        _hold(context, found)
        _let_go(context, found)
    waiting = [line for ask in asks for line in expected.waiting(ask.table)]
    result = _result(context, asks, found, recorded, waiting, is_documented=is_documented)
    if failed := {name: each.stopped for name, each in found.items() if each.stopped}:
        raise AuditFailedError(failed={n: [v.told for v in verdicts] for n, verdicts in failed.items()}, result=result)
    return result


def _chosen(context: JobContext[ValidateOptions]) -> list[str]:
    spec = context.spec
    asked = names_of(context.options.tables)
    if unknown := sorted(set(asked) - set(spec.asked_tables)):
        raise ContractError(f"lake {spec.lake} has no table {show(unknown[0])} (--tables); it has {spec.asked_tables}")
    return list(asked) or spec.asked_tables


def _decide(found: Mapping[str, Found], settings: Settings) -> dict[str, Found]:
    """What was found, that marked which a person has accepted."""
    holds = Holds(settings)
    return {name: replace(each, verdicts=accepted_of(each.verdicts, holds.known(name))) for name, each in found.items()}


def _hold(context: JobContext[ValidateOptions], found: Mapping[str, Found]) -> None:
    settings = context.settings
    for name, each in found.items():
        if each.stopped:
            Holds(settings).hold(name, context.job, each.stopped, context.clock, instant=each.instant)


def _let_go(context: JobContext[ValidateOptions], found: Mapping[str, Found]) -> None:
    """Tables that were held for what was found in them, and are right as a whole."""
    settings = context.settings
    holds = Holds(settings)
    for name, each in found.items():
        if not each.stopped and (hold := holds.hold_of(name)) and hold.job == context.job:
            holds.let_go(name)
        if all(verdict.outcome is not Outcome.ACCEPTED for verdict in each.verdicts):
            holds.forget_known(name)


def _result(
    context: JobContext[ValidateOptions],
    asks: list[Ask],
    found: Mapping[str, Found],
    recorded: TableOutcome,
    waiting: list[str],
    *,
    is_documented: bool,
) -> JobResult:
    settings = context.settings
    verdicts = [verdict for each in found.values() for verdict in each.verdicts]
    if found:
        print(format_table(_HEAD, [_cells(name, each.instant, each.verdicts) for name, each in found.items()]))
    told = [line for name, each in found.items() for line in told_of(name, each.verdicts)]
    docs = [f"Data Docs: {settings.base_path}/{DOCS}/index.html"] if is_documented else []
    return context.result(
        DONE,
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


JOB = Job(options=ValidateOptions, run=run, check=check, needs_spark=needs_spark)
