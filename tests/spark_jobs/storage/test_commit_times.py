"""When commits ended, by the times of their files: histories of one table made by chance, as they are and copied.

A history is a row of writes, one after the other, and of services that end beside later writes. The oracle looks at
every two of them.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import END, Instant, format_instant, moment_of
from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.commit_times import (
    MOVED,
    CompletedWrite,
    find_early,
    find_misdated,
    is_in_order,
    put_in_order,
    set_late_enough,
)
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline

START = datetime(2020, 1, 1, tzinfo=UTC)
MERGED, COPIED = ("deltacommit", "commit"), ("commit", "replacecommit")
"""What writes a table of a type, and what its service is called."""


def nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000) * 1_000_000


def history(kinds: tuple[str, str], steps: list[tuple[int, int, bool]]) -> list[CompletedWrite]:
    """Of each step: seconds until it begins, how long it takes, and whether it is a service.

    A service is planned between two writes and may end beside later ones, but before the next service is planned.
    """
    made: list[CompletedWrite] = []
    now, free = START, START
    for wait, takes, is_service in steps:
        begun = max(now, free) if is_service else now
        begun += timedelta(seconds=wait + 1)
        ended = begun + timedelta(seconds=takes + 1)
        made.append(
            CompletedWrite(time=format_instant(begun), action=kinds[is_service], modified_ns=nanoseconds(ended))
        )
        if is_service:
            free, now = ended, begun
        else:
            now = ended
    return made


def oracle(writes: list[CompletedWrite], kinds: tuple[str, str]) -> set[Instant]:
    """Whoever ended after something began that had waited for it: a write for whatever came, a service for its like."""
    return {
        one.time
        for at, one in enumerate(writes)
        for other in writes[at + 1 :]
        if one.modified_ns >= nanoseconds(moment_of(other.time))
        and (one.action == kinds[0] or other.action == kinds[1])
    }


steps = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40), st.booleans()), max_size=8)


@given(steps=steps, kinds=st.sampled_from((MERGED, COPIED)), is_local=st.booleans())
def test_nothing_is_reported_of_a_table_whose_writers_came_one_after_the_other(
    steps: list[tuple[int, int, bool]], kinds: tuple[str, str], is_local: bool
):
    """Nor of one on an object store whose clock is up to a minute ahead, or behind."""
    writes = history(kinds, [(0, 1, False), *steps])
    assert find_misdated(writes, is_local=is_local) == ()
    for seconds in (-3600, -1, *((0, 1, 30) if not is_local else ())):
        moved = [replace(each, modified_ns=each.modified_ns + seconds * 10**9) for each in writes]
        assert find_misdated(moved, is_local=is_local) == ()


@given(steps=steps, kinds=st.sampled_from((MERGED, COPIED)), data=st.data())
def test_a_copy_without_times_is_known_by_every_write_that_something_waited_for(
    steps: list[tuple[int, int, bool]], kinds: tuple[str, str], data: Any
):
    writes = history(kinds, [(0, 1, False), *steps])
    copied_at = START + timedelta(days=data.draw(st.sampled_from((0, 1, 30))))
    jitter = data.draw(st.lists(st.integers(0, 5000), min_size=len(writes), max_size=len(writes)))
    copied = [
        replace(each, modified_ns=nanoseconds(copied_at + timedelta(milliseconds=ms)))
        for each, ms in zip(writes, jitter, strict=True)
    ]
    assert set(find_misdated(copied, is_local=True)) == oracle(copied, kinds)


def test_what_has_no_time_for_a_name_has_no_answer():
    one = CompletedWrite(time=Instant(f"{1:017d}"), action="commit", modified_ns=10**18)
    assert find_misdated([one, replace(one, time=Instant(f"{2:017d}"))], is_local=True) == ()
    assert find_misdated([], is_local=True) == find_misdated([one], is_local=True) == ()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three writes a minute apart that took ten seconds each, and a compaction that ended beside the last."""
    folder = tmp_path / "lake" / "units" / ".hoodie"
    folder.mkdir(parents=True)
    (folder / "hoodie.properties").write_text("hoodie.table.version=6\n")
    for minute, action, seconds in (
        (0, "deltacommit", 10),
        (1, "deltacommit", 10),
        (2, "commit", 90),
        (3, "deltacommit", 9),
    ):
        begun = START + timedelta(minutes=minute)
        file = folder / f"{format_instant(begun)}.{action}"
        file.write_text("{}")
        os.utime(file, ns=(nanoseconds(begun + timedelta(seconds=seconds)),) * 2)
    return folder.parent


def timeline(folder: Path) -> Timeline:
    return Timeline(table=folder.name, path=str(folder))


def copy(folder: Path, to: Path, seed: int = 1) -> Path:
    """As ``cp -r`` does: in any order, with the times of the copy."""
    (to / ".hoodie").mkdir(parents=True)
    files = sorted((folder / ".hoodie").iterdir())
    random.Random(seed).shuffle(files)
    for file in files:
        shutil.copy(file, to / ".hoodie" / file.name)
    return to


def test_a_table_that_was_copied_is_refused_by_readers_and_put_right_by_its_next_writer(table: Path, tmp_path: Path):
    timeline(table).check_readable()
    copied = copy(table, tmp_path / "copy" / "units")
    with pytest.raises(CommitTimesError, match=r"units: the files of 2 commits are younger .* run: doctor repair"):
        timeline(copied).check_readable()
    no_spark: Any = None
    settled = settled_timeline(no_spark, "units", Settings(base_path=str(tmp_path / "copy"), lease_wait_seconds=0))
    assert settled.misdated == ()
    timeline(copied).check_readable()
    assert is_in_order(timeline(copied).writes)
    began = [nanoseconds(moment_of(each.time)) for each in settled.writes]
    assert [each.modified_ns for each in settled.writes] == began, "as if each had ended when it began"


def test_a_copy_that_keeps_times_needs_nothing(table: Path, tmp_path: Path):
    shutil.copytree(table, tmp_path / "kept")  # as cp -a and rsync -a do
    timeline(tmp_path / "kept").check_readable()
    assert timeline(tmp_path / "kept").writes == timeline(table).writes


def test_what_was_put_right_where_times_cannot_be_set_counts_no_more(table: Path, tmp_path: Path):
    copied = copy(table, tmp_path / "copy")
    newest = timeline(copied).newest
    (copied / ".hoodie" / f"{MOVED}{newest}").touch()
    timeline(copied).check_readable()
    later = START + timedelta(minutes=5)
    for minute in (0, 1):
        (copied / ".hoodie" / f"{format_instant(later + timedelta(minutes=minute))}.deltacommit").write_text("{}")
    assert timeline(copied).misdated == (format_instant(later),), "it was copied once more"


def test_in_an_object_store_files_are_written_once_more_in_their_order(table: Path, monkeypatch: pytest.MonkeyPatch):
    files, written = Filesystem(str(table)), list[tuple[str, bytes]]()
    files.is_local = False
    monkeypatch.setattr(files, "write", lambda name, content: written.append((name, content)))
    writes = timeline(table).writes[1:]
    assert put_in_order(files, writes)
    assert written == [(f".hoodie/{each.time}.{each.action}", b"{}") for each in writes]
    assert not put_in_order(files, [replace(writes[0], time=END)])


COMPACTED = Instant("20260101120000300")
COMPACTED_NS = 1_767_268_800_300 * 1_000_000


@pytest.mark.parametrize(
    ("action", "others", "late_ms", "is_early"),
    [
        ("commit", "deltacommit", -300, True),
        ("commit", "deltacommit", -1, True),
        ("commit", "deltacommit", 0, False),
        ("commit", "deltacommit", 700, False),
        ("commit", "commit", -300, False),
        ("deltacommit", "deltacommit", -300, False),
        ("replacecommit", "deltacommit", -300, False),
    ],
)
def test_a_compaction_whose_file_is_older_than_it_is_found(
    action: str, others: str, late_ms: int, *, is_early: bool
) -> None:
    """Of another write no version of a file is begun over which there are log files."""
    first = CompletedWrite(time=Instant("20260101115900000"), action=others, modified_ns=COMPACTED_NS - 50 * 10**9)
    write = CompletedWrite(time=COMPACTED, action=action, modified_ns=COMPACTED_NS + late_ms * 10**6)
    assert find_early([first, write]) == ([write] if is_early else [])


def test_on_a_store_a_file_is_written_once_more_until_its_time_is_late_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is two seconds behind, and gives whole seconds."""
    files, slept = Filesystem(str(tmp_path)), list[float]()
    name = f".hoodie/{COMPACTED}.commit"
    files.write(name, b"what it says")
    files.is_local = False
    clock = iter(range(-2, 60))
    times = {"now": COMPACTED_NS // 10**9 + next(clock)}

    def write(path: str, content: bytes) -> None:
        assert (path, content) == (name, b"what it says")
        times["now"] = COMPACTED_NS // 10**9 + next(clock)

    monkeypatch.setattr(files, "write", write)
    monkeypatch.setattr(files, "changed_ns", lambda _: times["now"] * 10**9)
    monkeypatch.setattr("spark_jobs.storage.commit_times.time.sleep", slept.append)
    early = [CompletedWrite(time=COMPACTED, action="commit", modified_ns=0)]
    set_late_enough(files, early)
    assert times["now"] * 10**9 > COMPACTED_NS
    assert len(slept) == 3
    clock, times["now"] = iter([0] * 100), 0
    with pytest.raises(TransientError, match=r"store's clock is behind by over a minute; set the clocks"):
        set_late_enough(files, early)
