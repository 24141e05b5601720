"""Files outside Spark: absent things are empty, writes are one step, gzip is left as it is stored."""

from __future__ import annotations

import gzip
import os
from types import SimpleNamespace

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.storage.filesystem import Filesystem


def test_absent_things_are_empty(tmp_path):
    files = Filesystem(str(tmp_path / "nowhere"))
    assert (files.list_files(recursive=True), files.folders(), files.read("a")) == ([], [], None)


def test_a_write_replaces_in_one_step_and_leaves_nothing_else(tmp_path):
    files = Filesystem(str(tmp_path))
    for content in (b"one", b"two"):
        files.write("folder/file", content)
        assert files.read("folder/file") == content
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]
    Filesystem(str(tmp_path / "folder")).delete_tree()
    assert files.read("folder/file") is None


def test_a_reader_has_the_old_content_or_the_new_and_a_write_that_fails_changes_nothing(tmp_path, monkeypatch):
    files = Filesystem(str(tmp_path))
    files.write("folder/file", b"old " * 100)
    with (tmp_path / "folder/file").open("rb") as reading:
        assert reading.read(4) == b"old "
        files.write("folder/file", b"new")
        assert reading.read(4) == b"old "
    assert files.read("folder/file") == b"new"

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        files.write("folder/file", b"newer")
    assert files.read("folder/file") == b"new"


def test_files_are_listed_by_path_with_size_and_time(tmp_path):
    files = Filesystem(str(tmp_path))
    for name in ("b/c", "a", "b/a"):
        files.write(name, b"12345")
    entries = files.list_files(recursive=True)
    assert [entry.path.removeprefix(f"{tmp_path}/") for entry in entries] == ["a", "b/a", "b/c"]
    assert {entry.size for entry in entries} == {5}
    assert entries[0].modified_ns == (tmp_path / "a").stat().st_mtime_ns
    assert [entry.path.removeprefix(f"{tmp_path}/") for entry in files.list_files()] == ["a"]


def test_the_newest_change_is_that_of_any_file_or_folder_below(tmp_path):
    files = Filesystem(str(tmp_path))
    assert files.newest_change("a") == 0
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"")
    for path, changed in ((tmp_path / "a/b/file", 5), (tmp_path / "a/b/c", 7), (tmp_path / "a/b", 6)):
        os.utime(path, ns=(changed, changed))
    assert files.newest_change("a") == 7
    (tmp_path / "a/b/c").rmdir()
    os.utime(tmp_path / "a/b", ns=(6, 6))
    assert files.newest_change("a") == 6


def test_removing_what_is_not_there_is_no_error(tmp_path):
    files = Filesystem(str(tmp_path))
    files.write("a/file", b"content")
    for _ in range(2):
        files.delete("a/file")
    files.delete("nowhere/file")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_a_write_removes_what_dead_writers_of_the_same_file_left(tmp_path):
    old, young, other = (tmp_path / name for name in ("state.json.a.tmp", "state.json.b.tmp", "state.jsonl.c.tmp"))
    for file in (old, young, other):
        file.write_bytes(b"half")
    for file in (old, other):
        os.utime(file, (1, 1))
    Filesystem(str(tmp_path)).write("state.json", b"whole")
    assert {file.name for file in tmp_path.iterdir()} == {"state.json", young.name, other.name}


def test_files_and_folders_get_other_names(tmp_path):
    files = Filesystem(str(tmp_path))
    files.write("a/one", b"1")
    files.write("two", b"2")
    files.move("a/one", "two")
    assert (files.read("a/one"), files.read("two")) == (None, b"1")
    files.write("a/three", b"3")
    files.move("a", "b")
    assert (files.folders(), files.read("b/three")) == (["b"], b"3")


def test_compressed_files_are_read_as_they_are_stored(tmp_path):
    files, content = Filesystem(str(tmp_path)), gzip.compress(b"text")
    files.write("a.gz", content)
    assert files.read("a.gz") == content
    with files.open(f"{tmp_path}/a.gz") as file:
        assert file.read() == content


def test_an_unknown_address_is_a_setting_to_correct():
    with pytest.raises(SettingsError, match=r"path 'nosuch://x' cannot be used .* correct the setting"):
        Filesystem("nosuch://x")


def test_a_place_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SettingsError, match="set another path"):
        Filesystem(str(tmp_path / "file")).write("below/it", b"")


def test_a_file_where_a_folder_should_be_cannot_be_listed(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for call in (Filesystem.folders, Filesystem.list_files):
        with pytest.raises(SettingsError, match=r"cannot read .*/file \(Not a directory\); .* set another path"):
            call(Filesystem(str(tmp_path / "file")))


def test_a_file_that_may_not_be_read_is_a_right_to_give(tmp_path, monkeypatch):
    """Tests may run as a user that may read everything, so the system's answer is given by hand."""
    files = Filesystem(str(tmp_path))

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(files, "_fs", SimpleNamespace(open_input_file=refuse))
    with pytest.raises(SettingsError, match=r"cannot read .*/a\.json \(Permission denied\); .* set another path"):
        files.open(f"{tmp_path}/a.json")
