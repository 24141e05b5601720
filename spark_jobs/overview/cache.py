"""What was read of a lake before, by what cannot have changed since: a commit by its file, files by their timeline.

A commit's file never changes its content without changing its time, so what was read of it counts for as long as the
listing has it with the same size and time. Of a local table even the listing counts while its folder has the same time:
every file that comes, goes or is replaced moves it. A folder that changed a moment ago may change again within the
precision of its time, so it is listed again; so is one whose files have lost their times, which a repair sets alone.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TypeVar

from spark_jobs.overview.models import PartitionFiles
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

Kept = TypeVar("Kept")
_PRECISION_NS = 2_000_000_000
"""Some file systems give times in steps of two seconds."""
_MOST_TABLES = 5_000


class LakeCache:
    """Timelines and listings of tables by their paths; the ones that were used longest ago go first."""

    def __init__(self, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns, self._lock = now_ns, Lock()
        self._timelines: OrderedDict[str, tuple[int, Timeline]] = OrderedDict()
        self._files: OrderedDict[str, tuple[Timeline, tuple[PartitionFiles, ...]]] = OrderedDict()
        self._counts: OrderedDict[str, tuple[Timeline, Mapping[str, int]]] = OrderedDict()

    def timeline(self, table: str, path: str) -> Timeline:
        """The table's timeline as it is now."""
        known_stamp, known = self._timelines.get(path, (0, None))
        stamp = self._stamp(path)
        if known and stamp and stamp == known_stamp and not known.misdated:
            return known
        timeline = Timeline(table=table, path=path)
        if known and known.entries == timeline.entries:
            timeline = known  # its commits were read already
        elif known:
            timeline.adopt(known)
        self._keep(self._timelines, path, (stamp, timeline))
        return timeline

    def files(self, layout: TableLayout, timeline: Timeline) -> tuple[PartitionFiles, ...]:
        """The files that a reader of the newest state opens, by partition."""
        known = self._files.get(timeline.path)
        if known and known[0].entries == timeline.entries:
            return known[1]
        return self.list_files(layout, timeline)[1]

    def list_files(self, layout: TableLayout, timeline: Timeline) -> tuple[TableState, tuple[PartitionFiles, ...]]:
        """The same by a listing in any case, which comes with it."""
        state = TableState.of(layout, timeline)
        found = partition_files(state)
        self._keep(self._files, timeline.path, (timeline, found))
        return state, found

    def counts(self, timeline: Timeline, count: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """What was counted of a table's rows as of this timeline."""
        known = self._counts.get(timeline.path)
        if known and known[0].entries == timeline.entries:
            return known[1]
        found = count()
        self._keep(self._counts, timeline.path, (timeline, found))
        return found

    def _stamp(self, path: str) -> int:
        """When the folder of a local timeline changed, long enough ago to be sure; 0 when that says nothing."""
        files = Filesystem(path)
        changed = (files.changed_ns(".hoodie") or 0) if files.is_local else 0
        return changed if changed < self._now_ns() - _PRECISION_NS else 0

    def _keep(self, kept: OrderedDict[str, Kept], path: str, value: Kept) -> None:
        with self._lock:
            kept[path] = value
            kept.move_to_end(path)
            while len(kept) > _MOST_TABLES:
                kept.popitem(last=False)


def partition_files(state: TableState) -> tuple[PartitionFiles, ...]:
    """The files that a reader of the newest state opens, by partition, of a listing."""
    if state.timeline.newest is None:
        return ()
    found: dict[str, tuple[list[int], list[int]]] = {}
    for group in state.live_groups:
        for each in state.read_slices(group):
            base, logs = found.setdefault(group.partition, ([], []))
            base += [each.base.size] if each.base else []
            logs += [log.size for log in each.logs]
    return tuple(
        PartitionFiles(partition=name, base=tuple(base), logs=tuple(logs))
        for name, (base, logs) in sorted(found.items())
        if base or logs
    )


CACHE = LakeCache()
"""Of this process."""
