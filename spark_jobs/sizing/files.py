"""The files of tables as commits and services make and remove them: counts and bytes, by the rules of the services.

What is due when is that of storage/services/kinds, of each file group by itself. Buckets with about as many keys are
taken together (``hashing.spread``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spark_jobs.lake_spec.services import LEAST_LOG, OpenLogs, ServiceTargets
from spark_jobs.sizing.hashing import spread

MB = 1024 * 1024


@dataclass(slots=True, kw_only=True)
class History:
    """The timeline of a table, and the files that only older states need, each with the commit that replaced them."""

    targets: ServiceTargets
    kept_commits: int
    """Commits of the hours that stay readable."""
    batch_minutes: int
    """Between two commits of the writer."""
    commits: int = 0
    active: int = 0
    written: float = 0
    most_files: float = 0
    retired: deque[tuple[int, float]] = field(default_factory=deque)

    @property
    def retired_files(self) -> float:
        return sum(files for _, files in self.retired)

    def commit(self, count: int, written: float) -> None:
        """Commits that replace nothing."""
        self.commits += count
        self.active += count
        self.written += written

    def replace(self, files: float, written: float) -> None:
        """The commit of a service: ``files`` are of older states alone from now on."""
        self.commit(1, written)
        self.retired.append((self.commits, files))

    def clean(self) -> None:
        """Take away what no kept state needs, when it is enough to be worth it."""
        kept_from = self.commits - max(self.kept_commits, self.targets.keep_commits)
        gone = [files for replaced_at, files in self.retired if replaced_at < kept_from]
        if sum(gone) >= self.targets.clean_files:
            for _ in gone:
                self.retired.popleft()

    def archive(self) -> None:
        """Take old commits off the timeline when there are too many; those of the kept states stay."""
        if self.active > self.targets.archive_commits:
            needed = max(self.kept_commits, self.targets.keep_commits)
            self.active = min(self.active, max(needed, self.targets.archive_commits // 2))


@dataclass(slots=True, kw_only=True)
class GroupFiles:
    """File groups of a table that are alike: as many, with this part of the table's bytes, of each a base file."""

    count: float
    part: float
    base: float = 0
    """Bytes of base files."""
    new: float = 0
    """Bytes that base files will have more when log files are merged into them."""
    logs: float = 0
    """Bytes of log files."""
    counted: float = 0
    """The same, as compaction counts them: a small file for more."""
    log_files: float = 0
    """Of one file group."""
    lacking: int = 0
    """Commits that base files lack."""

    @property
    def live_files(self) -> float:
        """That a reader opens."""
        return self.count * (1 + self.log_files)

    def write(self, commits: int, *, touched: float, new: float, logs: float) -> None:
        """Commits to ``touched`` of them, a log file each."""
        if touched:
            self.counted += commits * touched * max(logs / touched, LEAST_LOG)
        self.log_files += commits * touched / self.count
        self.new += commits * new
        self.logs += commits * logs
        self.lacking += commits

    def is_due(self, targets: ServiceTargets, batch_minutes: int) -> bool:
        """By the log files of one of them, or by the age of the oldest commit that it lacks."""
        minutes = targets.minutes_for(self.base / self.count)
        if minutes is not None and self.lacking and (self.lacking - 1) * batch_minutes >= minutes:
            return True
        return OpenLogs(base=self.base / self.count, counted=self.counted / self.count, files=self.log_files).is_due(
            targets
        )

    def merge(self) -> None:
        """New base files take the place of everything."""
        self.base += self.new
        self.new = self.logs = self.counted = self.log_files = 0
        self.lacking = 0


@dataclass(slots=True, kw_only=True)
class KeyedFiles:
    """A merge-on-read table in buckets: a base file in each, and log files over it."""

    history: History
    buckets: int
    spread: Callable[[int], Sequence[tuple[float, float]]] = spread
    """How keys fall into so many buckets: shares of the buckets, and what part of the keys each of these has."""
    groups: list[GroupFiles] = field(init=False)
    compactions: int = 0
    rescales: int = 0

    def __post_init__(self) -> None:
        self._make_groups()

    @property
    def base(self) -> float:
        """Bytes of base files."""
        return sum(group.base for group in self.groups)

    @property
    def logs(self) -> float:
        """Bytes of log files."""
        return sum(group.logs for group in self.groups)

    @property
    def log_files(self) -> float:
        """Of the file group that has most."""
        return max(group.log_files for group in self.groups)

    @property
    def live_files(self) -> float:
        """That a reader opens."""
        return sum(group.live_files for group in self.groups)

    @property
    def listed_files(self) -> float:
        """That a listing shows."""
        return self.live_files + self.history.retired_files

    def write(self, commits: int, *, touched: float, new: float, logs: float) -> None:
        """Commits of so many bytes each, to ``touched`` of the buckets; the first of a table writes base files."""
        if not self.history.commits:
            self._put(new)
            self.history.commit(1, new)
            commits -= 1
        for group in self.groups:
            share = group.count / self.buckets
            group.write(commits, touched=touched * share, new=new * group.part, logs=logs * group.part)
        self.history.commit(commits, commits * logs)

    def serve(self) -> None:
        """Every service that is due, in their order."""
        targets = self.history.targets
        wanted = self.buckets
        while (self.base + self.logs) / wanted > targets.bucket_mb * MB:
            wanted *= 2
        if wanted > self.buckets:
            self._merge(self.groups)
            whole, self.buckets, self.rescales = self.base, wanted, self.rescales + 1
            self._make_groups()
            self._put(whole)
        if due := [group for group in self.groups if group.is_due(targets, self.history.batch_minutes)]:
            self._merge(due)
            self.compactions += 1
        self.history.most_files = max(self.history.most_files, self.listed_files)
        self.history.clean()
        self.history.archive()

    def _merge(self, groups: Sequence[GroupFiles]) -> None:
        replaced = sum(group.live_files for group in groups)
        for group in groups:
            group.merge()
        self.history.replace(replaced, sum(group.base for group in groups))

    def _make_groups(self) -> None:
        self.groups = [GroupFiles(count=self.buckets * share, part=part) for share, part in self.spread(self.buckets)]

    def _put(self, base: float) -> None:
        """Into base files."""
        for group in self.groups:
            group.base += base * group.part


@dataclass(slots=True, kw_only=True)
class LogFiles:
    """The event log: a partition a day, files only ever added, small ones put together."""

    history: History
    small: dict[int, list[float]] = field(default_factory=dict)
    """Sizes of small files, by day."""
    large: int = 0
    bytes: float = 0
    clusterings: int = 0

    @property
    def live_files(self) -> int:
        """That a reader of all of it opens."""
        return self.large + sum(map(len, self.small.values()))

    @property
    def listed_files(self) -> float:
        """That a listing shows."""
        return self.live_files + self.history.retired_files

    def write(self, commits: int, sizes: dict[int, float]) -> None:
        """Commits of so many bytes for each day: a task writes a day, in files of up to the target's size."""
        self.history.commit(commits, commits * sum(sizes.values()))
        for day, size in sizes.items():
            self.bytes += commits * size
            self._add(day, size, times=commits)

    def serve(self) -> None:
        """Every service that is due."""
        targets = self.history.targets
        due = [day for day, small in self.small.items() if len(small) >= targets.cluster_small_files]
        for day in due:
            merged = self.small.pop(day)
            self.history.retired.append((self.history.commits + 1, len(merged)))
            self.history.written += sum(merged)
            self._add(day, sum(merged))
        if due:
            self.clusterings += 1
            self.history.commit(1, 0)
        self.history.most_files = max(self.history.most_files, self.listed_files)
        self.history.clean()
        self.history.archive()

    def _add(self, day: int, size: float, *, times: int = 1) -> None:
        targets = self.history.targets
        full, rest = divmod(size, targets.target_file_mb * MB)
        self.large += int(full) * times
        if rest >= targets.small_file_mb * MB:
            self.large += times
        elif rest > 0:
            self.small.setdefault(day, []).extend([rest] * times)
