"""freshness: how old each table is, and whether that is what it promises.

It looks at timelines, consumers' files and where events are delivered, so it is right even when no other job runs.
"""

from __future__ import annotations

from datetime import datetime

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import StaleTablesError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.freshness import FreshnessOptions
from spark_jobs.quality.freshness import FreshnessOfLake, TableFreshness
from spark_jobs.quality.holds import Holds
from spark_jobs.sources.discovery import waits_since
from spark_jobs.storage.timeline import Timeline

_HEAD = ("table", "newest event", "promised", "waits since", "promised", "state")


def run(context: JobContext[FreshnessOptions]) -> JobResult:
    """Print how fresh each table is at the run's clock; needs no Spark, and changes nothing.

    Raises:
        ContractError: a requested table promises nothing.
        StaleTablesError: a promise is not kept.
    """
    settings = context.settings
    spec, clock = context.spec, context.clock
    log_timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    lake = FreshnessOfLake(spec=spec, settings=settings, waiting_since=waits_since(spec, log_timeline, settings, clock))
    held = {hold.table: hold.since for hold in Holds(settings).held()}
    found = [lake.of(table) for table in _chosen(context, lake)]
    states = {each.table: _state(each, clock, held) for each in found}
    print(format_table(_HEAD, [(*_cells(each, clock), states[each.table]) for each in found]))
    late = {each.table: states[each.table] for each in found if each.is_behind(clock) or each.is_silent(clock)}
    counters = {"tables": len(found), "late": len(late), "held": len(held.keys() & states.keys())}
    result = context.result(DONE, counters=counters)
    if late:
        raise StaleTablesError(late=late, result=result)
    return result


def _chosen(context: JobContext[FreshnessOptions], lake: FreshnessOfLake) -> tuple[str, ...]:
    requested = names_of(context.options.tables)
    if unknown := sorted(set(requested) - set(lake.tables)):
        raise ContractError(
            f"lake {lake.spec.lake} has no promise of a table {show(unknown[0])} (--tables); it has "
            f"{sorted(lake.tables)}"
        )
    return requested or lake.tables


def _cells(each: TableFreshness, clock: datetime) -> tuple[str, ...]:
    promise = each.promise
    return (
        each.table,
        _ago(each.newest_event, clock),
        _minutes(promise.event_minutes),
        _ago(each.waiting_since, clock),
        _minutes(promise.behind_minutes),
    )


def _state(each: TableFreshness, clock: datetime, held: dict[str, str]) -> str:
    """What is the matter, in words."""
    problems = []
    if words := each.behind(clock):
        problems.append(f"behind: {words}")
    if words := each.silent(clock):
        problems.append(f"silent: {words}")
    if each.table in held:
        problems.append(f"held since {held[each.table]}")
    return ", ".join(problems) or ("fresh" if each.is_made else "never made")


def _ago(moment: datetime | None, clock: datetime) -> str:
    """``2 h 5 min ago``; a moment after the clock is now."""
    return "-" if moment is None else f"{_span(max(0, int((clock - moment).total_seconds() // 60)))} ago"


def _minutes(minutes: int) -> str:
    return f"within {_span(minutes)}" if minutes else "-"


def _span(minutes: int) -> str:
    """Minutes as people say them: ``1 d 2 h``; nothing is left out but zeros."""
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 min"


JOB = Job(options=FreshnessOptions, run=run, needs_spark=never)
