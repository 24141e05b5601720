"""Clocks that are ahead: a time that has not come yet, of a run or of a commit, hides what comes before it.

Commits are named by the time at which they began, and consumers read on after the last one they saw. So a commit from
the future hides every later one, and a mart whose window ended in the future is empty until then.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.instants import Instant, format_instant

MARGIN = timedelta(minutes=5)
"""Clocks of two machines may differ by so much; a commit that is less ahead is waited for."""
_RUNBOOK = "docs/runbooks/clock.md"


class CommitAheadError(TerminalError):
    """The newest commit of a table is later than now: commits before that time would never be read."""

    def __init__(self, *, table: str, instant: Instant, now: datetime) -> None:
        self.table, self.instant = table, instant
        super().__init__(
            f"{table}: its newest commit, {instant}, is later than now ({format_clock(now)}), and would hide what is "
            f"written; correct the clock of this machine, or if it is right run: doctor repair --table {table} "
            f"({_RUNBOOK})"
        )


class CommitHiddenError(TerminalError):
    """A commit got a time that is not after the one before it: the engine's clock went back while it was written."""

    def __init__(self, *, table: str, instant: Instant, newest: Instant) -> None:
        self.table, self.instant, self.newest = table, instant, newest
        super().__init__(
            f"{table}: commit {instant} is not later than {newest}, which was there before it, so readers that are at "
            f"{newest} miss it; correct the engine's clock, then follow {_RUNBOOK}"
        )


class RowsKeptError(TerminalError):
    """A repair took rows off tables, and was cut off before it committed them again."""

    def __init__(self, *, tables: list[str]) -> None:
        self.tables = tables
        super().__init__(
            f"{', '.join(tables)}: doctor repair was cut off after it took commits off, and their rows are not in the "
            f"table; run doctor repair once more"
        )


class MartAheadError(TerminalError):
    """A mart was refreshed with a clock that has not come yet."""

    def __init__(self, *, mart: str, layer: str, clock: datetime) -> None:
        self.mart, self.clock = mart, clock
        super().__init__(
            f"{mart}: it was refreshed for {format_clock(clock)}, which has not come yet; refresh it for now: "
            f"mart --layer {layer} --mart {mart} --full"
        )


def machine_now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def is_ahead(moment: datetime, now: datetime) -> bool:
    """True for a time that has not come yet, by the clock of either of two machines."""
    return moment > now + MARGIN


def is_instant_ahead(instant: Instant, now: datetime) -> bool:
    """:func:`is_ahead` of an instant."""
    return instant > newest_possible(now)


def newest_possible(now: datetime) -> Instant:
    """The last instant that is not ahead."""
    return format_instant(now + MARGIN)


def check_run_clock(clock: datetime, now: datetime) -> None:
    """Raise ContractError when a run is to have a clock that is ahead."""
    if is_ahead(clock, now):
        raise ContractError(
            f"--clock {format_clock(clock)} has not come yet (it is {format_clock(now)}); give a time that is not "
            f"after now, or leave it out"
        )
