"""What is kept of a record that is too large: the same for the same content, in whatever pieces it came."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources.kept_bytes import GrowingHash, TooLarge


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_size_and_hash_are_those_of_all_pieces(pieces: list[bytes]):
    whole, content = GrowingHash(), b"".join(pieces)
    for piece in pieces:
        whole.update(piece)
    kept = whole.close()
    assert kept == TooLarge.of(content)
    assert json.loads(kept.raw) == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert f"{len(content):,} bytes" in kept.detail
