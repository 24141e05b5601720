"""Bytes of a landing file by their place after decompression: the same of a plain file and of a packed one."""

from __future__ import annotations

import gzip
import hashlib
import os
from contextlib import suppress
from io import BytesIO
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import file_blocks
from spark_jobs.sources.file_blocks import (
    BLOCK_BYTES,
    GZIP_MAGIC,
    WHOLE,
    CutOffError,
    DamagedError,
    iter_blocks,
    iter_lines,
    iter_members,
    iter_range,
)
from spark_jobs.sources.kept_bytes import TooLarge

members = st.lists(st.binary(max_size=60), min_size=1, max_size=4)


@given(members=members, start=st.integers(0, 99), more=st.integers(0, 99))
def test_a_range_is_the_same_bytes_however_they_are_stored(members: list[bytes], start: int, more: int):
    """Files may be appended member by member; of a range that goes on behind the end there is what there is."""
    content = b"".join(members)
    packed = b"".join(gzip.compress(member, mtime=0) for member in members)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 7)
        assert b"".join(iter_range(BytesIO(packed), start, start + more)) == content[start : start + more]
        if not content.startswith(GZIP_MAGIC):
            assert b"".join(iter_range(BytesIO(content), start, start + more)) == content[start : start + more]


@given(members=members, start=st.integers(0, 240))
def test_it_is_the_same_from_any_member_that_begins_before(members: list[bytes], start: int):
    content = b"".join(members)
    packed = BytesIO(b"".join(gzip.compress(member, mtime=0) for member in members))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 7)
        known = {member for member, _ in iter_members(packed) if member} | {WHOLE}
        for member in known:
            if member.start <= start:
                assert b"".join(iter_blocks(packed, start, member)) == content[start:]


def test_no_block_is_longer_than_a_block_however_much_is_packed():
    """A megabyte of zeros is a kilobyte of gzip; 32 of them came out in one piece once."""
    packed = gzip.compress(bytes(32 * BLOCK_BYTES), 9, mtime=0)
    sizes = [len(block) for block in iter_blocks(BytesIO(packed))]
    assert (max(sizes), sum(sizes)) == (BLOCK_BYTES, 32 * BLOCK_BYTES)


@given(members=members, cut=st.integers(1, 200))
def test_of_a_file_that_ends_too_early_all_that_came_is_there(members: list[bytes], cut: int):
    content = b"".join(members)
    packed = b"".join(gzip.compress(member, mtime=0) for member in members)
    packed, found = packed[: max(len(packed) - cut, 2)], bytearray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 7)
        with suppress(CutOffError):
            for block in iter_blocks(BytesIO(packed)):
                found += block
    assert content.startswith(found)


def test_what_comes_before_damage_is_the_same_wherever_reading_begins():
    """A chunk is read from the member before it, and has to find what the pass over the whole file found."""
    first, second = os.urandom(3000), os.urandom(3000)
    whole = bytearray(gzip.compress(first, mtime=0) + gzip.compress(second, mtime=0))
    whole[-1500] ^= 255
    whole[-1400:-1300] = bytes(100)
    found = {}
    for block_bytes in (7, 1000, BLOCK_BYTES):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file_blocks, "BLOCK_BYTES", block_bytes)
            starts = {member for member, _ in _readable(bytes(whole), WHOLE) if member}
            for member in starts:
                pieces = b"".join(block for _, block in _readable(bytes(whole), member))
                found[block_bytes, member.start] = (first + second)[: member.start] + pieces
    assert len(found) == 6
    assert len(set(found.values())) == 1


def _readable(packed: bytes, member: file_blocks.Member) -> list[tuple[file_blocks.Member | None, bytes]]:
    read = list[tuple[file_blocks.Member | None, bytes]]()
    with suppress(CutOffError, DamagedError):
        read.extend(iter_members(BytesIO(packed), member.start, member))
    return read


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    rest=st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
    cuts=st.lists(st.integers(0, 300), max_size=8),
)
def test_every_line_is_there_and_of_large_ones_what_identifies_them(lines: list[bytes], rest: bytes, cuts: list[int]):
    content = b"".join(line + b"\n" for line in lines) + rest
    ends = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    blocks = [content[one:other] for one, other in pairwise(ends)]
    expected: list[tuple[int, bytes | TooLarge]] = []
    at = 5
    for line in [*lines, *([rest] if rest else [])]:
        large = TooLarge(size=len(line), digest=hashlib.sha256(line).hexdigest())
        expected.append((at, large if len(line) > 16 else line))
        at += len(line) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "MAX_KEPT_BYTES", 16)
        assert [*iter_lines(blocks, 5)] == expected
