"""Files of packed rows sorted by hash, of which a lookup reads the few kilobytes that may hold a key.

A segment begins with its *blocks*, each some rows compressed together, and ends with its *pages* and the table of its
pages. A page is about 256 blocks that follow each other: the first hash of each, where it is, and a Bloom filter of the
hashes of all of them. A lookup reads the table of pages, the pages in whose range a hash is, and the blocks that their
filters do not rule out: some 20 KB a key, never more than the segment. Rows of one hash are in one block.

Every block, page and table has a checksum. Plain Python, because it runs on the executors without a plan of Spark:
with numpy and pyarrow it takes some 15 microseconds a key, where to scan Parquet takes 0.7 a row.

    block   zstd( hash: int64 x rows | length of text: uint32 x rows | texts in UTF-8 )
    page    entry of a block (first hash, place, bytes, bytes uncompressed, rows, CRC-32) x blocks | bits of the filter
    table   entry of a page (first hash, place, bytes, blocks, CRC-32) x pages | CRC-32 of these | how many | magic
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from spark_jobs.contracts.lake_errors import DamagedIndexError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

BATCH_BYTES = 4 * 1024 * 1024
"""A batch with so many bytes of texts is given."""
NEAR_BYTES, NEAR_STORE_BYTES = 8 * 1024, 1024 * 1024
"""What lies between two parts that are needed is read with them when it is not more: one request instead of two. On an
object store a request takes as long as to read a megabyte."""
_MOST_BYTES = 16 * 1024 * 1024
"""Of one request."""
BLOCK = [("first", "<i8"), ("place", "<u8"), ("size", "<u4"), ("raw", "<u4"), ("rows", "<u4"), ("crc", "<u4")]
PAGE = [("first", "<i8"), ("place", "<u8"), ("size", "<u4"), ("blocks", "<u4"), ("crc", "<u4")]
END = struct.Struct("<II8s")
MAGIC = b"LHROWS01"
_PROBES, _MIX = 7, 0x9E3779B97F4A7C15
_ROW_BYTES = 12
"""A hash and a length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One segment.

    Attributes:
        path: of its file, below the root of the index.
        size: bytes of the file.
        table: bytes of the table of pages, with which the file ends.
        rows: how many there are.
        first: the lowest hash.
        last: the highest hash.
    """

    path: str
    size: int
    table: int
    rows: int
    first: int
    last: int


class _Block(NamedTuple):
    """An entry of a page."""

    first: int
    place: int
    size: int
    raw: int
    rows: int
    crc: int


class _Page(NamedTuple):
    """An entry of the table of pages."""

    first: int
    place: int
    size: int
    blocks: int
    crc: int


_Part = TypeVar("_Part", _Block, _Page)


def find_texts(file: Any, segment: Segment, wanted: np.ndarray, *, near: int = NEAR_BYTES) -> Iterator[bytes]:
    """The texts of the rows with one of these hashes, which are sorted and each there once.

    Parts of the file are read together when no more than ``near`` bytes lie between them.

    Raises:
        DamagedIndexError: the file is not what was written.
    """
    import numpy as np

    wanted = wanted[np.searchsorted(wanted, segment.first) : np.searchsorted(wanted, segment.last, "right")]
    if not len(wanted):
        return
    table = _read_table(file, segment)
    in_pages = list(_by_range(table["first"], wanted))
    pages = map(_Page._make, table[[number for number, _ in in_pages]].tolist())
    blocks, in_blocks = list[_Block](), list[np.ndarray]()
    for (page, content), (_, of_page) in zip(_read_near(file, segment, pages, near), in_pages, strict=True):
        entries, bits = _parts_of(page, content)
        held = of_page[_may_hold(bits, of_page)]
        if len(held):
            found = list(_by_range(entries["first"], held))
            blocks += map(_Block._make, entries[[number for number, _ in found]].tolist())
            in_blocks += [hashes for _, hashes in found]
    for (block, content), hashes in zip(_read_near(file, segment, blocks, near), in_blocks, strict=True):
        yield from _texts_of(content, block, hashes.tolist())


def every_text(file: Any, segment: Segment) -> Iterator[bytes]:
    """The texts of all rows, in the order of their hashes."""
    pages = map(_Page._make, _read_table(file, segment).tolist())
    for page, of_page in _read_near(file, segment, pages, NEAR_BYTES):
        blocks = map(_Block._make, _parts_of(page, of_page)[0].tolist())
        for block, content in _read_near(file, segment, blocks, NEAR_BYTES):
            yield from _texts_of(content, block, None)


def batches_of(texts: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Texts as batches of ``packed``."""
    import pyarrow as pa

    held, size = list[bytes](), 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= BATCH_BYTES:
            yield pa.RecordBatch.from_arrays([pa.array(held, pa.string())], ["packed"])
            held, size = [], 0
    if held:
        yield pa.RecordBatch.from_arrays([pa.array(held, pa.string())], ["packed"])


@cache
def codec() -> Any:
    """How blocks are compressed: zstd at its fastest, which packs texts of this kind as well as level 3."""
    import pyarrow as pa

    return pa.Codec("zstd", compression_level=1)


def probes(hashes: np.ndarray, bits: int) -> Iterator[np.ndarray]:
    """The bits of each hash, one after another: double hashing (Kirsch and Mitzenmacher, 2006)."""
    import numpy as np

    mixed = hashes.astype("<i8").view("<u8") * np.uint64(_MIX)
    one, step = mixed >> np.uint64(32), (mixed & np.uint64(0xFFFFFFFF)) | np.uint64(1)
    for number in range(_PROBES):
        yield (one + np.uint64(number) * step) % np.uint64(bits)


def _may_hold(bits: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    import numpy as np

    held = np.ones(len(hashes), np.bool_)
    for places in probes(hashes, len(bits) * 8):
        held &= (bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype("u1")) & 1 == 1
    return held


def _by_range(firsts: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Which entries the wanted hashes are in the range of, with those; a hash below the first entry is in none."""
    import numpy as np

    at = np.searchsorted(firsts, wanted, "right") - 1
    starts = np.flatnonzero(np.diff(at, prepend=-2)).tolist()
    for start, end, entry in zip(starts, [*starts[1:], len(at)], at[starts].tolist(), strict=True):
        if entry >= 0:
            yield entry, wanted[start:end]


def _read_table(file: Any, segment: Segment) -> np.ndarray:
    import numpy as np

    content = file.read_at(segment.table, segment.size - segment.table)
    if len(content) != segment.table or len(content) < END.size:
        raise DamagedIndexError(path=segment.path)
    crc, count, magic = END.unpack(content[-END.size :])
    listed = content[: -END.size]
    if magic != MAGIC or zlib.crc32(listed) != crc:
        raise DamagedIndexError(path=segment.path)
    return np.frombuffer(listed, PAGE, count)


def _parts_of(page: _Page, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The entries of a page's blocks, and its filter."""
    import numpy as np

    end = page.blocks * np.dtype(BLOCK).itemsize
    return np.frombuffer(content[:end], BLOCK), np.frombuffer(content[end:], "u1")


def _read_near(file: Any, segment: Segment, parts: Iterable[_Part], near: int) -> Iterator[tuple[_Part, bytes]]:
    """Pages or blocks with their contents, in the order of their places; those near each other are read together."""
    together, start, end = list[_Part](), 0, 0
    for part in parts:
        if together and (part.place - end > near or part.place + part.size - start > _MOST_BYTES):
            yield from _read_together(file, segment, together, end)
            together = []
        start = together[0].place if together else part.place
        together.append(part)
        end = part.place + part.size
    if together:
        yield from _read_together(file, segment, together, end)


def _read_together(file: Any, segment: Segment, parts: list[_Part], end: int) -> Iterator[tuple[_Part, bytes]]:
    start = parts[0].place
    content = file.read_at(end - start, start)
    for part in parts:
        at = part.place - start
        yield part, _checked(content[at : at + part.size], part.crc, segment)


def _checked(content: bytes, crc: int, segment: Segment) -> bytes:
    if zlib.crc32(content) != crc:
        raise DamagedIndexError(path=segment.path)
    return content


def _texts_of(content: bytes, block: _Block, wanted: list[int] | None) -> Iterator[bytes]:
    """The texts of a block's rows with wanted hashes, or of all."""
    raw = codec().decompress(content, block.raw, asbytes=True)
    view, rows = memoryview(raw), block.rows
    hashes, lengths = view[: 8 * rows].cast("q"), view[8 * rows : _ROW_BYTES * rows].cast("I")
    start = _ROW_BYTES * rows
    if wanted is None:
        for length in lengths:
            yield raw[start : start + length]
            start += length
        return
    for each in wanted:
        row = bisect_left(hashes, each)
        while row < rows and hashes[row] == each:
            at = start + sum(lengths[:row])
            yield raw[at : at + lengths[row]]
            row += 1
