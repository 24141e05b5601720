"""validate: committed rows checked for what is expected of them, by Great Expectations; every result is kept.

The gate checks the rows of each write before they are committed; this checks what is there: with ``--increment`` the
rows since its last check; without, whole tables, and what needs all their rows: that keys are unique, that
references lead somewhere, that the last whole day was as usual. What gates found meanwhile is kept with the results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.job_errors import AuditFailedError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.validate import ValidateOptions
from spark_jobs.pipelines.stored_columns import expected_of_stored
from spark_jobs.pipelines.validation import Audit, AuditFinding, Validation, plan_audits
from spark_jobs.quality.docs_site import DOCS, publish_docs
from spark_jobs.quality.holds import Holds, accepted_of
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import Outcome, Verdict, describe_verdicts
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from spark_jobs.storage.filesystem import Filesystem

_HEAD = ("table", "as of", "expectations", "rows", "broken")


def needs_spark(context: JobContext[ValidateOptions]) -> bool:
    """False when no table has rows that are to be checked."""
    return not context.options.increment or bool(plan_audits(context, _chosen(context), is_whole=False))


def check(context: JobContext[ValidateOptions]) -> None:
    """Refuse at once tables of which nothing can be expected, and expectations that do not fit."""
    spec = context.spec
    for table in _chosen(context):
        expectations_of(spec, table)


def run(context: JobContext[ValidateOptions]) -> JobResult:
    """Check, print how many rows break something, keep the results and, of whole tables, write Data Docs.

    A table whose rows break an expectation with action ``stop`` is held: what is served stays, until a later run finds
    the whole of it right or a person accepts it.

    Raises:
        ContractError: an expectation cannot be checked.
        AuditFailedError: rows break one that stops.
    """
    settings = context.settings
    spec = context.spec
    is_whole = not context.options.increment
    audits = plan_audits(context, _chosen(context), is_whole=is_whole)
    if not audits:
        return context.result(NOTHING_TO_DO)
    expected = expected_of_stored(spec, {audit.table: audit.timeline for audit in audits}, settings)
    validation = Validation(context=context, expected=expected)
    with tempfile.TemporaryDirectory(prefix="lakehouse-docs-") as folder:
        suites = Suites(Path(folder))
        found = validation.audit(audits, suites)
        if is_documented := is_whole and bool(found):
            suites.write_docs()
            pages = {name: (each.instant, each.verdicts) for name, each in found.items()}
            clock, files = format_clock(context.clock), Filesystem(settings.base_path)
            publish_docs(Path(folder), spec.lake, clock, pages, files)
    found = _decide(found, settings)
    _hold(context, found)  # before the checkpoint: a run that dies in between checks once more
    recorded = validation.record(audits, found)
    if is_whole:
        found, recorded = validation.judge_history(audits, found, recorded)
        found = _decide(found, settings)
        _hold(context, found)
        _let_go(context, found)
    waiting = [line for audit in audits for line in expected.waiting(audit.table)]
    result = _result(context, audits, found, recorded, waiting, is_documented=is_documented)
    if failed := {name: each.stopped for name, each in found.items() if each.stopped}:
        raise AuditFailedError(
            failed={n: [v.summary for v in verdicts] for n, verdicts in failed.items()}, result=result
        )
    return result


def _chosen(context: JobContext[ValidateOptions]) -> list[str]:
    spec = context.spec
    chosen = names_of(context.options.tables)
    if unknown := sorted(set(chosen) - set(spec.validated_tables)):
        raise ContractError(
            f"lake {spec.lake} has no table {show(unknown[0])} (--tables); it has {spec.validated_tables}"
        )
    return list(chosen) or spec.validated_tables


def _decide(found: Mapping[str, AuditFinding], settings: Settings) -> dict[str, AuditFinding]:
    """What was found, that marked which a person has accepted."""
    holds = Holds(settings)
    return {name: replace(each, verdicts=accepted_of(each.verdicts, holds.known(name))) for name, each in found.items()}


def _hold(context: JobContext[ValidateOptions], found: Mapping[str, AuditFinding]) -> None:
    settings = context.settings
    for name, each in found.items():
        if each.stopped:
            Holds(settings).hold(name, context.job, each.stopped, context.clock, instant=each.instant)


def _let_go(context: JobContext[ValidateOptions], found: Mapping[str, AuditFinding]) -> None:
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
    audits: list[Audit],
    found: Mapping[str, AuditFinding],
    recorded: TableOutcome,
    waiting: list[str],
    *,
    is_documented: bool,
) -> JobResult:
    settings = context.settings
    verdicts = [verdict for each in found.values() for verdict in each.verdicts]
    if found:
        print(format_table(_HEAD, [_cells(name, each.instant, each.verdicts) for name, each in found.items()]))
    lines = [line for name, each in found.items() for line in describe_verdicts(name, each.verdicts)]
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
        messages=(*(audit.resync for audit in audits if audit.resync), *lines, *waiting, *docs),
    )


def _cells(table: str, instant: Instant, verdicts: tuple[Verdict, ...]) -> tuple[object, ...]:
    broken = [each.expectation.name for each in verdicts if each.outcome is not Outcome.HELD]
    return table, instant, len(verdicts), max((each.checked for each in verdicts), default=0), ", ".join(broken) or "-"


JOB = Job(options=ValidateOptions, run=run, check=check, needs_spark=needs_spark)
