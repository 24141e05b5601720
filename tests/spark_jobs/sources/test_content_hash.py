"""The hash of a beginning, continued: whatever pieces come and wherever it is taken up again, the text is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import content_hash
from spark_jobs.sources.content_hash import ContentHash, first_block_fits, hash_of, is_by_blocks, resume_at

BLOCK = 8


@contextmanager
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_hash, "HASH_BLOCK", BLOCK)
        yield


def by_hand(content: bytes) -> str:
    """The oracle: from the definition, with no state that is carried."""
    states = [b""]
    while len(states) * BLOCK <= len(content):
        at = (len(states) - 1) * BLOCK
        states.append(hashlib.sha256(states[-1] + content[at : at + BLOCK]).digest())
    whole = hashlib.sha256(states[-1] + content[(len(states) - 1) * BLOCK :]).hexdigest()
    return f"{whole}:{states[-2].hex()}:{states[1].hex()}" if len(states) > 1 else whole


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_the_text_is_that_of_the_content_whatever_pieces_it_came_in(pieces: list[bytes]):
    with small_blocks():
        assert hash_of(pieces) == hash_of([b"".join(pieces)]) == by_hand(b"".join(pieces))


@given(st.binary(max_size=60), st.binary(max_size=40))
def test_it_is_continued_from_its_last_blocks_as_if_all_had_been_seen(read: bytes, more: bytes):
    with small_blocks():
        text, start = hash_of([read]), resume_at(len(read))
        assert len(read) - start <= 2 * BLOCK
        resumed = ContentHash.resume(text)
        resumed.update(read[start:])
        assert resumed.text == text
        other = resumed.copy()
        resumed.update(more)
        assert (resumed.text, other.text) == (hash_of([read + more]), text)


@given(st.binary(min_size=1, max_size=60), st.integers(0, 59))
def test_another_byte_in_the_first_or_the_last_blocks_is_noticed(read: bytes, at: int):
    at %= len(read)
    changed = read[:at] + bytes([read[at] ^ 1]) + read[at + 1 :]
    with small_blocks():
        text, start = hash_of([read]), resume_at(len(read))
        resumed = ContentHash.resume(text)
        resumed.update(changed[start:])
        is_same = resumed.text == text and (not start or first_block_fits(text, changed[:BLOCK]))
        assert is_same == (BLOCK <= at < start)


def test_the_hash_of_a_short_content_is_what_it_was_in_earlier_releases():
    content = b"x" * (content_hash.HASH_BLOCK - 1)
    old = hashlib.sha256(content).hexdigest()
    assert hash_of([content]) == old
    assert is_by_blocks(old, len(content))
    assert not is_by_blocks(old, len(content) + 1)
    assert is_by_blocks(hash_of([content, b"x"]), len(content) + 1)
