"""What the doctor finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ailment(StrEnum):
    """Kinds of findings."""

    VERSION = "table version"
    TIMES = "file times"
    PENDING_WRITE = "pending write"
    PENDING_PLAN = "pending plan"
    PENDING_RESTORE = "pending restore"
    LOST_RESTORE = "restore without a savepoint"
    ERASURE = "unfinished erasure"
    ORPHAN = "orphan file"
    MARKERS = "left-over markers"
    LOCK = "stale lock"
    METADATA_TABLE = "metadata table"
    CONSUMER = "consumer"
    CHECKPOINT = "checkpoint"
    TIMELINE = "long timeline"
    TEMPORARY = "temporary file"
    UNCLEANED = "failed deletion"
    DUPLICATES = "duplicates"
    HELD = "held"
    AHEAD = "commit ahead"
    KEPT_ROWS = "unfinished repair"
    MART_AHEAD = "mart ahead"
    UNDECLARED_TABLE = "undeclared table"


_REPAIRED = (
    Ailment.PENDING_WRITE,
    Ailment.PENDING_PLAN,
    Ailment.TIMES,
    Ailment.LOST_RESTORE,
    Ailment.AHEAD,
    Ailment.KEPT_ROWS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: what it is and means, and what to do. ``paths`` are what a repair would remove."""

    table: str
    ailment: Ailment
    what: str
    then: str
    paths: tuple[str, ...] = ()

    @property
    def is_repairable(self) -> bool:
        """True when ``doctor repair`` puts it right by itself."""
        return bool(self.paths) or self.ailment in _REPAIRED
