"""Restores that were cut off: which one of the whole lake has begun, and where that of a table was going.

A restore of the lake goes table by table, so it is written down before the first one. The savepoint that it leads to
must stay until it has ended: without it Hudi can neither end the restore of a table nor write the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from spark_jobs.contracts.errors import RestoreUnfinishedError
from spark_jobs.contracts.instants import END, Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.savepoints import Record, SavepointRecords
from spark_jobs.storage.timeline import Timeline

FOLDER = ".restores"
LAKE = "the lake"
PENDING = "pending.json"
_INSTANT = re.compile(rb"[0-9]{17}")
REMOVAL = END
"""In a table that is being removed: of what Hudi and jobs take for a restore that did not end, until nothing is left.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRestore:
    """A restore of the lake that has begun: to which savepoint, and by which clock."""

    savepoint: str
    begun: str


class Restores:
    """The file below ``<base>/.restores``."""

    def __init__(self, settings: Settings) -> None:
        self._files = Filesystem(settings.base_path)

    def pending(self) -> PendingRestore | None:
        """The restore that has begun and not ended, or None."""
        content = self._files.read(f"{FOLDER}/{PENDING}")
        return None if content is None else PendingRestore(**json.loads(content))

    def begin(self, pending: PendingRestore) -> None:
        """Write it down; one that was cut off keeps the time at which it first began."""
        if not self.pending():
            self._files.write(f"{FOLDER}/{PENDING}", json.dumps(asdict(pending)).encode())

    def finish(self) -> None:
        """Forget it."""
        self._files.delete(f"{FOLDER}/{PENDING}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Hudi's plan to restore one table: the instants that it takes away, in its order, and the state it leads to."""

    instants: tuple[Instant, ...]
    back_to: Instant

    @property
    def is_right(self) -> bool:
        """False when it would take away what was there before, or an instant before a later one.

        Hudi makes the plan by the times of the commits' files, and keeps to it however often it is tried.
        """
        return all(instant > self.back_to for instant in self.instants) and list(self.instants) == sorted(
            self.instants, reverse=True
        )


def read_plan(timeline: Timeline) -> TablePlan | None:
    """The plan of a table's restore that was cut off; None when there is none, or its file has no instants.

    Its file is Avro, uncompressed, and has the instants to be rolled back and then the one to be restored.
    """
    for instant in timeline.pending_restores:
        content = Filesystem(timeline.path).read(f".hoodie/{instant}.restore.requested") or b""
        if found := [Instant(text.decode()) for text in _INSTANT.findall(content)]:
            return TablePlan(instants=tuple(found[:-1]), back_to=found[-1])
    return None


def drop_plans(timeline: Timeline) -> None:
    """Forget the plan of a table's restore; the caller makes another one at once. What it rolled back is gone."""
    files = Filesystem(timeline.path)
    for instant in timeline.pending_restores:
        for state in ("inflight", "requested"):  # until the last file is gone the restore counts as begun
            files.delete(f".hoodie/{instant}.restore.{state}")


def remove_table(path: str) -> None:
    """Remove a table that is to be gone. Whatever a removal that is cut off has left, no job takes it for a table."""
    files, mark = Filesystem(path), f".hoodie/{REMOVAL}.restore.requested"
    files.write(mark, b"")
    for folder in ("", ".hoodie"):
        for name in files.folders(folder):
            if (inner := "/".join(filter(None, (folder, name)))) != ".hoodie":
                files.delete_tree(inner)
        for entry in files.list_files(folder):
            if not entry.path.endswith(mark):
                files.delete(entry.path.removeprefix(f"{files.root}/"))
    files.delete_tree()


def savepoint_of(timeline: Timeline, settings: Settings) -> str:
    """The savepoint that the restore of a table leads to, or "" when none that is left does."""
    if not timeline.pending_restores:
        return ""
    pending, plan = Restores(settings).pending(), read_plan(timeline)
    records = [*reversed(SavepointRecords(settings).all())]
    if pending and (plan is None or any(each.id == pending.savepoint for each in records)):
        return pending.savepoint
    found = (each.id for each in records if plan and each.tables.get(timeline.table) == plan.back_to)
    return next(found, "")


def check_no_restore(settings: Settings, tables: Iterable[str], *, but: Record | None = None) -> None:
    """Raise RestoreUnfinishedError while a restore has begun, of the lake or of one of these tables.

    Not of one that leads to the savepoint ``but``.
    """
    pending = Restores(settings).pending()
    if pending and (but is None or pending.savepoint != but.id):
        raise RestoreUnfinishedError(table=LAKE, begun=pending.begun, savepoint=pending.savepoint)
    for table in tables:
        timeline = Timeline(table=table, path=settings.table_path(table))
        if timeline.pending_restores and not _leads_to(timeline, but):
            savepoint = savepoint_of(timeline, settings)
            raise RestoreUnfinishedError(table=table, begun=timeline.pending_restores[0], savepoint=savepoint)


def has_begun(settings: Settings, tables: Iterable[str]) -> bool:
    """True while a restore is unfinished, of the lake or of one of these tables."""
    lines = (Timeline(table=table, path=settings.table_path(table)) for table in tables)
    return Restores(settings).pending() is not None or any(line.pending_restores for line in lines)


def check_needless(record: Record, settings: Settings) -> None:
    """Raise RestoreUnfinishedError when a restore that was cut off leads to a savepoint, which has to stay then."""
    pending = Restores(settings).pending()
    if pending and pending.savepoint == record.id:
        raise RestoreUnfinishedError(table=LAKE, begun=pending.begun, savepoint=record.id)
    for table, instant in record.tables.items():
        timeline = Timeline(table=table, path=settings.table_path(table))
        if timeline.pending_restores and (plan := read_plan(timeline)) and plan.back_to == instant:
            raise RestoreUnfinishedError(table=table, begun=timeline.pending_restores[0], savepoint=record.id)


def _leads_to(timeline: Timeline, record: Record | None) -> bool:
    if record is None:
        return False
    plan = read_plan(timeline)
    return plan is None or plan.back_to == record.tables.get(timeline.table)
