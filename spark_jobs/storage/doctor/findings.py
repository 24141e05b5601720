"""What the doctor finds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Ailment(StrEnum):
    """Kinds of findings."""

    VERSION = "table version"
    TIMES = "file times"
    PENDING_WRITE = "pending write"
    DEAD_WRITER = "dead writer"
    PENDING_PLAN = "pending plan"
    PENDING_SERVICE = "pending service"
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
    UNREADABLE = "unreadable"
    SOURCE = "unreadable source"
    SILENT = "late source"
    BEHIND = "behind"
    QUARANTINE = "quarantine flood"
    CONSUMER_BEHIND = "consumer behind"
    SMALL_FILES = "small files"
    CATALOG = "stale catalog"
    DISK = "full disk"


_REPAIRS = {
    Ailment.PENDING_WRITE: "rolls it back, once the heartbeat of its writer has ended",
    Ailment.DEAD_WRITER: "rolls it back",
    Ailment.PENDING_PLAN: "carries it out",
    Ailment.TIMES: "sets the times of the commits' files; where times cannot be set, as in an object store, removes "
    "the files of older states and every savepoint that has the table",
    Ailment.LOST_RESTORE: "ends it for this table alone",
    Ailment.AHEAD: "takes these commits off; of log, quarantine and results of quality it commits their rows again",
    Ailment.KEPT_ROWS: "commits them again",
}
_RUNBOOKS = {
    Ailment.PENDING_WRITE: "stuck-instant",
    Ailment.PENDING_PLAN: "stuck-instant",
    Ailment.PENDING_SERVICE: "stuck-instant",
    Ailment.DEAD_WRITER: "dead-driver",
    Ailment.VERSION: "table-version",
    Ailment.CONSUMER: "consumer",
    Ailment.CONSUMER_BEHIND: "consumer",
    Ailment.HELD: "held",
    Ailment.AHEAD: "clock",
    Ailment.MART_AHEAD: "clock",
    Ailment.SILENT: "freshness",
    Ailment.BEHIND: "freshness",
    Ailment.QUARANTINE: "quarantine",
    Ailment.SMALL_FILES: "small-files",
    Ailment.CATALOG: "catalog",
    Ailment.DISK: "full-disk",
    Ailment.SOURCE: "troubleshooting",
}
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: what it is and means, and what to do. ``paths`` are what a repair would remove.

    ``also`` are other tables that have it too, where one cause is one finding; a table of "" is the lake itself.
    """

    table: str
    ailment: Ailment
    what: str
    then: str
    paths: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def is_of(self, tables: Collection[str]) -> bool:
        """True when it is of one of these tables."""
        return not {self.table, *self.also}.isdisjoint(tables)

    @property
    def runbook(self) -> str:
        """The page of docs/runbooks that says what to do, without its ending."""
        return _RUNBOOKS.get(self.ailment, "doctor")

    @property
    def is_repairable(self) -> bool:
        """True when ``doctor repair`` puts it right by itself."""
        return bool(self.repair)

    @property
    def repair(self) -> str:
        """What ``doctor repair --yes`` does about it; "" when a person has to."""
        if not self.paths:
            return _REPAIRS.get(self.ailment, "")
        return f"removes {first_of(self.paths)}"


def first_of(names: Sequence[str]) -> str:
    """The first few of many."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def plan_repair(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """What is repaired by itself, by table: of each all that was found; "" is the lake itself.

    What is of the whole lake comes first: a restore of it that cannot end any more would keep tables waiting. A
    table whose restore was cut off is left until that has ended, but for the times of its files, without which it
    cannot end.
    """
    found: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: bool(finding.table)):
        found.setdefault(finding.table, []).append(finding)
    return {
        table: of_table
        for table, of_table in found.items()
        if any(each.is_repairable for each in of_table) and not (table and _waits({each.ailment for each in of_table}))
    }


def _waits(kinds: set[Ailment]) -> bool:
    return Ailment.PENDING_RESTORE in kinds and Ailment.TIMES not in kinds
