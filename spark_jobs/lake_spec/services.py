"""Table services and what a lake wants of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import show


class Service(StrEnum):
    """Services in the order in which a table gets them."""

    RESCALE = "rescale"
    """A keyed table is rewritten in more buckets, when it has outgrown those it was made with."""
    COMPACTION = "compaction"
    """Log files of a merge-on-read table are merged into base files."""
    CLUSTERING = "clustering"
    """Small files of an append-only table are written together into larger ones."""
    CLEAN = "clean"
    """Files that no kept state of the table needs are removed."""
    ARCHIVE = "archive"
    """Old instants leave the active timeline, whose length every reader and writer pays for."""
    INDEX = "index"
    """Folders of the row index of the lake's keyed tables are merged: a service of the log, of which there is one."""


_MB = 1024 * 1024
LEAST_LOG = _MB // 4
"""Bytes that a log file counts for at least: to open a small one costs a reader as much."""
LEAST_BASE = 6 * _MB
"""Bytes that a base file counts for at least: without it, a table of ten rows would be compacted after each commit."""
FRESH_BASE = 12 * _MB
"""Bytes of a base file that is as fresh as ``compact_minutes`` says; to write a larger one as often would cost more."""
_SAME = 1e-9
"""Numbers of files of the simulation of `sizing` are sums of shares, that exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTargets:
    """When the services of a table are due, and how much of its past they leave."""

    bucket_mb: int = 512
    """Rescale is due when the buckets of a partition are larger than this on average; it doubles them until not."""
    compact_log_percent: int = 50
    """A file group is compacted when its log files have so many percent of its base file's bytes (``OpenLogs``)."""
    compact_log_files: int = 288
    """A file group is compacted when it has so many log files: each commit adds one, each reader merges them."""
    compact_minutes: int | None = 60
    """A file group is compacted when its base file lacks a write of this age, which engines that read base files alone
    do not see yet: one of up to 12 MB, and a larger one after as much longer. Null: by its log files alone."""
    compact_most_minutes: int = 1440
    """After which a base file lacks no write, however large it is."""
    cluster_small_files: int = 8
    """Clustering is due when a partition has so many small files."""
    small_file_mb: int = 32
    """A file below this size is small."""
    target_file_mb: int = 128
    """Clustering makes files of up to this size."""
    sort_by: tuple[str, ...] = ()
    """Columns that clustering sorts by, so that readers who filter by them skip files."""
    keep_hours: int = 6
    """States of the table up to this age stay readable."""
    keep_commits: int = 10
    """The newest states that stay readable whatever their age."""
    clean_files: int = 12
    """Clean is due when so many files can go."""
    archive_commits: int = 240
    """Archive is due when the active timeline has more commits than this; it leaves at least half of them."""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def minutes_for(self, base: float) -> float | None:
        """For how many minutes a base file of so many bytes may lack a write; None for any time."""
        if self.compact_minutes is None:
            return None
        minutes = self.compact_minutes * max(1.0, base / FRESH_BASE)
        return min(minutes, max(self.compact_minutes, self.compact_most_minutes))

    def _mistakes(self) -> Iterator[ContractError]:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, int) and value < 1:
                yield ContractError(f"services: {name} is {value}; give at least 1", at=(name,))
        if self.compact_minutes is not None and type(self.compact_minutes) is not int:
            yield ContractError(
                f"services: compact_minutes is {show(self.compact_minutes)}; give a whole number of minutes, or null",
                at=("compact_minutes",),
            )
        if self.small_file_mb > self.target_file_mb:
            yield ContractError(
                f"services: files of up to {self.target_file_mb} MB would be small (small_file_mb "
                f"{self.small_file_mb}); make small_file_mb smaller",
                at=("small_file_mb",),
            )
        for at, column in enumerate(self.sort_by):
            yield from wrong_identifier(column, "services: sort_by", at=("sort_by", at))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLogs:
    """What a reader of one file group opens; of the service, and of the simulation in `sizing`, which has mean groups.

    ``counted`` is the bytes of the log files, where each counts for at least ``LEAST_LOG``.
    """

    base: float
    counted: float
    files: float

    @property
    def percent(self) -> float:
        """Of the log files by the base file. So a small group is due at twelve log files, one of 144 MB at 288."""
        return 100 * self.counted / max(self.base, LEAST_BASE)

    def is_due(self, targets: ServiceTargets) -> bool:
        """By the share of log files, or by their number."""
        return (
            self.percent + _SAME >= targets.compact_log_percent or self.files + _SAME >= targets.compact_log_files
        ) and self.files > 0
