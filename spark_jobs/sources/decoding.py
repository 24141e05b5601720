"""Landing chunks to a DataFrame of decoded records, on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.rejections import RejectedRecordError
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnType
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.file_blocks import iter_lines, read_range
from spark_jobs.sources.file_scan import Chunk
from spark_jobs.sources.landing import BrokenPart
from spark_jobs.storage.filesystem import Filesystem

if TYPE_CHECKING:
    import pyarrow

BATCH_ROWS = 5000


def decoded_schema(spec: LakeSpec) -> str:
    """DDL of decoded records: event columns (null when rejected), source columns, position, reason, detail, raw."""
    columns = ", ".join(f"{column.name} {column.sql_type}" for column in spec.source.columns)
    return (
        f"event_id string, op string, event_order string, event_time timestamp, {columns}, "
        "read_from string, read_offset bigint, reason string, detail string, raw binary"
    )


def decode_chunks(
    spark: SparkSession, spec: LakeSpec, root: str, chunks: tuple[Chunk, ...], broken: tuple[BrokenPart, ...]
) -> DataFrame:
    """Decode every line of ``chunks``, one task a chunk, and the broken parts as rejected records."""
    tasks = max(1, len(chunks))
    decode = _build_decoder(spec, root, chunks, broken)
    return spark.range(0, tasks, 1, tasks).mapInArrow(decode, decoded_schema(spec))


def _build_decoder(
    spec: LakeSpec, root: str, chunks: tuple[Chunk, ...], broken: tuple[BrokenPart, ...]
) -> Callable[[Iterable[pyarrow.RecordBatch]], Iterable[pyarrow.RecordBatch]]:
    def decode(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        rows = _Rows(spec)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                if task == 0:
                    for part in broken:
                        rows.reject(part.path, part.offset, part.reason, part.detail, part.raw)
                if task < len(chunks):
                    yield from _decode_chunk(spec, root, chunks[task], rows)
        yield rows.flush()

    return decode


def _decode_chunk(spec: LakeSpec, root: str, chunk: Chunk, rows: _Rows) -> Iterator[pyarrow.RecordBatch]:
    decoder = EnvelopeDecoder(spec)
    with Filesystem(root).open(chunk.path) as file:
        content = read_range(file, chunk.start, chunk.end)
    for offset, line in iter_lines(content, chunk.start):
        try:
            event = decoder.decode(line)
        except RejectedRecordError as error:
            rows.reject(chunk.path, offset, error.reason, error.detail, line)
        else:
            if event is not None:
                event_columns = (event.event_id, event.op, event.event_order, event.event_time)
                rows.append((*event_columns, *event.values, chunk.path, offset, None, None, None))
        if len(rows) >= BATCH_ROWS:
            yield rows.flush()


class _Rows:
    """Rows gathered until they leave as one Arrow batch."""

    def __init__(self, spec: LakeSpec) -> None:
        import pyarrow as pa

        types = {
            ColumnType.BIGINT: pa.int64(),
            ColumnType.STRING: pa.string(),
            ColumnType.BOOLEAN: pa.bool_(),
            ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
        }
        fields: list[tuple[str, Any]] = [("event_id", pa.string()), ("op", pa.string()), ("event_order", pa.string())]
        fields.append(("event_time", types[ColumnType.TIMESTAMP]))
        for column in spec.source.columns:
            is_decimal = column.type is ColumnType.DECIMAL
            fields.append(
                (column.name, pa.decimal128(column.precision, column.scale) if is_decimal else types[column.type])
            )
        fields += [("read_from", pa.string()), ("read_offset", pa.int64())]
        fields += [("reason", pa.string()), ("detail", pa.string()), ("raw", pa.binary())]
        self._arrow, self._schema = pa, pa.schema(fields)
        self._padding = (None,) * (4 + len(spec.source.columns))
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)

    def reject(self, path: str, offset: int, reason: str, detail: str, raw: bytes) -> None:
        self._rows.append((*self._padding, path, offset, str(reason), detail, raw))

    def flush(self) -> pyarrow.RecordBatch:
        columns = list(zip(*self._rows, strict=True)) if self._rows else [()] * len(self._schema)
        self._rows = []
        arrays = [
            self._arrow.array(values, type=field.type) for values, field in zip(columns, self._schema, strict=True)
        ]
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)
