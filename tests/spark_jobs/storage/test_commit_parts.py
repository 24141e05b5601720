"""Commits read in parts: tables made by hand, whose commits have files of any size in two partitions.

What a reader gets is compared with a list of (commit, path) in the order in which it must come.
"""

from __future__ import annotations

import random
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.checkpoints import Checkpoint, furthest_behind
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.storage.commit_files import missing_files
from spark_jobs.storage.reader import plan_pull
from tests.support.made_logs import File, MadeLog
from tests.support.made_tables import at

commit_sizes = st.lists(st.lists(st.integers(0, 60), max_size=6), min_size=1, max_size=5)


@given(commit_sizes, st.integers(1, 90), st.sets(st.integers(1, 5)))
def test_parts_have_every_file_once_in_order_and_no_more_than_the_bound(
    commits: list[list[int]], most: int, served: set[int]
) -> None:
    """Commits are 10, 20, …; between some of them something was clustered."""
    with tempfile.TemporaryDirectory() as folder:
        log = MadeLog(Path(folder) / "log")
        for number, sizes in enumerate(commits, start=1):
            log.commit(10 * number, sizes)
            if number in served:
                log.serve(10 * number + 5)
        pulls = list(log.pulls(most))
        assert [file for pull in pulls for file in log.files_of(pull)] == list(log.sizes)
        for pull in pulls:
            read = [log.sizes[file] for file in log.files_of(pull)]
            if pull.part:
                assert sum(read) <= most or len(read) == 1
                continue
            of_last = [log.sizes[file] for file in log.files_of(pull) if at(file[0]) == pull.window.up_to]
            assert sum(read) - sum(of_last) <= most
            assert sum(of_last) <= most or len(of_last) == 1, "or it is read in parts"
        for pull, following in pairwise(pulls):
            assert next(log.pulls(most, after=pull.checkpoint)) == following, "as after a crash"


@given(commit_sizes, st.randoms(use_true_random=False))
def test_with_any_bound_each_time_nothing_is_skipped_and_nothing_comes_twice(
    commits: list[list[int]], rng: random.Random
) -> None:
    """A setting may change between two runs, or be taken away."""
    with tempfile.TemporaryDirectory() as folder:
        log, files, has_more = MadeLog(Path(folder) / "log"), list[File](), True
        after: str = BEGINNING
        for number, sizes in enumerate(commits, start=1):
            log.commit(number, sizes)
        while has_more:
            pull = plan_pull(log.timeline, after=after, most_bytes=rng.choice([None, 1, 25, 60, 200]))
            files += log.files_of(pull)
            after, has_more = pull.checkpoint, pull.has_more
        assert files == list(log.sizes)
        assert after == log.timeline.readable_up_to


@given(st.lists(st.integers(1, 60), min_size=2, max_size=8), st.integers(1, 60), st.integers(1, 60))
def test_two_tables_at_different_files_of_a_commit_go_on_from_the_one_behind(
    sizes: list[int], one: int, other: int
) -> None:
    """One begins before a clustering between the commits is done, the other one after it."""
    with tempfile.TemporaryDirectory() as folder:
        log = MadeLog(Path(folder) / "log")
        log.commit(10, [])
        log.commit(20, [*sizes, 99])
        first = plan_pull(log.timeline, after=at(10), most_bytes=one)
        log.serve(15)
        second = plan_pull(log.timeline, after=at(15), most_bytes=other)
        behind = furthest_behind([first.checkpoint, second.checkpoint])
        rest = [file for pull in log.pulls(1, after=behind) for file in log.files_of(pull)]
        read = min(log.files_of(first), log.files_of(second), key=len)
        assert [*read, *rest] == list(log.sizes)


@pytest.fixture
def log(tmp_path: Path) -> MadeLog:
    """Three files of 40 bytes each in commit 10, and one in commit 20."""
    made = MadeLog(tmp_path / "log")
    made.commit(10, [40, 40, 40])
    made.commit(20, [40])
    return made


def test_files_that_went_are_reported_and_the_commit_is_read_again(log: MadeLog) -> None:
    after = plan_pull(log.timeline, after=BEGINNING, most_bytes=50).checkpoint
    log.serve(30)
    gone = next(path for number, path in log.sizes if number == 10 and "02_" in path)
    (log.folder / gone).unlink()
    assert missing_files(log.timeline, [path for _, path in log.sizes]) == [gone]
    pull = plan_pull(log.timeline, after=after, most_bytes=50)
    assert pull.resync_reason == f"1 files of commit {at(10)} of log are no longer there"
    assert (pull.part, pull.window.after, pull.window.up_to) == (None, BEGINNING, at(10))
    assert pull.has_more
    assert [each.window.up_to for each in log.pulls(50, after=pull.checkpoint)] == [at(30)]


def test_a_commit_is_read_as_a_whole_when_its_files_went_before_it_was_begun(log: MadeLog) -> None:
    (log.folder / next(iter(log.sizes))[1]).unlink()
    pull = plan_pull(log.timeline, after=BEGINNING, most_bytes=50)
    assert (pull.part, pull.window.up_to, pull.resync_reason) == (None, at(10), "")


@pytest.mark.parametrize("after", [BEGINNING, at(5)])
def test_a_rewritten_table_is_read_from_its_start_whatever_was_begun(log: MadeLog, after: Instant) -> None:
    """What was rewritten may have taken rows of a commit away that a part of it would still give."""
    log.commit(5, [])
    begun = plan_pull(log.timeline, after=at(5), most_bytes=50)
    assert begun.part
    place = Checkpoint.parse(begun.checkpoint)
    log.serve(30, operation="INSERT_OVERWRITE")
    known = str(Checkpoint(instant=after, begun=place.begun, files=place.files, listing=place.listing))
    pull = plan_pull(log.timeline, after=known, most_bytes=50)
    assert (pull.part, pull.window.after) == (None, BEGINNING)
    assert bool(pull.resync_reason) is (after != BEGINNING)


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_commit_of_which_rows_were_written_again_is_read_as_a_whole(log: MadeLog, is_begun: bool) -> None:
    """An erasure rewrites rows of old files: what these files still have must not come after it, or instead."""
    log.commit(5, [])
    place = plan_pull(log.timeline, after=at(5), most_bytes=50).checkpoint if is_begun else at(5)
    again = [{"path": f"day=1/1002_0-7-7_{at(30)}.parquet", "totalWriteBytes": 40}]
    log.table.commits(30, action="commit", operationType="UPSERT", partitionToWriteStats={"day=1": again})
    pull = plan_pull(log.timeline, after=place, most_bytes=50)
    assert (pull.part, pull.window.after, pull.window.up_to) == (None, at(5), at(10))
    reason = f"rows of commit {at(10)} of log were written again since a part of it was read"
    assert pull.resync_reason == (reason if is_begun else "")
    assert pull.has_more


@pytest.mark.parametrize("changed", ["gone", "other files", "behind a pending write"])
def test_progress_in_another_commit_counts_for_nothing(log: MadeLog, changed: str) -> None:
    """After a restore the log may have other commits: what is known of its last good instant counts."""
    log.commit(5, [])
    place = Checkpoint.parse(plan_pull(log.timeline, after=at(5), most_bytes=50).checkpoint)
    if changed == "gone":
        (log.folder / f".hoodie/{at(10)}.commit").unlink()
    elif changed == "other files":
        log.commit(10, [40, 40, 40, 40])
    else:
        log.table.pending(7, "commit")
    pull = plan_pull(log.timeline, after=str(place), most_bytes=50)
    assert pull.window.after == at(5)
    assert pull.part is None or pull.part.done == 1


def test_rows_of_archived_commits_come_before_the_first_part(log: MadeLog) -> None:
    """They are found in the whole table: with the first commit that is there, read in one piece."""
    archived = log.folder / ".hoodie/archived"
    archived.mkdir()
    (archived / "commits").touch()
    first, *rest = log.pulls(50)
    assert (first.part, first.window.after, first.window.up_to) == (None, BEGINNING, at(10))
    assert [file for pull in rest for file in log.files_of(pull)] == list(log.sizes)[3:]


def test_commits_with_log_files_and_of_services_are_read_as_a_whole(tmp_path: Path) -> None:
    log = MadeLog(tmp_path / "log")
    merged = [{"path": f".{n}_{at(10)}.log.1_0-1-2", "totalWriteBytes": 40} for n in range(3)]
    log.table.commits(10, partitionToWriteStats={"": merged})
    log.commit(20, [40, 40], action="replacecommit", operationType="CLUSTER")
    log.commit(30, [40, 40], operationType="COMPACT")
    assert [(pull.part, pull.window.up_to) for pull in log.pulls(50)] == [
        (None, at(10)),
        (None, at(20)),
        (None, at(30)),
    ]
