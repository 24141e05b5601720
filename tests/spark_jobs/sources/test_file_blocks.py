"""Bytes of a landing file by their place after decompression: the same of a plain file and of a packed one."""

from __future__ import annotations

import gzip
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import file_blocks
from spark_jobs.sources.file_blocks import iter_range


@given(
    members=st.lists(st.binary(max_size=60), min_size=1, max_size=3), start=st.integers(0, 99), more=st.integers(0, 99)
)
def test_a_range_is_the_same_bytes_however_they_are_stored(members: list[bytes], start: int, more: int):
    """Files may be appended member by member; of a range that goes on behind the end there is what there is."""
    content = b"".join(members)
    packed = b"".join(gzip.compress(member, mtime=0) for member in members)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_blocks, "BLOCK_BYTES", 7)
        assert b"".join(iter_range(BytesIO(packed), start, start + more)) == content[start : start + more]
        if not content.startswith(file_blocks.GZIP_MAGIC):
            assert b"".join(iter_range(BytesIO(content), start, start + more)) == content[start : start + more]
