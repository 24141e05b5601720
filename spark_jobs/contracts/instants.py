"""Instants of the Hudi timeline and ranges of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show

Instant = NewType("Instant", str)
"""The time of a commit on a table's timeline: ``yyyyMMddHHmmssSSS``, UTC. Instants sort as their texts do."""
_INSTANT = re.compile(r"[0-9]{17}")
BEGINNING = Instant("0" * 17)
"""Sorts before every instant: a range that starts here holds everything."""
END = Instant("9" * 17)
"""Sorts after every instant."""
NO_INSTANT = Instant("")
"""Where there is none; it sorts before all others, and is false."""


def parse_instant(text: str) -> Instant:
    """The instant that ``text`` is (``yyyyMMddHHmmssSSS``, UTC), else raise ContractError."""
    if not _INSTANT.fullmatch(text):
        raise ContractError(f"{show(text)} is not an instant; give 17 digits, yyyyMMddHHmmssSSS in UTC")
    return Instant(text)


def format_instant(moment: datetime) -> Instant:
    """The instant of a moment, to the millisecond."""
    moment = moment.astimezone(UTC)
    return Instant(f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}")


def moment_of(instant: Instant) -> datetime:
    """The moment of an instant, in UTC: what :func:`format_instant` was given, to the millisecond."""
    text = parse_instant(instant)
    day = (int(text[:4]), int(text[4:6]), int(text[6:8]))
    hour, minute, second, milliseconds = int(text[8:10]), int(text[10:12]), int(text[12:14]), int(text[14:])
    return datetime(*day, hour, minute, second, milliseconds * 1000, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantRange:
    """Completed instants after ``after`` (exclusive) up to ``up_to`` (inclusive)."""

    after: Instant
    up_to: Instant

    def __post_init__(self) -> None:
        parse_instant(self.after)
        parse_instant(self.up_to)

    @property
    def is_empty(self) -> bool:
        """True when no instant can be in the range."""
        return self.up_to <= self.after
