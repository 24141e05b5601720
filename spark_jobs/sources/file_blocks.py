"""The bytes of a landing file after decompression, block by block, however the file ends and however much it packs.

No block is longer than ``BLOCK_BYTES``, whatever a gzip file decompresses to. A file is read from any of its gzip
members on: files may be appended member by member, and what is before the place that is wanted need not be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spark_jobs.sources.kept_bytes import MAX_KEPT_BYTES, GrowingHash, TooLarge

BLOCK_BYTES = 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


class CutOffError(Exception):
    """A gzip file ends in the middle: it may not be written to its end yet."""


class DamagedError(Exception):
    """A gzip file cannot be decompressed from here on; ``raw`` is what was being read."""

    def __init__(self, reason: str, raw: bytes) -> None:
        self.raw = raw
        super().__init__(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Where a member of a gzip file begins: its byte as ``stored``, and after decompression. A plain file is one."""

    stored: int = 0
    start: int = 0


WHOLE = Member()


def is_gzip(file: Any) -> bool:
    """True when the file begins as gzip does; leaves it at its start."""
    file.seek(0)
    magic: bytes = file.read(len(GZIP_MAGIC))
    file.seek(0)
    return magic == GZIP_MAGIC


def iter_blocks(file: Any, start: int = 0, member: Member = WHOLE) -> Iterator[bytes]:
    """Decompressed blocks of ``file`` from ``start``; a plain file's own bytes. ``member`` begins there or before.

    Raises:
        CutOffError: after the last byte of a gzip file that ends too early.
        DamagedError: after the last byte before damage.
    """
    for _, block in iter_members(file, start, member):
        yield block


def iter_members(file: Any, start: int = 0, member: Member = WHOLE) -> Iterator[tuple[Member | None, bytes]]:
    """As :func:`iter_blocks`, each block with the member that it is of; None for those of a plain file."""
    if not is_gzip(file):
        file.seek(start)
        while block := file.read(BLOCK_BYTES):
            yield None, block
        return
    position = member.start
    for found, block in _decompress(file, member):
        skipped = min(max(start - position, 0), len(block))
        position += len(block)
        if skipped < len(block):
            yield found, block[skipped:]


def iter_range(file: Any, start: int, end: int, member: Member = WHOLE) -> Iterator[bytes]:
    """Blocks of the bytes ``start`` to ``end`` of the file after decompression, or of as many as there are."""
    left = end - start
    blocks = iter_blocks(file, start, member)
    while left > 0 and (block := next(blocks, b"")):
        yield block[:left]
        left -= len(block)


def iter_lines(blocks: Iterable[bytes], start: int) -> Iterator[tuple[int, bytes | TooLarge]]:
    """Each line without its end, and its place in the file; ``start`` is that of the first byte.

    Of a line with more than ``MAX_KEPT_BYTES`` there is its size and hash. A last one without its end is one too.
    """
    at, parts, size = start, list[bytes](), 0
    large: GrowingHash | None = None
    for block in blocks:
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            if not size and end - begin <= MAX_KEPT_BYTES:  # nearly always
                yield at, block[begin:end]
                at += end - begin + 1
            else:
                parts.append(block[begin:end])
                size += end - begin
                yield at, _line(parts, size, large)
                at, parts, size, large = at + size + 1, [], 0, None
            begin = end + 1
        if begin < len(block):
            parts.append(block[begin:])
            size += len(block) - begin
        if size > MAX_KEPT_BYTES:
            large = large or GrowingHash()
            for part in parts:
                large.update(part)
            parts = []
    if size:
        yield at, _line(parts, size, large)


def _line(parts: list[bytes], size: int, large: GrowingHash | None) -> bytes | TooLarge:
    if large is None and size <= MAX_KEPT_BYTES:
        return b"".join(parts)
    large = large or GrowingHash()
    for part in parts:
        large.update(part)
    return large.close()


def _decompress(file: Any, member: Member) -> Iterator[tuple[Member, bytes]]:
    """Blocks of a gzip file from a member on, none of them empty."""
    file.seek(member.stored)
    stored, position, inflate = member.stored, member.start, zlib.decompressobj(_GZIP_WINDOW)
    packed, is_at_end = b"", False
    while True:
        if not packed and not is_at_end:
            packed = file.read(BLOCK_BYTES)
            is_at_end = not packed
        if inflate.eof:
            if not packed:
                return
            inflate, member = zlib.decompressobj(_GZIP_WINDOW), Member(stored=stored, start=position)
        before = inflate.copy()
        try:
            block = inflate.decompress(packed, BLOCK_BYTES)
        except zlib.error as error:
            for readable in _iter_readable(before, packed):
                yield member, readable
            raise DamagedError(str(error), packed) from error
        rest = inflate.unused_data or inflate.unconsumed_tail
        stored, position = stored + len(packed) - len(rest), position + len(block)
        is_stuck = is_at_end and not packed and not block
        packed = rest
        if block:
            yield member, block
        elif is_stuck and not inflate.eof:
            raise CutOffError


def iter_readable(content: bytes) -> Iterator[bytes]:
    """Blocks of what can be decompressed of damaged gzip bytes, up to the damage; the end may be missing or wrong."""
    return _iter_readable(zlib.decompressobj(_GZIP_WINDOW), content)


def _iter_readable(member: Any, content: bytes) -> Iterator[bytes]:
    """Byte by byte: a step that fails gives nothing, and wherever reading began the same bytes are readable."""
    readable = bytearray()
    with suppress(zlib.error):
        for at in range(len(content)):
            readable += member.decompress(content[at : at + 1])
            if len(readable) >= BLOCK_BYTES:
                yield bytes(readable)
                readable.clear()
    if readable:
        yield bytes(readable)
