"""The timeline of a table of version 6, read from ``.hoodie`` without Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_jobs.contracts.errors import TableTypeError, TableVersionError
from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.storage.filesystem import Filesystem

TABLE_VERSION = 6
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_FILE = re.compile(r"^(?P<time>\d{17})\.(?:(?P<action>[a-z]+)(?:\.(?P<state>requested|inflight))?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One completed write on the timeline; ``time`` is when it was requested, as version 6 names it."""

    time: str
    action: str

    @property
    def file_name(self) -> str:
        """The name of its commit file below ``.hoodie``."""
        return f"{self.time}.{self.action}"


class Timeline:
    """What ``.hoodie`` of one table said when it was listed. An absent table has an empty timeline."""

    def __init__(self, *, table: str, path: str) -> None:
        self.table, self.path = table, path
        self._files = Filesystem(path)
        self._contents: dict[str, Mapping[str, Any]] = {}
        completed: dict[str, str] = {}
        begun: dict[str, str] = {}
        names = [entry.path.rsplit("/", 1)[-1] for entry in self._files.list_files(".hoodie")]
        for match in filter(None, map(_FILE.match, names)):
            time, action, state = match["time"], match["action"], match["state"]
            if state is None and action != "inflight":
                completed[time] = action
            else:
                # Version 6 names a commit's second state <time>.inflight, without its action.
                begun.setdefault(time, "commit" if action == "inflight" else action)
        self.exists = "hoodie.properties" in names
        self.writes = tuple(Instant(time=t, action=a) for t, a in sorted(completed.items()) if a in _WRITES)
        pending = {time: action for time, action in begun.items() if time not in completed}
        # A pending replacecommit adds no events: consumers need not stop short of it.
        self.pending_writes = tuple(sorted(t for t, a in pending.items() if a in ("commit", "deltacommit")))
        self.unfinished = tuple(sorted(t for t, a in pending.items() if a in _WRITES))
        self.has_begun = bool(names)

    @property
    def last(self) -> str | None:
        """The newest completed write, or None."""
        return self.writes[-1].time if self.writes else None

    @property
    def readable_up_to(self) -> str:
        """The newest completed write below the first pending one: what a consumer may pull up to."""
        barrier = self.pending_writes[0] if self.pending_writes else "9" * 17
        return max((instant.time for instant in self.writes if instant.time < barrier), default=BEGINNING)

    def holds(self, instant: str) -> bool:
        """True when everything after ``instant`` is still on the active timeline."""
        return bool(self.writes) and self.writes[0].time <= instant <= self.writes[-1].time

    def metadata(self, instant: Instant) -> Mapping[str, str]:
        """The extra metadata of a commit."""
        extra: Mapping[str, str] = self._content(instant).get("extraMetadata") or {}
        return extra

    def rows_written(self, instant: Instant) -> int:
        """Rows the commit wrote, by its own statistics."""
        stats = self._content(instant).get("partitionToWriteStats") or {}
        return sum(int(stat.get("numWrites") or 0) for files in stats.values() for stat in files)

    def _content(self, instant: Instant) -> Mapping[str, Any]:
        if instant.time not in self._contents:
            content = self._files.read(f".hoodie/{instant.file_name}")
            self._contents[instant.time] = json.loads(content) if content else {}
        return self._contents[instant.time]

    def newest_metadata(self, key: str) -> str | None:
        """The value of ``key`` in the newest commit that carries it."""
        for instant in reversed(self.writes):
            if (value := self.metadata(instant).get(key)) is not None:
                return value
        return None

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
        if self.exists and self.properties.get("hoodie.table.version") != str(TABLE_VERSION):
            found = self.properties.get("hoodie.table.version", "none")
            raise TableVersionError(table=self.table, found=found, declared=TABLE_VERSION)
