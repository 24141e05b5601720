"""The timeline of a table of version 6, read from ``.hoodie`` without Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from spark_jobs.contracts.errors import TableTypeError, TableVersionError
from spark_jobs.contracts.instants import BEGINNING, END, Instant, InstantRange
from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.contracts.row_counts import ROW_COUNTS_KEY, RowCounts
from spark_jobs.storage.commit_times import MOVED, CompletedWrite, find_misdated
from spark_jobs.storage.filesystem import Filesystem

TABLE_VERSION = 6
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_SERVICES = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER"})
_PLANS = frozenset({"compaction", "replacecommit"})
SERVICE_KEY = "lakehouse.service"
"""In the metadata of a commit that a service of the project made, not one of Hudi."""
_ROW_COUNTS = ("numInserts", "numUpdateWrites", "numDeletes")
_COUNTED_KEY = f"lakehouse.{ROW_COUNTS_KEY}"
_FILE = re.compile(r"^(?P<time>\d{17})\.(?:(?P<action>[a-z]+)(?:\.(?P<state>requested|inflight))?)$")


class Timeline:
    """What ``.hoodie`` of one table had when it was listed. An absent table has an empty timeline.

    ``entries`` are the files by their names, as they were listed.
    """

    def __init__(self, *, table: str, path: str) -> None:
        self.table, self.path = table, path
        self._files = Filesystem(path)
        self._contents: dict[str, Mapping[str, Any]] = {}
        completed: dict[Instant, str] = {}
        begun: dict[Instant, str] = {}
        savepoints: list[Instant] = []
        entries = {entry.path.rsplit("/", 1)[-1]: entry for entry in self._files.list_files(".hoodie")}
        names, self.entries = list(entries), entries
        for match in filter(None, map(_FILE.match, names)):
            time, action, state = Instant(match["time"]), match["action"], match["state"]
            if state is None and action == "savepoint":
                savepoints.append(time)  # of a commit with the same time
            elif state is None and action != "inflight":
                completed[time] = action
            elif action == "savepoint":
                continue
            else:
                # Version 6 names a commit's second state <time>.inflight, without its action.
                begun.setdefault(time, "commit" if action == "inflight" else action)
        self.exists = "hoodie.properties" in names
        self.writes = tuple(
            CompletedWrite(time=time, action=action, modified_ns=entries[f"{time}.{action}"].modified_ns)
            for time, action in sorted(completed.items())
            if action in _WRITES
        )
        self.moved_up_to = max(
            (Instant(name.removeprefix(MOVED)) for name in names if name.startswith(MOVED)), default=BEGINNING
        )
        pending = {time: action for time, action in begun.items() if time not in completed}
        # A pending replacecommit adds no events: consumers need not stop short of it.
        self.pending_writes = tuple(sorted(t for t, a in pending.items() if a in ("commit", "deltacommit")))
        self.pending_plans = {t: a for t, a in sorted(pending.items()) if a in _PLANS and self._is_plan(t, a)}
        self.unfinished = tuple(sorted(t for t, a in pending.items() if a in _WRITES and t not in self.pending_plans))
        self.pending = frozenset(pending)
        self.pending_restores = tuple(sorted(t for t, a in pending.items() if a == "restore"))
        self.pending_rollbacks = tuple(sorted(t for t, a in pending.items() if a == "rollback"))
        self.pending_cleans = tuple(sorted(t for t, a in pending.items() if a == "clean"))
        self.has_cleans = "clean" in completed.values()
        self.savepoints = frozenset(savepoints)
        # A writer that died early has made the folder and no file in it yet; Hudi takes that for a table.
        self.has_begun = bool(names) or self._files.changed_ns(".hoodie") is not None

    def adopt(self, older: Timeline) -> None:
        """Keep what an older listing of the same table has read of commits whose files have not changed since."""
        for write in self.writes:
            is_same = older.entries.get(write.file_name) == self.entries[write.file_name]
            if is_same and (content := older._contents.get(write.time)) is not None:
                self._contents[write.time] = content

    @cached_property
    def last(self) -> Instant | None:
        """The newest completed write that changed rows, or None. A table service moves it no further."""
        return next((write.time for write in reversed(self.writes) if not self.is_service(write)), None)

    @property
    def newest(self) -> Instant | None:
        """The newest completed write of any kind, or None: as of it, files are as the services left them."""
        return self.writes[-1].time if self.writes else None

    @property
    def readable_up_to(self) -> Instant:
        """The newest completed write below the first pending one: what a consumer may pull up to."""
        barrier = self.pending_writes[0] if self.pending_writes else END
        return max((write.time for write in self.writes if write.time < barrier), default=BEGINNING)

    @property
    def is_local(self) -> bool:
        """True when it is on this machine's own file system, where the times of files can be set."""
        return self._files.is_local

    @cached_property
    def misdated(self) -> tuple[Instant, ...]:
        """Completed writes whose files do not have the times at which these ended: the lake was copied without them."""
        since = [write for write in self.writes if write.time > self.moved_up_to]
        return find_misdated(since, is_local=self._files.is_local)

    def holds(self, instant: Instant) -> bool:
        """True when ``instant`` is a completed write of the active timeline, and so everything after it is there too.

        One that is merely between two of them is not: what it was, a restore may have taken away.
        """
        return any(write.time == instant for write in self.writes)

    def writes_in(self, window: InstantRange) -> tuple[CompletedWrite, ...]:
        """The completed writes in ``(after, up_to]``."""
        return tuple(write for write in self.writes if window.after < write.time <= window.up_to)

    def changes_in(self, window: InstantRange) -> tuple[CompletedWrite, ...]:
        """Those among them that may have changed rows: all but the commits of table services."""
        return tuple(write for write in self.writes_in(window) if not self.is_service(write))

    def is_service(self, write: CompletedWrite) -> bool:
        """True for the commit of a table service (compaction, clustering, rescale): it moves rows between files.

        After a rescale Hudi's own incremental pull gives every row once more; as Hudi sees it, each was rewritten.
        """
        return self._content(write).get("operationType") in _SERVICES or SERVICE_KEY in self.metadata(write)

    def is_finished(self, time: Instant) -> bool:
        """True for a completed write, and for one so old that it was archived: only completed ones are."""
        return self.holds(time) or (bool(self.writes) and time < self.writes[0].time)

    @cached_property
    def replaced_groups(self) -> Mapping[tuple[str, str], Instant]:
        """Partition and id of each file group that a commit replaced (clustering, overwriting), and its instant."""
        found: dict[tuple[str, str], Instant] = {}
        for write in self.writes:
            if write.action == "replacecommit":
                found |= dict.fromkeys(self.groups_replaced(write), write.time)
        return found

    def groups_replaced(self, write: CompletedWrite) -> frozenset[tuple[str, str]]:
        """Partition and id of the file groups that the commit replaced."""
        groups = self._content(write).get("partitionToReplaceFileIds") or {}
        return frozenset((partition, id_) for partition, ids in groups.items() for id_ in ids)

    def metadata(self, write: CompletedWrite) -> Mapping[str, str]:
        """The extra metadata of a commit."""
        extra: Mapping[str, str] = self._content(write).get("extraMetadata") or {}
        return extra

    def rows_written(self, write: CompletedWrite) -> int:
        """Rows the commit added, changed or removed, by its own statistics.

        Rows that copy-on-write carries over into a new file, which Hudi counts as written too, are not among them.
        """
        return self._sum_of_files(write, _ROW_COUNTS)

    @property
    def rows_stored(self) -> int | None:
        """Rows of the newest file of every file group, by the commits' statistics.

        None where they are not enough: old commits were archived, or a commit wrote log files.
        """
        newest: dict[tuple[str, str], tuple[Instant, int]] = {}
        for write in self.writes:
            for partition, files in (self._content(write).get("partitionToWriteStats") or {}).items():
                for stat in files:
                    if not str(stat.get("path")).endswith(".parquet"):
                        return None
                    newest[partition, stat["fileId"]] = (write.time, int(stat.get("numWrites") or 0))
        there = (rows for key, (time, rows) in newest.items() if self.replaced_groups.get(key, BEGINNING) <= time)
        return None if self.is_archived else sum(there)

    def row_counts(self, write: CompletedWrite) -> RowCounts:
        """Rows the commit added, changed and removed: by its writer where that counted them, else by its statistics.

        Hudi counts a row that an upsert puts into a log file as changed, without knowing whether it was there.
        """
        if counted := self.metadata(write).get(_COUNTED_KEY):
            return RowCounts.from_json(counted)
        counts = dict.fromkeys(("added", "changed", "removed", "upserted"), 0)
        for files in (self._content(write).get("partitionToWriteStats") or {}).values():
            for stat in files:
                is_base = str(stat.get("path")).endswith(".parquet")
                counts["added"] += int(stat.get("numInserts") or 0)
                counts["changed" if is_base else "upserted"] += int(stat.get("numUpdateWrites") or 0)
                counts["removed"] += int(stat.get("numDeletes") or 0)
        return RowCounts(**counts)

    def operation_of(self, write: CompletedWrite) -> str:
        """Hudi's name of what the commit did, in lower case, such as ``upsert``; "" when it does not say."""
        return str(self._content(write).get("operationType") or "").lower()

    def service_of(self, write: CompletedWrite) -> str:
        """Which table service made the commit, such as ``compact`` or ``rescale``; "" for a write of rows."""
        operation = str(self._content(write).get("operationType") or "")
        return operation.lower() if operation in _SERVICES else self.metadata(write).get(SERVICE_KEY, "")

    def bytes_written(self, write: CompletedWrite) -> int:
        """Bytes of the files that the commit wrote, by its own statistics."""
        return self._sum_of_files(write, ("totalWriteBytes",))

    def files_written(self, write: CompletedWrite) -> Mapping[str, int]:
        """Bytes of the files that the commit wrote, by path below the table's folder ("" for one without a path)."""
        stats = self._content(write).get("partitionToWriteStats") or {}
        return {
            str(stat.get("path") or ""): int(stat.get("totalWriteBytes") or 0)
            for files in stats.values()
            for stat in files
        }

    def file_groups_written(self, write: CompletedWrite) -> frozenset[str]:
        """Ids of the file groups that the commit wrote to."""
        stats = self._content(write).get("partitionToWriteStats") or {}
        return frozenset(str(stat["fileId"]) for files in stats.values() for stat in files)

    def is_append(self, write: CompletedWrite) -> bool:
        """True for a commit that only added files, each with rows of its own alone."""
        return write.action == "commit" and self._content(write).get("operationType") == "BULK_INSERT"

    def removes_rows(self, write: CompletedWrite) -> bool:
        """True for a commit that took rows away: a pull gives nothing of them."""
        return self._content(write).get("operationType") == "DELETE"

    def _sum_of_files(self, write: CompletedWrite, names: tuple[str, ...]) -> int:
        stats = self._content(write).get("partitionToWriteStats") or {}
        return sum(int(stat.get(name) or 0) for files in stats.values() for stat in files for name in names)

    def _is_plan(self, time: Instant, action: str) -> bool:
        """True for what a table service is to do or was doing; a replacecommit may also be a dead writer's."""
        requested = self._files.read(f".hoodie/{time}.{action}.requested") or b""
        return action == "compaction" or b"CLUSTER" in requested

    def _content(self, write: CompletedWrite) -> Mapping[str, Any]:
        if write.time not in self._contents:
            content = self._files.read(f".hoodie/{write.file_name}")
            self._contents[write.time] = json.loads(content) if content else {}
        return self._contents[write.time]

    def newest_metadata(self, key: str, *, up_to: Instant = END) -> str | None:
        """The value of ``key`` in the newest commit, of those up to an instant, that carries it."""
        for write in reversed(self.writes):
            if write.time <= up_to and (value := self.metadata(write).get(key)) is not None:
                return value
        return None

    @property
    def is_archived(self) -> bool:
        """True when older instants were taken off the active timeline."""
        return bool(self._files.list_files(f".hoodie/{self.properties.get('hoodie.archivelog.folder', 'archived')}"))

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """``hoodie.properties`` as a mapping."""
        text = (self._files.read(".hoodie/hoodie.properties") or b"").decode("utf-8", "replace")
        pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): value.strip() for key, value in pairs}

    def check_type(self, declared: str) -> None:
        """Raise TableTypeError unless the table is absent or of the declared type, such as ``merge_on_read``."""
        found = self.properties.get("hoodie.table.type", "none").lower()
        if self.exists and found != declared:
            raise TableTypeError(table=self.table, found=found, declared=declared)

    def check_version(self) -> None:
        """Raise TableVersionError unless the table is absent or of the declared version."""
        has_form = bool(self.properties or self.writes)  # else its creation was cut off
        if self.exists and has_form and self.properties.get("hoodie.table.version") != str(TABLE_VERSION):
            found = self.properties.get("hoodie.table.version", "none")
            raise TableVersionError(table=self.table, found=found, declared=TABLE_VERSION)

    def check_readable(self) -> None:
        """Raise unless Hudi reads the table right.

        Raises:
            TableVersionError: it is there, and not of the declared version.
            CommitTimesError: the files of its commits have lost their times, by which Hudi reads it.
        """
        self.check_version()
        if self.misdated:
            raise CommitTimesError(table=self.table, instants=self.misdated)
