"""Exports without Spark: rows of a CSV counted by its bytes, and what may be replaced."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import parse_target
from spark_jobs.storage import exports
from spark_jobs.storage.exports import check_free, count_csv_rows
from spark_jobs.storage.filesystem import Filesystem

cells = st.text(st.sampled_from(',"\r\n ab=é'), max_size=6)
tables = st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), max_size=8))


@given(tables, st.integers(1, 9))
def test_rows_are_counted_whatever_their_values_are_and_wherever_a_chunk_ends(
    rows: list[list[str]], chunk: int
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["a", 'b"\n', "c"], *rows])
    content = text.getvalue().encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports, "_CHUNK", chunk)
        assert count_csv_rows(io.BytesIO(content)) == len(rows)
        assert count_csv_rows(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content)))) == len(rows)


def test_a_file_without_a_byte_has_no_rows() -> None:
    assert count_csv_rows(io.BytesIO()) == 0


def test_a_new_name_is_free_also_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    check_free(parse_target(str(tmp_path / "a.csv")))
    check_free(parse_target(str(tmp_path / "not/yet/a.parquet")))


@pytest.mark.parametrize("name", ["a.csv", "a.csv/", "a.parquet"])
def test_what_is_there_is_replaced_when_that_is_wanted(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.csv":
        path.touch()
    else:
        path.mkdir()
        for inside in ("_SUCCESS", "part-00000.parquet", "part-00001.csv", "part-00002.csv.gz"):
            (path / inside).touch()
    with pytest.raises(ContractError, match=r"is there already; give another name, or --overwrite"):
        check_free(parse_target(str(tmp_path / name) + ("/" if name.endswith("/") else "")))
    check_free(parse_target(str(tmp_path / name) + ("/" if name.endswith("/") else ""), overwrite=True))


@pytest.mark.parametrize("other", ["notes.txt", "part-00000.csv.bak", "folder/"])
def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path, other: str) -> None:
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "a.parquet/_SUCCESS").touch()
    inside = tmp_path / "a.parquet" / other
    inside.mkdir() if other.endswith("/") else inside.touch()
    with pytest.raises(ContractError, match=r"has files that are of no export \((notes|part-00000.csv.bak|folder)"):
        check_free(parse_target(str(tmp_path / "a.parquet"), overwrite=True))


def test_a_file_does_not_become_a_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(ContractError, match=r"is a file and would become a folder"):
        check_free(parse_target(f"{tmp_path}/a.csv/", overwrite=True))
    with pytest.raises(ContractError, match=r"is a folder and would become a file"):
        check_free(parse_target(f"{tmp_path}/b.csv", overwrite=True))


class Lossy(Filesystem):
    """An object store that does what is requested, or nothing, and then fails."""

    def __init__(self, root: Path, *, is_done: bool) -> None:
        super().__init__(str(root))
        self.is_local, self.is_done = False, is_done

    def move(self, path: str, new: str) -> None:
        if self.is_done:
            super().move(path, new)
        raise OSError("SLOW_DOWN")

    def write(self, path: str, content: bytes) -> None:
        if self.is_done:
            super().write(path, content)
        raise OSError("SLOW_DOWN")

    def delete_tree(self, path: str = "") -> None:
        raise OSError("SLOW_DOWN")


def stage(root: Path) -> None:
    for folder in (".export-1", "a.csv"):
        (root / folder).mkdir()
    (root / ".export-1" / "part-7.csv").write_text("id\n1\n")


def test_an_export_whose_store_lost_its_answers_is_done(tmp_path: Path) -> None:
    """To fail would be wrong: tried again it would be refused, because the target is there."""
    stage(tmp_path)
    files = Lossy(tmp_path, is_done=True)
    exports._publish_objects(files, ".export-1", {"part-7.csv": "part-00000.csv"}, parse_target(f"{tmp_path}/a.csv/"))
    assert sorted(path.name for path in (tmp_path / "a.csv").iterdir()) == ["_SUCCESS", "part-00000.csv"]
    stage_file = tmp_path / ".export-1" / "part-8.csv"
    stage_file.write_text("id\n2\n")
    exports._publish_file(files, ".export-1/part-8.csv", "b.csv")
    assert (tmp_path / "b.csv").read_text() == "id\n2\n"
    exports._remove(files, ".export-1")


def test_an_export_that_its_store_did_not_take_fails(tmp_path: Path) -> None:
    stage(tmp_path)
    files = Lossy(tmp_path, is_done=False)
    with pytest.raises(OSError, match="SLOW_DOWN"):
        exports._publish_objects(files, ".export-1", {"part-7.csv": "part-0.csv"}, parse_target(f"{tmp_path}/a.csv/"))
    with pytest.raises(OSError, match="SLOW_DOWN"):
        exports._publish_file(files, ".export-1/part-7.csv", "b.csv")
    (tmp_path / "b.csv").write_text("older")
    with pytest.raises(OSError, match="SLOW_DOWN"):
        exports._publish_file(Lossy(tmp_path, is_done=True), ".export-1/part-7.csv", "b.csv")
