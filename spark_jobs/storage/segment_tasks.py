"""Segments of packed rows written, looked up and read on the executors."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.lake_errors import DamagedIndexError
from spark_jobs.contracts.packed_rows import KEY_HASH, PACKED
from spark_jobs.python_tasks import Batches, map_batches, map_tasks
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.segment_writer import SEGMENT_BYTES, SegmentWriter, blocks_of
from spark_jobs.storage.segments import NEAR_BYTES, NEAR_STORE_BYTES, Segment, batches_of, every_text, find_texts

if TYPE_CHECKING:
    import numpy as np

ONE_TASK_ROWS = 100_000
"""So many rows are written by one task, into one segment: a lookup opens every segment."""
_RANGES_A_TASK = 4
"""Ranges of hashes are given to tasks by their own hash, so that some more than tasks even out."""
_SEGMENT = "path string, size bigint, `table` bigint, rows bigint, first bigint, last bigint"


def write_segments(packed_df: DataFrame, root: str, folder: str, *, most: int | None) -> tuple[Segment, ...]:
    """Write ``key_hash``, ``packed`` to new segments below ``root``/``folder``.

    ``most`` rows are there; None when that is not known.
    """

    def write(batches: Batches) -> Batches:
        import pyarrow as pa

        for segment in _written(Filesystem(root), folder, batches):
            yield pa.RecordBatch.from_pylist([asdict(segment)])

    is_small = most is not None and most <= ONE_TASK_ROWS
    spread_df = packed_df.coalesce(1) if is_small else _by_range(packed_df)
    sorted_df = spread_df.select(KEY_HASH, PACKED).sortWithinPartitions(KEY_HASH)
    rows = map_batches(sorted_df, write, _SEGMENT).collect()
    return tuple(Segment(**row.asDict()) for row in rows)


def find_packed(hashes_df: DataFrame, root: str, segments: Sequence[Segment]) -> DataFrame:
    """The rows of the segments that have a ``key_hash`` in ``hashes_df``, as ``packed``."""

    def find(batches: Batches) -> Batches:
        import numpy as np

        parts = [batch.column(0).to_numpy() for batch in batches]
        if not parts:
            return
        wanted = np.unique(np.concatenate(parts))
        yield from batches_of(_found(Filesystem(root), segments, wanted))

    return map_batches(_by_range(hashes_df.select(KEY_HASH)), find, f"{PACKED} string")


def read_packed(spark: SparkSession, root: str, segments: Sequence[Segment]) -> DataFrame:
    """All rows of the segments, as ``packed``; a task for each segment."""

    def read(numbers: Iterable[int]) -> Batches:
        return batches_of(_each_text(Filesystem(root), [segments[number] for number in numbers], every_text))

    return map_tasks(spark, len(segments), read, f"{PACKED} string")


def _by_range(rows_df: DataFrame) -> DataFrame:
    """Rows in as many partitions as a shuffle has, near hashes together: a task of a lookup then opens few segments."""
    tasks = int(rows_df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    bits = (tasks * _RANGES_A_TASK - 1).bit_length()
    return rows_df.repartition(tasks, F.shiftright(KEY_HASH, 64 - bits))


def _written(files: Filesystem, folder: str, batches: Batches) -> Iterator[Segment]:
    writer: SegmentWriter | None = None
    for hashes, lengths, texts in blocks_of(batches):
        if writer is None:
            path = f"{folder}/{uuid.uuid4().hex}"
            writer = SegmentWriter(path=path, stream=files.create(path))
        writer.add(hashes, lengths, texts)
        if writer.place >= SEGMENT_BYTES:
            yield writer.close()
            writer = None
    if writer is not None:
        yield writer.close()


def _found(files: Filesystem, segments: Iterable[Segment], wanted: np.ndarray) -> Iterator[bytes]:
    near = NEAR_BYTES if files.is_local else NEAR_STORE_BYTES
    return _each_text(files, segments, lambda file, segment: find_texts(file, segment, wanted, near=near))


def _each_text(
    files: Filesystem, segments: Iterable[Segment], texts: Callable[[object, Segment], Iterator[bytes]]
) -> Iterator[bytes]:
    for segment in segments:
        try:
            with files.open(f"{files.root}/{segment.path}") as file:
                yield from texts(file, segment)
        except FileNotFoundError as error:
            raise DamagedIndexError(path=segment.path) from error
