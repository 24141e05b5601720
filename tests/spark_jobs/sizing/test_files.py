"""The counted files of tables against an oracle that keeps every file and every commit, one by one.

Each commit of the oracle's keyed table adds a log file to every bucket, larger where more keys are; its services follow
the words of docs/services.md, on the files themselves, and look at each bucket alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.sizing.files import MB, History, KeyedFiles, LogFiles


@dataclass
class File:
    bucket: int
    size: float
    is_log: bool = False
    minute: int = 0
    replaced_at: int = 0


def share(bucket: int, buckets: int) -> float:
    """What part of the keys it has: bucket 1 twice those of bucket 0, and so on."""
    return (bucket + 1) / (buckets * (buckets + 1) / 2)


def spread(buckets: int) -> list[tuple[float, float]]:
    return [(1 / buckets, share(bucket, buckets)) for bucket in range(buckets)]


@dataclass
class Oracle:
    targets: ServiceTargets
    buckets: int
    kept: int
    files: list[File] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    commits: int = 0
    minute: int = 0
    timeline: int = 0
    written: float = 0

    @property
    def live(self) -> list[File]:
        return [file for file in self.files if not file.replaced_at]

    def __post_init__(self) -> None:
        self.waiting = [0] * self.buckets

    def write(self, new: float, logs: float) -> None:
        is_first = not self.commits
        self._commit()
        self.minute += MINUTES
        for bucket in range(self.buckets):
            part = share(bucket, self.buckets)
            self.waiting[bucket] += 0 if is_first else new * part
            self._add(bucket, (new if is_first else logs) * part, is_log=not is_first)

    def serve(self) -> None:
        buckets = self.buckets
        while sum(file.size for file in self.live) / buckets > self.targets.bucket_mb * MB:
            buckets *= 2
        if buckets != self.buckets:
            self._rescale(buckets)
        if due := [bucket for bucket in range(self.buckets) if self._is_due(bucket)]:
            self._commit()
            for bucket in due:
                whole = self._base(bucket) + self.waiting[bucket]
                self.waiting[bucket] = 0
                self._replace(bucket)
                self._add(bucket, whole, is_log=False)
        first_kept = self.commits - max(self.kept, self.targets.keep_commits)
        gone = [file for file in self.files if file.replaced_at and file.replaced_at < first_kept]
        if len(gone) >= self.targets.clean_files:
            self.files = [file for file in self.files if file not in gone]
        if self.timeline > self.targets.archive_commits:
            stays = max(self.kept, self.targets.keep_commits, self.targets.archive_commits // 2)
            self.timeline = min(self.timeline, stays)

    def _is_due(self, bucket: int) -> bool:
        """By the part of its log files (a quarter of a MB each at least) in 6 MB at least; their number; their age."""
        logs = [file for file in self.live if file.is_log and file.bucket == bucket]
        if not logs:
            return False
        bytes_ = sum(file.size if file.size > MB / 4 else MB / 4 for file in logs)
        base = self._base(bucket)
        is_large = bytes_ * 100 + 0.01 >= self.targets.compact_log_percent * (base if base > 6 * MB else 6 * MB)
        minutes: float | None = self.targets.compact_minutes
        if minutes is not None:
            grown = minutes * (base / (12 * MB) if base > 12 * MB else 1)
            minutes = min(grown, max(minutes, self.targets.compact_most_minutes))
        is_old = minutes is not None and self.minute - logs[0].minute >= minutes
        return is_large or is_old or len(logs) >= self.targets.compact_log_files

    def _base(self, bucket: int) -> float:
        return sum(file.size for file in self.live if not file.is_log and file.bucket == bucket)

    def _replace(self, bucket: int) -> None:
        for file in self.live:
            if file.bucket == bucket:
                file.replaced_at = self.commits

    def _rescale(self, buckets: int) -> None:
        whole = sum(self._base(bucket) + self.waiting[bucket] for bucket in range(self.buckets))
        self._commit()
        for bucket in range(self.buckets):
            self._replace(bucket)
        self.buckets, self.waiting = buckets, [0] * buckets
        for bucket in range(buckets):
            self._add(bucket, whole * share(bucket, buckets), is_log=False)

    def _add(self, bucket: int, size: float, *, is_log: bool) -> None:
        self.written += size
        self.files.append(File(bucket, size, is_log, self.minute))

    def _commit(self) -> None:
        self.commits += 1
        self.timeline += 1


MINUTES = 5
"""Between two commits."""
targets = st.builds(
    ServiceTargets,
    bucket_mb=st.integers(1, 20),
    compact_log_percent=st.sampled_from([1, 20, 50, 100, 1000]),
    compact_log_files=st.integers(1, 8),
    compact_minutes=st.none() | st.integers(1, 60),
    compact_most_minutes=st.integers(1, 200),
    keep_commits=st.integers(1, 6),
    clean_files=st.integers(1, 30),
    archive_commits=st.integers(1, 25),
)
looks = st.lists(st.integers(1, 4), min_size=1, max_size=15)


@given(targets, looks, st.integers(1, 3), st.integers(0, 12), st.integers(0, 8 * MB), st.integers(1, 4 * MB))
def test_a_keyed_table_has_the_files_of_the_oracle(
    targets: ServiceTargets, looks: list[int], buckets: int, kept: int, new: int, logs: int
):
    history = History(targets=targets, kept_commits=kept, batch_minutes=MINUTES)
    counted = KeyedFiles(history=history, buckets=buckets, spread=spread)
    oracle = Oracle(targets=targets, buckets=buckets, kept=kept)
    for commits in looks:
        counted.write(commits, touched=counted.buckets, new=new, logs=logs)
        for _ in range(commits):
            oracle.write(new, logs)
        counted.serve()
        oracle.serve()
        assert counted.buckets == oracle.buckets
        assert counted.live_files == pytest.approx(len(oracle.live))
        assert counted.listed_files == pytest.approx(len(oracle.files))
        assert counted.base + counted.logs == pytest.approx(sum(file.size for file in oracle.live))
        assert not any(oracle._is_due(bucket) for bucket in range(oracle.buckets))
        assert counted.history.written == pytest.approx(oracle.written)
        assert counted.history.active == oracle.timeline


@given(targets, st.lists(st.dictionaries(st.integers(1, 3), st.integers(1, 400 * MB), min_size=1), max_size=12))
def test_the_log_has_every_byte_once_and_few_small_files(targets: ServiceTargets, commits: list[dict[int, int]]):
    log = LogFiles(history=History(targets=targets, kept_commits=0, batch_minutes=5))
    for sizes in commits:
        log.write(1, {day: float(size) for day, size in sizes.items()})
        log.serve()
        assert max(map(len, log.small.values()), default=0) < targets.cluster_small_files
    small = sum(sum(each) for each in log.small.values())
    landed = sum(sum(sizes.values()) for sizes in commits)
    assert log.bytes == landed
    assert log.large * targets.small_file_mb * MB + small <= landed <= log.large * targets.target_file_mb * MB + small
    assert log.history.written >= landed


def test_small_files_of_the_log_by_hand():
    """Eight files of 20 MB become one of 128 MB and one of 32 MB, which is small no more; the eight stay readable."""
    log = LogFiles(history=History(targets=ServiceTargets(), kept_commits=72, batch_minutes=5))
    for _ in range(7):
        log.write(1, {1: 20.0 * MB})
        log.serve()
    assert (log.live_files, log.clusterings) == (7, 0)
    log.write(1, {1: 20.0 * MB})
    log.serve()
    assert (log.live_files, log.large, log.small, log.clusterings) == (2, 2, {}, 1)
    assert log.listed_files == 10
    assert log.history.written == 2 * 160 * MB


def test_a_write_of_whole_files_leaves_no_small_one():
    log = LogFiles(history=History(targets=ServiceTargets(), kept_commits=72, batch_minutes=5))
    log.write(3, {1: 256.0 * MB, 2: 128.0 * MB + 1})
    assert (log.large, log.small, log.live_files) == (9, {2: [1.0, 1.0, 1.0]}, 12)
