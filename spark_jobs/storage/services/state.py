"""What the services of a table look at: its timeline, and the files of its listing by what has become of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.services import LEAST_LOG, OpenLogs
from spark_jobs.storage.filesystem import FileEntry
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.table_files import FileGroup, Slice, list_file_groups
from spark_jobs.storage.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergedGroup:
    """A file group with log files: bytes of its base file, 0 without one, and of each log file.

    ``since`` is the oldest write that its base file may lack, at the latest; "" when no finished write is in the logs.
    """

    partition: str
    id: str
    base: int
    logs: tuple[int, ...]
    since: str

    @property
    def log_bytes(self) -> int:
        """Of all its log files."""
        return sum(self.logs)

    @property
    def open_logs(self) -> OpenLogs:
        """What decides whether it is compacted."""
        counted = sum(max(size, LEAST_LOG) for size in self.logs)
        return OpenLogs(base=self.base, counted=counted, files=len(self.logs))


@dataclass(frozen=True, kw_only=True)
class TableState:
    """One table as it was listed; the timeline was listed before the files."""

    layout: TableLayout
    timeline: Timeline
    groups: tuple[FileGroup, ...]

    @classmethod
    def look(cls, layout: TableLayout, path: str) -> TableState:
        """List a table; TableVersionError when it is of another version."""
        timeline = Timeline(table=layout.name, path=path)
        timeline.check_version()
        return cls.of(layout, timeline)

    @classmethod
    def of(cls, layout: TableLayout, timeline: Timeline) -> TableState:
        """The same, with a timeline that was listed before."""
        return cls(layout=layout, timeline=timeline, groups=tuple(list_file_groups(timeline.path)))

    @cached_property
    def replaced(self) -> Mapping[tuple[str, str], str]:
        """Partition and id of file groups that a commit of the active timeline replaced, and its instant."""
        return self.timeline.replaced_groups

    @property
    def live_groups(self) -> Iterator[FileGroup]:
        """Those that no commit replaced."""
        return (group for group in self.groups if (group.partition, group.id) not in self.replaced)

    def read_slices(self, group: FileGroup) -> tuple[Slice, ...]:
        """What a reader opens of a live group: its newest base file of a finished commit, and all log files since.

        These are in several slices while a compaction is planned: what is written meanwhile begins a new one.
        """
        finished = [at for at, _ in self._finished(group)]
        return tuple(
            each if at in finished else replace(each, base=None)
            for at, each in enumerate(group.slices)
            if at >= max(finished, default=0)
        )

    @cached_property
    def unmerged_groups(self) -> tuple[UnmergedGroup, ...]:
        """The live groups that have log files."""
        return tuple(filter(None, map(self._unmerged, self.live_groups)))

    def _unmerged(self, group: FileGroup) -> UnmergedGroup | None:
        slices = self.read_slices(group)
        logs = tuple(log.size for each in slices for log in each.logs)
        if not logs:
            return None
        base = sum(each.base.size for each in slices if each.base)
        since = min(filter(None, (self._first_write(each) for each in slices if each.logs)), default="")
        return UnmergedGroup(partition=group.partition, id=group.id, base=base, logs=logs, since=since)

    def _first_write(self, slice_: Slice) -> str:
        """The first write that can be in the slice's log files.

        A log file is named by its slice, and not by its write: that is one after the slice's own, or this
        one when the slice has no base file.
        """
        times, is_own = [write.time for write in self.timeline.writes], slice_.base is None
        return next((time for time in times if time > slice_.instant or (is_own and time == slice_.instant)), "")

    def _finished(self, group: FileGroup) -> Iterator[tuple[int, Slice]]:
        """The slices that have a base file of a finished commit, with their places."""
        for at, each in enumerate(group.slices):
            if each.base and self.timeline.is_finished(each.instant):
                yield at, each

    def read_bytes(self) -> Mapping[str, int]:
        """Bytes of the files that a reader of the newest state opens, by partition."""
        found: Counter[str] = Counter()
        for group in self.live_groups:
            found[group.partition] += sum(file.size for slice_ in self.read_slices(group) for file in slice_.files)
        return found

    def small_files(self, below_bytes: int) -> Mapping[str, int]:
        """How many base files smaller than that each partition has, in live groups."""
        bases = ((group, slice_.base) for group in self.live_groups for slice_ in self.read_slices(group))
        return Counter(group.partition for group, base in bases if base and base.size < below_bytes)

    def superseded(self, earliest: Instant) -> Iterator[FileEntry]:
        """Files that no state of the table as of ``earliest`` or later needs.

        As Hudi cleans: of each group the slices before the newest one that began before ``earliest``, and all of a
        group that was replaced before it.
        """
        for group in self.groups:
            replaced_at = self.replaced.get((group.partition, group.id))
            if replaced_at is not None and replaced_at < earliest:
                yield from (file for slice_ in group.slices for file in slice_.files)
                continue
            newest = max((at for at, each in self._finished(group) if each.instant < earliest), default=0)
            yield from (file for slice_ in group.slices[:newest] for file in slice_.files)
