"""The bytes of a landing file after decompression, block by block, however the file ends."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

BLOCK_BYTES = 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
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
    magic: bytes = file.read(len(GZIP_MAGIC))
    file.seek(0)
    return magic == GZIP_MAGIC


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


def iter_lines(content: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Each line without its end, and its place in the file; ``start`` is that of the first."""
    position = 0
    while position < len(content):
        end = content.find(b"\n", position)
        end = len(content) if end < 0 else end
        yield start + position, content[position:end]
        position = end + 1


def decompress_readable(content: bytes) -> bytes:
    """What can be decompressed of damaged gzip bytes, up to the damage; its end may be missing or wrong."""
    member, readable = zlib.decompressobj(_GZIP_WINDOW), bytearray()
    with suppress(zlib.error):
        for at in range(0, len(content), 64):  # in small steps: one that fails gives nothing
            readable += member.decompress(content[at : at + 64])
    return bytes(readable)
