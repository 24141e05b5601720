"""The files of tables as commits and services make and remove them: counts and bytes, by the rules of the services.

What is due when is that of storage/services/kinds; every bucket is taken for the mean one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from spark_jobs.lake_spec.services import ServiceTargets

MB = 1024 * 1024
ALL = 1e-9
"""Sums of shares are that exact."""


@dataclass(slots=True, kw_only=True)
class History:
    """The timeline of a table, and the files that only older states need, each with the commit that replaced them."""

    targets: ServiceTargets
    kept_commits: int
    """Commits of the hours that stay readable."""
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
class KeyedFiles:
    """A merge-on-read table in buckets: a base file in each, and log files over it."""

    history: History
    buckets: int
    base: float = 0
    """Bytes of base files."""
    new: float = 0
    """Bytes that base files will have more when log files are merged into them."""
    logs: float = 0
    """Bytes of log files."""
    log_files: float = 0
    """Of one file group."""
    compactions: int = 0
    rescales: int = 0

    @property
    def live_files(self) -> float:
        """That a reader opens."""
        return self.buckets * (1 + self.log_files)

    @property
    def listed_files(self) -> float:
        """That a listing shows."""
        return self.live_files + self.history.retired_files

    def write(self, commits: int, *, touched: float, new: float, logs: float) -> None:
        """Commits of so many bytes each, to ``touched`` of the buckets; the first of a table writes base files."""
        if not self.history.commits:
            self.base += new
            self.history.commit(1, new)
            commits -= 1
        self.new += commits * new
        self.logs += commits * logs
        self.log_files += commits * touched / self.buckets
        self.history.commit(commits, commits * logs)

    def serve(self) -> None:
        """Every service that is due, in their order."""
        targets = self.history.targets
        wanted = self.buckets
        while (self.base + self.logs) / wanted > targets.bucket_mb * MB:
            wanted *= 2
        if wanted > self.buckets:
            self._merge()
            self.buckets, self.rescales = wanted, self.rescales + 1
        if self.log_files + ALL >= targets.compact_log_files:
            self._merge()
            self.compactions += 1
        self.history.most_files = max(self.history.most_files, self.listed_files)
        self.history.clean()
        self.history.archive()

    def _merge(self) -> None:
        self.base += self.new
        self.history.replace(self.live_files, self.base)
        self.new = self.logs = self.log_files = 0


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
