"""rules: rule versions as a table, or two of them compared over the same history; writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.rules import RulesOptions
from spark_jobs.lake_spec.rules import RuleBook, first_day
from spark_jobs.marts.rule_diff import Change, Comparison, RuleDiff
from spark_jobs.marts.views import Views
from spark_jobs.spec_files.rules_file import load_rules

DEFAULT_ROWS = 50
_FIRST_MONTH, _LAST_MONTH = "0001-01", "9999-12"


def needs_spark(context: JobContext[RulesOptions]) -> bool:
    """A list of the versions needs none."""
    return context.options.action != "list"


def check(context: JobContext[RulesOptions]) -> None:
    """Raise ContractError when the options name no two versions, or no months."""
    if context.options.action == "diff":
        _requested(context, load_rules(context.settings.rules_path))


def run(context: JobContext[RulesOptions]) -> JobResult:
    """Print the versions there are, or what changes for whom when one counts instead of the other."""
    settings = context.settings
    book = load_rules(settings.rules_path)
    is_list = context.options.action == "list"
    counters = _list(book) if is_list else _diff(context, book)
    return context.result(DONE, counters=counters)


def _list(book: RuleBook) -> dict[str, int]:
    names = list(book.types)
    rows = [
        (
            rules.version,
            rules.valid_from.isoformat(),
            "yes" if rules.promoted else "no",
            *((value.line if (value := rules.find(name)) else None) for name in names),
            rules.description,
        )
        for rules in book.versions
    ]
    print(format_table(("version", "valid from", "promoted", *names, "description"), rows))
    return {"versions": len(rows)}


def _requested(context: JobContext[RulesOptions], book: RuleBook) -> tuple[str, str, str, str]:
    """The two versions, the first month and the last."""
    options = context.options
    versions = [book.version(name).version for name in options.versions]
    if len(versions) != 2:
        raise ContractError(f"rules diff compares two versions; give two of {book.names}")
    first, last = _month(options.first_month or _FIRST_MONTH), _month(options.last_month or _LAST_MONTH)
    if first_day(first) > first_day(last):
        raise ContractError(f"{first} to {last} is no range of months; give --from before --to")
    return versions[0], versions[1], first, last


def _diff(context: JobContext[RulesOptions], book: RuleBook) -> dict[str, int]:
    spark, settings = context.spark, context.settings
    *versions, first, last = _requested(context, book)
    with Views(spark) as views:
        diff = RuleDiff(views=views, spec=context.spec, book=book, settings=settings)
        comparison = diff.compare(versions[0], versions[1], first=first, last=last)
    _print_comparison(comparison, versions, context.options.rows)
    differences = [change.difference for change in comparison.changes]
    return {
        "months": len(comparison.months),
        "cells": len(differences),
        "gaining": sum(difference > 0 for difference in differences),
        "losing": sum(difference < 0 for difference in differences),
    }


def _month(text: str) -> str:
    """The month of a date, as recompute takes them; anything else is checked as a month."""
    try:
        return date.fromisoformat(text).isoformat()[:7]
    except ValueError:
        return text


def _print_comparison(comparison: Comparison, versions: Sequence[str], most: int) -> None:
    changes = comparison.changes
    total = Change(
        key="total",
        name="",
        before=sum((change.before for change in changes), Decimal(0)),
        after=sum((change.after for change in changes), Decimal(0)),
    )
    months = f", {comparison.months[0]} to {comparison.months[-1]}" if comparison.months else ""
    print(f"{versions[1]} instead of {versions[0]}{months}")
    header = (comparison.owner, "name", *versions, "gain or loss", "percent")
    rows = [
        (str(change.key), change.name, change.before, change.after, change.difference, change.percent)
        for change in (*changes[:most], total)
    ]
    print(format_table(header, rows))
    if len(changes) > most:
        print(f"and {len(changes) - most} more, which differ less; the total counts them (--rows prints more)")


JOB = Job(options=RulesOptions, run=run, check=check, needs_spark=needs_spark)
