"""Clocks, intervals and lists of names, as the command line and the forms of DAGs have them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show


def parse_clock(text: str) -> datetime:
    """Read an ISO 8601 time; without an offset it is UTC. ContractError when it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ContractError(f"{show(text)} is not a time; give ISO 8601, for example 2026-01-31T12:00:00Z") from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def format_clock(moment: datetime) -> str:
    """ISO 8601 in UTC with a trailing ``Z``."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Event dates from ``start`` (inclusive) to ``end`` (exclusive), both UTC: what a backfill run covers."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ContractError(
                f"interval {format_clock(self.start)} to {format_clock(self.end)} is empty; "
                f"give --interval-end after --interval-start"
            )


def names_of(text: str) -> tuple[str, ...]:
    """The names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
