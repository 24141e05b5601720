"""Which past states of a table can still be read, and the one that a person means."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import NO_INSTANT, Instant, format_instant, parse_instant
from spark_jobs.storage.procedures import call
from spark_jobs.storage.timeline import Timeline

_MOST_CLEANS = 100_000
_DIGITS = re.compile(r"[0-9]{17}")


def parse_moment(text: str) -> Instant:
    """An instant as it is, or the instant of a time such as ``2026-01-31T18:00:00Z``."""
    return parse_instant(text) if _DIGITS.fullmatch(text) else format_instant(parse_clock(text))


def state_at(spark: SparkSession, timeline: Timeline, moment: Instant) -> Instant:
    """The newest write of the table at a moment, as of which it is read.

    Raises:
        ContractError: the table had no commit then, or that state was cleaned.
    """
    if found := find_state(spark, timeline, moment):
        return found
    raise _unreadable(timeline, moment, readable_from=NO_INSTANT)


def find_state(spark: SparkSession, timeline: Timeline, moment: Instant) -> Instant | None:
    """The same; None for a table that was made after that moment.

    The cleans are looked at first: Hudi refuses a state that was cleaned too, but does not say which can be read.
    """
    known = [write.time for write in timeline.writes if write.time <= moment]
    readable_from = cleaned_up_to(spark, timeline)
    if known and (known[-1] >= readable_from or known[-1] in timeline.savepoints):
        return known[-1]
    if known or readable_from or timeline.is_archived:
        raise _unreadable(timeline, moment, readable_from=readable_from)
    return None


def _unreadable(timeline: Timeline, moment: Instant, *, readable_from: Instant) -> ContractError:
    kept = sorted(timeline.savepoints)
    first = next((write.time for write in timeline.writes if write.time >= readable_from), None)
    also = f"; kept by savepoints: {', '.join(kept)}" if kept else ""
    return ContractError(
        f"{timeline.table}: its state at {moment} cannot be read any more, or never was"
        + (f"; the oldest that can is {first}{also}" if first else "; it has no commit yet")
    )


def cleaned_up_to(spark: SparkSession, timeline: Timeline) -> Instant:
    """The oldest instant as of which the table is whole, by its cleans; before all instants when it had none."""
    if not timeline.has_cleans:
        return NO_INSTANT
    rows = call(spark, timeline.table, timeline.path, "show_cleans", {"limit": _MOST_CLEANS})
    return max((Instant(row["earliest_commit_to_retain"] or "") for row in rows), default=NO_INSTANT)
