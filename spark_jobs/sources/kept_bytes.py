"""How many bytes of a record are kept, and what is kept of one that has more: its size and its hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

MAX_KEPT_BYTES = 4 * 1024 * 1024
"""Of one record, anywhere: in memory, in a batch, in the quarantine. Eight times what a decoder accepts."""
BATCH_BYTES = 16 * 1024 * 1024
"""Of the records in one Arrow batch, about; Arrow itself ends at 2 GB, Spark's own buffers before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """A record of which the bytes are not kept, because there are more than ``MAX_KEPT_BYTES``."""

    size: int
    digest: str
    """SHA-256 of all its bytes."""

    @classmethod
    def of(cls, raw: bytes) -> TooLarge:
        """What is kept of these bytes."""
        return cls(size=len(raw), digest=hashlib.sha256(raw).hexdigest())

    @property
    def raw(self) -> bytes:
        """What the quarantine has in place of the bytes: the same for the same content, wherever it was read."""
        return json.dumps({"bytes": self.size, "sha256": self.digest}).encode()

    @property
    def detail(self) -> str:
        """For a person."""
        return f"a record of {self.size:,} bytes: kept are its place, its size and its hash"


class GrowingHash:
    """The SHA-256 of a record that is seen piece by piece, and how many bytes there were."""

    def __init__(self) -> None:
        self._hash, self.size = hashlib.sha256(), 0

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)
        self.size += len(piece)

    def close(self) -> TooLarge:
        return TooLarge(size=self.size, digest=self._hash.hexdigest())
