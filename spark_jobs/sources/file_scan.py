"""One pass over a landing file: where its whole lines end and what its bytes hash to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from spark_jobs.sources.file_blocks import CutOffError, DamagedError, iter_blocks
from spark_jobs.storage.filesystem import FileEntry, Filesystem

CHUNK_BYTES = 4 * 1024 * 1024
UNSETTLED = -1
"""Size and time in the ledger of a file that has to be looked at again even if it does not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A file as last seen, how many of its bytes were read (after decompression), and their SHA-256."""

    size: int
    modified_ns: int
    consumed: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Whole lines of one file, bytes ``start`` to ``end`` after decompression."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileScan:
    """What a pass found.

    ``consumed`` bytes are whole lines, ``digest`` is their hash; ``rest`` follows without an end of line; ``is_cut``
    when the limit ended the pass; ``is_open`` when a gzip file ends too early; ``damage`` says why it cannot go on.
    """

    chunks: tuple[Chunk, ...]
    records: int
    consumed: int
    digest: str
    rest: bytes = b""
    is_cut: bool = False
    is_open: bool = False
    was_replaced: bool = False
    damage: str = ""


def scan_file(files: Filesystem, entry: FileEntry, before: LedgerEntry | None, *, limit: int) -> FileScan:
    """Find up to ``limit`` whole lines after what ``before`` says was read; from the start if that no longer fits."""
    with files.open(entry.path) as file:
        scanner = _Scanner(entry.path, before, limit)
        damage, is_open = "", False
        try:
            for block in iter_blocks(file):
                if not scanner.take(block):
                    break
        except CutOffError:
            is_open = True
        except DamagedError as error:
            damage = f"gzip damaged: {error}"
            scanner.rest = scanner.rest or error.raw
    if before and before.consumed and not scanner.is_past_start:
        replaced = scan_file(files, entry, None, limit=limit)
        return FileScan(**{**{name: getattr(replaced, name) for name in FileScan.__slots__}, "was_replaced": True})
    return scanner.result(damage=damage, is_open=is_open)


class _Scanner:
    def __init__(self, path: str, before: LedgerEntry | None, limit: int) -> None:
        self._path = path
        self._start = before.consumed if before else 0
        self._expected = before.digest if before else ""
        self._limit = limit
        self._hash = hashlib.sha256()
        self._consumed = self._chunk_start = self._start
        self._skipped = 0
        self._chunks: list[Chunk] = []
        self._records = 0
        self._is_cut = False
        self.rest = b""
        self.is_past_start = self._start == 0

    def take(self, block: bytes) -> bool:
        """Take the next block; False when no more are wanted."""
        if not self.is_past_start:
            head = block[: self._start - self._skipped]
            self._hash.update(head)
            self._skipped += len(head)
            if self._skipped < self._start:
                return True
            if self._hash.hexdigest() != self._expected:
                return False
            self.is_past_start = True
            block = block[len(head) :]
        if self._records >= self._limit:
            self._is_cut |= bool(block)
            return not block
        content = self.rest + block
        end = content.rfind(b"\n") + 1
        lines = content.count(b"\n", 0, end)
        if self._records + lines > self._limit:
            end, lines = _nth_line_end(content, self._limit - self._records), self._limit - self._records
            self._is_cut = True
        self._consume(content[:end], lines)
        self.rest = b"" if self._is_cut else content[end:]
        return not self._is_cut

    def _consume(self, content: bytes, records: int) -> None:
        self._hash.update(content)
        self._consumed += len(content)
        self._records += records
        if self._consumed - self._chunk_start >= CHUNK_BYTES:
            self._close_chunk()

    def _close_chunk(self) -> None:
        if self._consumed > self._chunk_start:
            self._chunks.append(Chunk(path=self._path, start=self._chunk_start, end=self._consumed))
            self._chunk_start = self._consumed

    def result(self, *, damage: str, is_open: bool) -> FileScan:
        if self.rest and not damage and not is_open and self._records < self._limit and is_whole_object(self.rest):
            # No part of a JSON object is itself one: this line is complete, only its end of line is missing.
            self._consume(self.rest, 1)
            self.rest = b""
        self._close_chunk()
        return FileScan(
            chunks=tuple(self._chunks),
            records=self._records,
            consumed=self._consumed,
            digest=self._hash.hexdigest(),
            rest=self.rest,
            is_cut=self._is_cut or bool(self.rest and self._records >= self._limit),
            is_open=is_open,
            damage=damage,
        )


def _nth_line_end(content: bytes, count: int) -> int:
    position = 0
    for _ in range(count):
        position = content.index(b"\n", position) + 1
    return position


def is_whole_object(line: bytes) -> bool:
    """True for a line that is complete without its end: a JSON object, or nothing."""
    if not line.strip():
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
