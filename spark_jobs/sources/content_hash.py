"""A hash of the beginning of a file that can be continued: from its last blocks, without the bytes before them.

The content is hashed in blocks of 1 MB, each with the hash of those before it: ``state(k + 1) = SHA-256(state(k) +
block k)``, and the hash of the whole is that of the last state with what follows it. As text it is ``<hash>``, or from
the first whole block on ``<hash>:<state>:<first>``, where ``state`` is the one before the last whole block and
``first`` the one after the first block. So a file that grew is recognised by its first megabyte and its last one or
two; one of less than two megabytes by all of it. Of less than one the hash is the SHA-256 of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Self

HASH_BLOCK = 1024 * 1024


class ContentHash:
    """The hash of what was given to :meth:`update`, which may begin at :func:`resume_at` of an older text."""

    def __init__(self) -> None:
        self._now = hashlib.sha256()
        self._filled = 0
        self._first = self._before = self._state = b""

    @classmethod
    def resume(cls, text: str) -> Self:
        """As it was at :func:`resume_at`, of the text of a hash that :func:`is_by_blocks` or that is short."""
        _, _, states = text.partition(":")
        state, _, first = states.partition(":")
        made = cls()
        made._state, made._first = bytes.fromhex(state), bytes.fromhex(first) if state else b""
        made._now = hashlib.sha256(made._state)
        return made

    def copy(self) -> ContentHash:
        """Another one that has seen the same."""
        other = ContentHash()
        other._now, other._filled = self._now.copy(), self._filled
        other._first, other._before, other._state = self._first, self._before, self._state
        return other

    def update(self, content: bytes) -> None:
        """Add bytes."""
        at = 0
        while at < len(content):
            taken = min(HASH_BLOCK - self._filled, len(content) - at)
            self._now.update(memoryview(content)[at : at + taken])
            self._filled, at = self._filled + taken, at + taken
            if self._filled == HASH_BLOCK:
                self._before, self._state = self._state, self._now.digest()
                self._first = self._first or self._state
                self._now, self._filled = hashlib.sha256(self._state), 0

    @property
    def text(self) -> str:
        """What the ledger keeps."""
        found = self._now.hexdigest()
        return f"{found}:{self._before.hex()}:{self._first.hex()}" if self._first else found


def hash_of(pieces: Iterable[bytes]) -> str:
    """The text of the hash of a whole content."""
    found = ContentHash()
    for piece in pieces:
        found.update(piece)
    return found.text


def resume_at(size: int) -> int:
    """Where a content of this size is read from to be recognised and continued."""
    return max(size // HASH_BLOCK - 1, 0) * HASH_BLOCK


def is_by_blocks(text: str, size: int) -> bool:
    """False for the hash of an earlier release, the SHA-256 of a content of more than one block."""
    return ":" in text or size < HASH_BLOCK


def first_block_fits(text: str, block: bytes) -> bool:
    """True when ``block`` is the first one of the content, or its hash says nothing of blocks."""
    first = text.rpartition(":")[2] if ":" in text else ""
    return not first or hashlib.sha256(block).hexdigest() == first
