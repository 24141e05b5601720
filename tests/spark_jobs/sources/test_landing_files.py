"""Whether landing files can be edited, and what is in them now; without Spark."""

from __future__ import annotations

import errno
import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import landing_files
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing_files import digest_of, files_as_they_are, find_unwritable, why_unwritable
from spark_jobs.storage.filesystem import Filesystem
from tests.support.in_process import Session


class Answers(Session):
    """A session whose frames give their rows."""

    def range(self, start: int, end: int, step: int, partitions: int) -> Any:
        frame = super().range(start, end, step, partitions)
        real = frame.mapInArrow

        class Mapped:
            def __init__(self, function: Any, schema: Any) -> None:
                self.rows = [row for table in real(function, schema).partitions for row in table.to_pylist()]

            def collect(self) -> list[dict[str, Any]]:
                return self.rows

        frame.__dict__["mapInArrow"] = Mapped
        return frame


SESSION: Any = Answers()


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """A plain file and one that is compressed."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t/plain").write_bytes(b"one\ntwo\n")
    (tmp_path / "t/packed.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    return tmp_path


def paths(landing: Path) -> list[str]:
    return sorted(str(path) for path in (landing / "t").iterdir())


def test_files_that_can_be_edited_are_left_as_they_are(landing: Path):
    before = {path: (Path(path).read_bytes(), Path(path).stat().st_mtime_ns) for path in paths(landing)}
    assert find_unwritable(SESSION, str(landing), paths(landing)) == []
    assert {path: (Path(path).read_bytes(), Path(path).stat().st_mtime_ns) for path in paths(landing)} == before


def test_a_folder_that_is_mounted_read_only_is_named_for_each_file(landing: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(landing_files, "open", refuse, raising=False)
    monkeypatch.setattr(Filesystem, "write", refuse)
    found = find_unwritable(SESSION, str(landing), paths(landing))
    assert found == [f"{path}: Read-only file system" for path in paths(landing)]


def test_a_file_that_is_gone_is_named(landing: Path):
    assert why_unwritable(Filesystem(str(landing)), str(landing / "t/none"))


@given(content=st.binary(max_size=300), consumed=st.integers(1, 320), is_packed=st.booleans())
def test_a_digest_is_of_the_bytes_that_were_consumed(
    content: bytes, consumed: int, is_packed: bool, tmp_path_factory: pytest.TempPathFactory
):
    content = b"{" + content  # which is no gzip
    file = tmp_path_factory.mktemp("digest") / "file"
    file.write_bytes(gzip.compress(content) if is_packed else content)
    expected = hashlib.sha256(content[:consumed]).hexdigest() if consumed <= len(content) else ""
    assert digest_of(Filesystem(str(file.parent)), str(file), consumed) == expected


def test_the_ledger_says_what_files_are_and_nothing_of_those_that_are_shorter_or_unknown(landing: Path):
    def entry(consumed: int, digest: str = "as it was") -> LedgerEntry:
        return LedgerEntry(size=8, modified_ns=1, consumed=consumed, digest=digest)

    plain, packed = str(landing / "t/plain"), str(landing / "t/packed.gz")
    ledger = {plain: entry(4), packed: entry(9), "gone": entry(4), "unread": entry(0)}
    now = files_as_they_are(SESSION, str(landing), ledger, [plain, packed, str(landing / "t/new"), "unread"])
    assert now == {**ledger, plain: entry(4, hashlib.sha256(b"one\n").hexdigest())}
