"""A file that grows, with lines of any length, read by runs of any size: every byte once, and none of them twice.

Blocks, chunks and what is kept of a record are some bytes here, so that each of them ends inside of every other.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.sources import content_hash, file_blocks, file_scan
from spark_jobs.sources.file_lines import iter_chunk
from spark_jobs.sources.file_scan import Chunk, FileScan, LedgerEntry, ScanOrder, scan_file
from spark_jobs.sources.kept_bytes import TooLarge
from spark_jobs.storage.filesystem import FileEntry, Filesystem

KEPT = 20


@contextmanager
def small_sizes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 7)
        patch.setattr(content_hash, "HASH_BLOCK", 16)
        patch.setattr(file_scan, "CHUNK_BYTES", 30)
        for module in (file_blocks, file_scan):
            patch.setattr(module, "MAX_KEPT_BYTES", KEPT)
        yield


@dataclass
class Growing:
    """A file, what the ledger says of it, and what was read of it so far."""

    folder: Path
    is_packed: bool = False
    content: bytes = b""
    before: LedgerEntry | None = None
    found: list[tuple[int, bytes | TooLarge]] = field(default_factory=list)

    def append(self, more: bytes) -> None:
        self.content += more
        with (self.folder / "a").open("ab") as file:
            file.write(gzip.compress(more, mtime=0) if self.is_packed else more)

    def order(self, **limits: Any) -> ScanOrder:
        path = self.folder / "a"
        entry = FileEntry(path=str(path), size=path.stat().st_size, modified_ns=1)
        return ScanOrder(entry=entry, before=self.before, **{"records": 1000, **limits})

    def run(self, **limits: int) -> FileScan:
        files = Filesystem(str(self.folder))
        scan = scan_file(files, self.order(**limits))
        rows = [each for chunk in scan.chunks for each in iter_chunk(files, chunk)]
        assert len(rows) == scan.records <= limits.get("records", 1000)
        assert not scan.was_replaced
        self.found += rows
        self.before = LedgerEntry(
            size=0,
            modified_ns=0,
            consumed=scan.consumed,
            digest=scan.digest,
            stored=scan.member.stored,
            start=scan.member.start,
            is_inside=scan.is_inside,
        )
        return scan


lines = st.integers(0, 60).map(lambda size: json.dumps("y" * max(size - 2, 0)).encode()[:size])
parts = st.lists(st.tuples(st.lists(lines, max_size=4), st.booleans()), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(parts=parts, is_packed=st.booleans(), records=st.integers(1, 6), most_bytes=st.integers(1, 90))
def test_every_line_is_read_once_and_of_large_ones_every_byte(
    parts: Any, is_packed: bool, records: int, most_bytes: int
):
    """A part may end in the middle of a line. Of a large one the pieces follow each other and are all of it."""
    with tempfile.TemporaryDirectory() as folder, small_sizes():
        file = Growing(folder=Path(folder), is_packed=is_packed)
        for texts, is_whole in parts:
            more = b"\n".join(texts) + b"\n" * is_whole
            if not more:
                continue
            file.append(more)
            while file.run(records=records, most_bytes=most_bytes).is_cut:
                continue
        file.append(b"\n")
        while file.run(records=records, most_bytes=most_bytes).is_cut:
            continue
        assert_all_is_there(file)


def assert_all_is_there(file: Growing) -> None:
    """By the content alone: its small lines at their places, and its large ones covered by pieces."""
    small, covered = dict[int, bytes](), dict[int, int]()
    for at, line in file.found:
        if isinstance(line, TooLarge):
            covered[at] = line.size
            assert line.digest == hashlib.sha256(file.content[at : at + line.size]).hexdigest()
        else:
            assert small.setdefault(at, line) == line
    at = 0
    for line in file.content.split(b"\n")[:-1]:
        if len(line) <= KEPT:
            assert small.pop(at, b"") == line
        else:
            place, end = at, at + len(line)
            while place < end:
                place += covered.pop(place)
            assert place == end
            assert small.pop(end, b"") == b""
        at += len(line) + 1
    assert covered == {}
    assert {line for line in small.values() if line} == set()


class CountingFilesystem(Filesystem):
    """Counts the bytes that are read."""

    read_bytes = 0

    def open(self, absolute_path: str) -> Any:
        counts, file = self, super().open(absolute_path)

        class Counting:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def seek(self, place: int) -> None:
                file.seek(place)

            def read(self, size: int) -> Any:
                content = file.read(size)
                counts.read_bytes += len(content)
                return content

        return Counting()


@pytest.mark.parametrize("is_packed", [False, True])
def test_of_a_file_that_grows_what_is_new_is_read_and_a_few_megabytes(tmp_path: Path, is_packed: bool):
    """Packed, a megabyte is a few kilobytes, so all of them may be read; its members are read side by side."""
    megabyte = (b'{"t":"%s"}\n' % (b"x" * 1013)) * 1024
    file = Growing(folder=tmp_path, is_packed=is_packed)
    for _ in range(24):
        file.append(megabyte)
    file.run(records=10**6)
    file.append(b'{"n":1}\n')
    files = CountingFilesystem(str(tmp_path))
    scan = scan_file(files, file.order())
    assert (scan.records, scan.was_replaced) == (1, False)
    assert files.read_bytes <= 6 * 1024 * 1024
    if is_packed:
        files.read_bytes = 0
        whole = scan_file(files, ScanOrder(entry=file.order().entry, before=None, records=10**6))
        assert len(whole.chunks) > 3


def test_a_large_packed_file_of_one_member_is_one_chunk(tmp_path: Path):
    """In several, each would be decompressed from the start of the file."""
    record = b'{"text":"%s"}\n' % (b"x" * 1000)
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(record * 12_000, 1))
    entry = FileEntry(path=str(path), size=path.stat().st_size, modified_ns=1)
    scan = scan_file(Filesystem(str(tmp_path)), ScanOrder(entry=entry, before=None, records=10**6))
    assert [(chunk.start, chunk.end) for chunk in scan.chunks] == [(0, 12_000 * len(record))]


def test_a_large_file_of_an_earlier_release_is_recognised_by_all_of_its_bytes(tmp_path: Path):
    """Read again from its start, records that were redacted since would be taken for other ones."""
    old = (b"x" * 99 + b"\n") * 30_000
    file = Growing(folder=tmp_path)
    file.append(old)
    file.before = LedgerEntry(size=9, modified_ns=9, consumed=len(old), digest=hashlib.sha256(old).hexdigest())
    file.append(b'{"n":1}\n')
    assert file.run().chunks == (Chunk(path=str(tmp_path / "a"), start=len(old), end=len(old) + 8),)
    copy = scan_file(
        Filesystem(str(tmp_path)), ScanOrder(entry=file.order().entry, before=None, records=9**9, has_old=True)
    )
    assert copy.plain_digest == hashlib.sha256(file.content).hexdigest()
