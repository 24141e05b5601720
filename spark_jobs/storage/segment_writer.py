"""Segments are written: sorted rows in blocks, pages after them (see :mod:`spark_jobs.storage.segments`)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_jobs.storage.segments import BLOCK, END, MAGIC, PAGE, Segment, codec, probes

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

BLOCK_ROWS, PAGE_BLOCKS = 32, 256
SEGMENT_BYTES = 256 * 1024 * 1024
"""A segment with so many bytes of blocks gets no more rows."""
_BITS_A_ROW = 10
"""Of the filter: with seven probes about one hash in a hundred that is not there is looked for."""


@dataclass(kw_only=True)
class SegmentWriter:
    """One segment, written to ``stream`` as its rows come."""

    path: str
    stream: Any
    place: int = 0
    rows: int = 0
    first: int = 0
    last: int = 0
    _blocks: list[tuple[int, ...]] = field(default_factory=list)
    _hashes: list[np.ndarray] = field(default_factory=list)
    _pages: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Of each the first hash, how many blocks, and its content."""

    def add(self, hashes: np.ndarray, lengths: np.ndarray, texts: bytes) -> None:
        """Write a block: rows in the order of their hashes, none below those before."""
        raw = hashes.tobytes() + lengths.astype("<u4").tobytes() + texts
        content = codec().compress(raw, asbytes=True)
        first = int(hashes[0])
        self._blocks.append((first, self.place, len(content), len(raw), len(hashes), zlib.crc32(content)))
        self._hashes.append(hashes)
        self.first, self.last = self.first if self.rows else first, int(hashes[-1])
        self.rows += len(hashes)
        self._write(content)
        if len(self._blocks) == PAGE_BLOCKS:
            self._end_page()

    def close(self) -> Segment:
        """Write pages and their table after the blocks."""
        import numpy as np

        self._end_page()
        entries = []
        for first, blocks, content in self._pages:
            entries.append((first, self.place, len(content), blocks, zlib.crc32(content)))
            self._write(content)
        listed = np.array(entries, PAGE).tobytes()
        table = listed + END.pack(zlib.crc32(listed), len(entries), MAGIC)
        self._write(table)
        self.stream.close()
        return Segment(
            path=self.path, size=self.place, table=len(table), rows=self.rows, first=self.first, last=self.last
        )

    def _end_page(self) -> None:
        import numpy as np

        if self._blocks:
            content = np.array(self._blocks, BLOCK).tobytes() + _filter_of(np.concatenate(self._hashes))
            self._pages.append((self._blocks[0][0], len(self._blocks), content))
            self._blocks, self._hashes = [], []

    def _write(self, content: bytes) -> None:
        self.stream.write(content)
        self.place += len(content)


def blocks_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[np.ndarray, np.ndarray, bytes]]:
    """Sorted batches of ``key_hash``, ``packed`` in blocks: hashes, lengths of texts, texts.

    Rows of one hash are in one block.
    """
    import pyarrow as pa

    rest: list[pa.RecordBatch] = []
    for batch in batches:
        rest.append(batch)
        if sum(part.num_rows for part in rest) > BLOCK_ROWS:
            table = pa.Table.from_batches(rest)
            taken = yield from _cut(table, is_last=False)
            rest = table.slice(taken).to_batches()
    if sum(part.num_rows for part in rest):
        yield from _cut(pa.Table.from_batches(rest), is_last=True)


def _filter_of(hashes: np.ndarray) -> bytes:
    import numpy as np

    size = (len(hashes) * _BITS_A_ROW + 7) // 8
    is_set = np.zeros(size * 8, np.bool_)
    for places in probes(hashes, size * 8):
        is_set[places] = True
    return np.packbits(is_set, bitorder="little").tobytes()


def _cut(table: pa.Table, *, is_last: bool) -> Any:
    """Blocks of a table; gives how many of its rows are in them: those of the last hash wait for the next batch."""
    import numpy as np
    import pyarrow as pa

    (batch,) = table.combine_chunks().to_batches()
    hashes = batch.column(0).to_numpy().astype("<i8", copy=False)
    texts = batch.column(1).cast(pa.large_binary())
    ends = np.frombuffer(texts.buffers()[1], "<i8")[texts.offset : texts.offset + len(texts) + 1]
    content, start = memoryview(texts.buffers()[2] or b""), 0
    while start < len(hashes):
        end = int(np.searchsorted(hashes, hashes[min(start + BLOCK_ROWS, len(hashes)) - 1], "right"))
        if end == len(hashes) and not is_last:
            break
        yield hashes[start:end], np.diff(ends[start : end + 1]), bytes(content[ends[start] : ends[end]])
        start = end
    return start
