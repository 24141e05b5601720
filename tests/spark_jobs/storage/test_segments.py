"""Segments: each row is found by its hash and no other one is; what is damaged is noticed."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.lake_errors import DamagedIndexError
from spark_jobs.storage import segments
from spark_jobs.storage.segment_writer import BLOCK_ROWS, PAGE_BLOCKS, SegmentWriter, blocks_of
from spark_jobs.storage.segments import Segment, batches_of, every_text, find_texts

LOWEST, HIGHEST = -(2**63), 2**63 - 1
HASHES = st.one_of(st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, -1, 0, 1, HIGHEST]), st.integers(0, 40))
ROWS = st.lists(st.tuples(HASHES, st.text(max_size=30)), max_size=200)

Row = tuple[int, str]


class Stored(io.BytesIO):
    """A file in memory, read as pyarrow's are; remembers how many bytes were read."""

    read_bytes = 0
    requests = 0

    def close(self) -> None:
        """Stays readable."""

    def read_at(self, size: int, place: int) -> bytes:
        self.read_bytes += size
        self.requests += 1
        return self.getvalue()[place : place + size]


def written(rows: Iterable[Row], batch_rows: int = 7) -> tuple[Stored, Segment]:
    """Rows in a segment, from batches of so many rows."""
    ordered = sorted(rows, key=lambda row: row[0])
    schema = pa.schema({"key_hash": pa.int64(), "packed": pa.string()})
    table = pa.Table.from_pylist([{"key_hash": each, "packed": text} for each, text in ordered], schema=schema)
    file = Stored()
    writer = SegmentWriter(path="folder/file", stream=file)
    for block in blocks_of(table.to_batches(max_chunksize=batch_rows)):
        writer.add(*block)
    return file, writer.close()


def found(file: Stored, segment: Segment, hashes: Iterable[int]) -> list[str]:
    wanted = np.array(sorted(set(hashes)), "<i8")
    return sorted(text.decode() for text in find_texts(file, segment, wanted))


@given(rows=ROWS, others=st.lists(HASHES, max_size=40), batch_rows=st.integers(1, 90), chosen=st.randoms())
def test_a_lookup_finds_the_rows_of_its_hashes_and_no_others(
    rows: list[Row], others: list[int], batch_rows: int, chosen: random.Random
) -> None:
    rows = rows or [(0, "")]
    file, segment = written(rows, batch_rows)
    assert (segment.rows, segment.size) == (len(rows), len(file.getvalue()))
    assert (segment.first, segment.last) == (min(rows)[0], max(rows)[0])
    assert sorted(text.decode() for text in every_text(file, segment)) == sorted(text for _, text in rows)
    hashes = {*chosen.sample([each for each, _ in rows], len(rows) // 3), *others}
    assert found(file, segment, hashes) == sorted(text for each, text in rows if each in hashes)


@given(sizes=st.lists(st.integers(0, 4), max_size=90), batch_rows=st.integers(1, 50))
def test_rows_of_one_hash_are_in_one_block(sizes: list[int], batch_rows: int) -> None:
    """Else a lookup, which opens the last block that begins at or below a hash, would miss some."""
    hashes = [number for number, size in enumerate(sizes) for _ in range(size * 20)]
    schema = pa.schema({"key_hash": pa.int64(), "packed": pa.string()})
    table = pa.Table.from_pydict({"key_hash": hashes, "packed": [str(each) for each in hashes]}, schema=schema)
    blocks = [block[0].tolist() for block in blocks_of(table.to_batches(max_chunksize=batch_rows))]
    assert [each for block in blocks for each in block] == hashes
    assert all(one[-1] < other[0] for one, other in pairwise(blocks))


def _many(count: int, seed: int = 3) -> list[Row]:
    rng = random.Random(seed)
    return [(rng.randrange(LOWEST, HIGHEST), f"row {number} {rng.random()}") for number in range(count)]


def test_a_lookup_reads_what_its_keys_need_whatever_the_size_of_the_segment() -> None:
    rows = _many(60_000)
    file, segment = written(rows, 10_000)
    wanted = rows[::6_000]
    assert found(file, segment, [each for each, _ in wanted]) == sorted(text for _, text in wanted)
    assert file.read_bytes < len(wanted) * 24_000 + segment.table
    file.read_bytes = file.requests = 0
    assert found(file, segment, [each for each, _ in _many(300, seed=4)]) == []
    pages = -(-60_000 // (BLOCK_ROWS * PAGE_BLOCKS))
    assert file.requests < 1 + pages + 30, "of hashes that are not there, the filters leave out nearly all"


def test_near_parts_are_read_in_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _many(20_000)
    file, segment = written(rows, 10_000)
    assert len(found(file, segment, [each for each, _ in rows])) == len(rows)
    assert file.requests == 3, "table, pages, blocks"
    few = np.array(sorted(each for each, _ in rows[::1_000]), "<i8")
    requests = []
    for near in (0, 10_000_000):
        file.requests = 0
        assert len(list(find_texts(file, segment, few, near=near))) == len(few)
        requests.append(file.requests)
    assert requests[0] >= len(few), "each block by itself"
    assert requests[1] == 3
    monkeypatch.setattr(segments, "_MOST_BYTES", 100_000)
    file.requests = 0
    assert len(list(find_texts(file, segment, few, near=10_000_000))) == len(few)
    assert 3 < file.requests < len(few)


@pytest.mark.parametrize("place", ["block", "page", "table", "end", "shorter", "longer"])
def test_what_is_damaged_is_noticed(place: str) -> None:
    rows = _many(100)
    file, segment = written(rows)
    content = bytearray(file.getvalue())
    places = {"block": 40, "page": segment.size - segment.table - 5, "table": segment.size - segment.table + 3}
    if place == "shorter":
        content = content[: segment.size - 10]
    elif place == "longer":
        content = content[:50] + b"more" + content[50:]
    else:
        content[places.get(place, segment.size - 1)] ^= 0x40
    with pytest.raises(DamagedIndexError, match=r"index folder/file is damaged.*run it again"):
        found(Stored(bytes(content)), segment, [each for each, _ in rows])


def test_texts_leave_in_batches_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BATCH_BYTES", 10)
    texts: Sequence[bytes] = [b"12345", b"67890", b"", "ä".encode(), b"x" * 30, b"y"]
    batches = [batch.column("packed").to_pylist() for batch in batches_of(texts)]
    assert batches == [["12345", "67890"], ["", "ä", "x" * 30], ["y"]]
    assert list(batches_of([])) == []
