"""Jars are checked against the lock before they are put where Spark takes them from.

Fixture: a set of two jars; ``resolved/`` holds both as the resolver would leave them, the lock names their digests.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from local_stack.errors import DownloadError, SetupError
from local_stack.install.jars import (
    BENCH_JARS,
    RUN_JARS,
    YARN_JARS,
    JarSet,
    check_jars,
    move_jars,
    read_lock,
    write_lock,
    wrong_jars,
)
from local_stack.install.kafka_jars import KAFKA_JARS

FIRST, SECOND = "org.one_first-1.0.jar", "org.two_second_2.12-3.5.7.jar"


@pytest.fixture
def jar_set(tmp_path) -> JarSet:
    coordinates = ("org.one:first:1.0", "org.two:second_2.12:3.5.7")
    return JarSet(folder=tmp_path / "jars", coordinates=coordinates, excludes=())


@pytest.fixture
def resolved(tmp_path) -> Path:
    folder = tmp_path / "resolved"
    folder.mkdir()
    for name in (FIRST, SECOND):
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.fixture
def lock(tmp_path) -> Path:
    path = tmp_path / "jars.lock"
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  jars/{name}" for name in (FIRST, SECOND)]
    path.write_text("# a comment\n" + "\n".join(lines) + "\n")
    return path


def test_file_names_are_the_resolvers(jar_set):
    assert jar_set.file_names == (FIRST, SECOND)


def test_resolved_jars_end_up_whole_in_their_folder(jar_set, resolved, lock):
    assert wrong_jars(jar_set, lock=lock) == {FIRST: "is missing", SECOND: "is missing"}
    check_jars(jar_set, folder=resolved, lock=lock)
    move_jars(resolved, jar_set)
    assert wrong_jars(jar_set, lock=lock) == {}


def test_a_jar_that_is_not_the_locked_one_is_refused(jar_set, resolved, lock):
    (resolved / SECOND).write_bytes(b"something else")
    with pytest.raises(DownloadError, match=rf"{SECOND} has another sha256 than jars.lock names"):
        check_jars(jar_set, folder=resolved, lock=lock)


def test_a_jar_changed_later_is_seen(jar_set, resolved, lock):
    move_jars(resolved, jar_set)
    (jar_set.folder / FIRST).write_bytes(b"changed")
    assert wrong_jars(jar_set, lock=lock) == {FIRST: "has another sha256 than jars.lock names"}


def test_a_jar_that_the_lock_does_not_name_is_wrong(jar_set, resolved, lock):
    lock.write_text("")
    assert set(wrong_jars(jar_set, folder=resolved, lock=lock)) == {FIRST, SECOND}


def test_the_lock_is_written_as_it_is_read(jar_set, resolved, lock, tmp_path):
    move_jars(resolved, jar_set)
    written = tmp_path / "again.lock"
    write_lock([jar_set], written)
    assert read_lock(written) == read_lock(lock)


def test_a_folder_that_cannot_be_made_is_one_clear_line(jar_set, resolved):
    jar_set.folder.write_text("a file where the folder should be")
    with pytest.raises(SetupError, match="make it writable"):
        move_jars(resolved, jar_set)


@pytest.mark.parametrize(
    "real_set", [RUN_JARS, BENCH_JARS, YARN_JARS, KAFKA_JARS], ids=["run", "bench", "yarn", "kafka"]
)
def test_the_projects_lock_names_every_jar_and_no_other(real_set):
    folder = real_set.folder.name
    locked = {name for name in read_lock() if name.startswith(f"{folder}/")}
    assert locked == {f"{folder}/{name}" for name in real_set.file_names}
    assert all(len(digest) == 64 for digest in read_lock().values())
