"""The bytes of a landing file after decompression, block by block, however the file ends."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

BLOCK_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


class CutOffError(Exception):
    """A gzip file ends in the middle: somebody may still be writing it."""


class DamagedError(Exception):
    """A gzip file cannot be decompressed from here on; ``raw`` is what was being read."""

    def __init__(self, reason: str, raw: bytes) -> None:
        self.raw = raw
        super().__init__(reason)


def is_gzip(file: Any) -> bool:
    """True when the file begins as gzip does; leaves it at its start."""
    magic: bytes = file.read(len(_GZIP_MAGIC))
    file.seek(0)
    return magic == _GZIP_MAGIC


def iter_blocks(file: Any) -> Iterator[bytes]:
    """Decompressed blocks of ``file`` from its start; a plain file's own bytes.

    Raises:
        CutOffError: after the last whole block of a gzip file that ends too early.
        DamagedError: after the last whole block before damage.
    """
    if not is_gzip(file):
        while block := file.read(BLOCK_BYTES):
            yield block
        return
    member = zlib.decompressobj(_GZIP_WINDOW)
    while block := file.read(BLOCK_BYTES):
        while block:
            if member.eof:  # files may be appended member by member
                member = zlib.decompressobj(_GZIP_WINDOW)
            try:
                yield member.decompress(block)
            except zlib.error as error:
                raise DamagedError(str(error), block) from error
            block = member.unused_data
    if not member.eof:
        raise CutOffError


def read_range(file: Any, start: int, end: int) -> bytes:
    """Bytes ``start`` to ``end`` of the file after decompression."""
    if not is_gzip(file):
        file.seek(start)
        content: bytes = file.read(end - start)
        return content
    parts: list[bytes] = []
    position = 0
    for block in iter_blocks(file):
        first, last = max(start - position, 0), min(end - position, len(block))
        if first < last:
            parts.append(block[first:last])
        position += len(block)
        if position >= end:
            break
    return b"".join(parts)
