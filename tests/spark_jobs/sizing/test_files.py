"""The counted files of tables against an oracle that keeps every file and every commit, one by one.

Each commit of the oracle's keyed table adds a log file to every bucket; its services follow the words of
docs/services.md, on the files themselves.
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
    replaced_at: int = 0


@dataclass
class Oracle:
    targets: ServiceTargets
    buckets: int
    kept: int
    files: list[File] = field(default_factory=list)
    waiting: float = 0
    commits: int = 0
    timeline: int = 0
    written: float = 0

    @property
    def live(self) -> list[File]:
        return [file for file in self.files if not file.replaced_at]

    def write(self, new: float, logs: float) -> None:
        is_first = not self.commits
        self._commit()
        size = new if is_first else logs
        self.waiting += 0 if is_first else new
        self._add(size, is_log=not is_first)

    def serve(self) -> None:
        buckets = self.buckets
        while sum(file.size for file in self.live) / buckets > self.targets.bucket_mb * MB:
            buckets *= 2
        if buckets != self.buckets:
            self._merge(buckets)
        if max(self._log_files(bucket) for bucket in range(self.buckets)) >= self.targets.compact_log_files:
            self._merge(self.buckets)
        first_kept = self.commits - max(self.kept, self.targets.keep_commits)
        gone = [file for file in self.files if file.replaced_at and file.replaced_at < first_kept]
        if len(gone) >= self.targets.clean_files:
            self.files = [file for file in self.files if file not in gone]
        if self.timeline > self.targets.archive_commits:
            stays = max(self.kept, self.targets.keep_commits, self.targets.archive_commits // 2)
            self.timeline = min(self.timeline, stays)

    def _log_files(self, bucket: int) -> int:
        return sum(1 for file in self.live if file.is_log and file.bucket == bucket)

    def _merge(self, buckets: int) -> None:
        whole = sum(file.size for file in self.live if not file.is_log) + self.waiting
        self._commit()
        for file in self.live:
            file.replaced_at = self.commits
        self.buckets, self.waiting = buckets, 0
        self._add(whole, is_log=False)

    def _add(self, size: float, *, is_log: bool) -> None:
        self.written += size
        self.files += [File(bucket, size / self.buckets, is_log) for bucket in range(self.buckets)]

    def _commit(self) -> None:
        self.commits += 1
        self.timeline += 1


targets = st.builds(
    ServiceTargets,
    bucket_mb=st.integers(1, 20),
    compact_log_files=st.integers(1, 8),
    keep_commits=st.integers(1, 6),
    clean_files=st.integers(1, 30),
    archive_commits=st.integers(1, 25),
)
looks = st.lists(st.integers(1, 4), min_size=1, max_size=15)


@given(targets, looks, st.integers(1, 3), st.integers(0, 12), st.integers(0, 8 * MB), st.integers(1, 4 * MB))
def test_a_keyed_table_has_the_files_of_the_oracle(
    targets: ServiceTargets, looks: list[int], buckets: int, kept: int, new: int, logs: int
):
    counted = KeyedFiles(history=History(targets=targets, kept_commits=kept), buckets=buckets)
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
        assert counted.history.written == pytest.approx(oracle.written)
        assert counted.history.active == oracle.timeline


@given(targets, st.lists(st.dictionaries(st.integers(1, 3), st.integers(1, 400 * MB), min_size=1), max_size=12))
def test_the_log_has_every_byte_once_and_few_small_files(targets: ServiceTargets, commits: list[dict[int, int]]):
    log = LogFiles(history=History(targets=targets, kept_commits=0))
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
    log = LogFiles(history=History(targets=ServiceTargets(), kept_commits=72))
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
    log = LogFiles(history=History(targets=ServiceTargets(), kept_commits=72))
    log.write(3, {1: 256.0 * MB, 2: 128.0 * MB + 1})
    assert (log.large, log.small, log.live_files) == (9, {2: [1.0, 1.0, 1.0]}, 12)
