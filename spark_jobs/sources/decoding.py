"""Landing chunks to a DataFrame of decoded records, on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.rejections import IGNORED, OtherTableError, Reason, RejectedRecordError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ROW_COLUMNS
from spark_jobs.python_tasks import Batches, map_batches, map_tasks
from spark_jobs.sources.arrow_types import arrow_type
from spark_jobs.sources.columnar import ColumnarDecoder
from spark_jobs.sources.decoded_rows import DecodedRows
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.file_lines import iter_chunk, read_broken
from spark_jobs.sources.file_scan import Chunk
from spark_jobs.sources.kept_bytes import BATCH_BYTES, MAX_KEPT_BYTES, TooLarge
from spark_jobs.sources.landing_plan import BrokenPart
from spark_jobs.sources.layout_batch import RECORD, Gathered
from spark_jobs.storage.filesystem import Filesystem

if TYPE_CHECKING:
    import pyarrow

BATCH_ROWS = 5000
SOURCE_ORIGIN, SOURCE_MARK, SOURCE_IDENTITY = "source_origin", "source_mark", "source_identity"
SOURCE_COLUMNS = (SOURCE_ORIGIN, SOURCE_MARK, SOURCE_IDENTITY)
"""Of decoded records alone: the table at the source, what rises in its stream, and the server, as texts."""
KEY_COLUMNS = "key_columns"
"""Of decoded records alone, in a lake with patterns: the columns of the key of a record's table, as the record says."""
_ROW_TYPES = ("string", "map<string,string>", "map<string,string>", "array<string>")
LINES = "read_from string, read_offset bigint, raw binary"
"""Bytes of records and where they were read."""


def decoded_schema(spec: LakeSpec) -> str:
    """DDL of decoded records: event columns (null when rejected), source columns, position, reason, detail, raw."""
    columns = [f"{column.name} {column.sql_type}" for column in spec.source.columns]
    if spec.has_row_columns:
        columns += [f"{name} {type_}" for name, type_ in zip(ROW_COLUMNS, _ROW_TYPES, strict=True)]
    if spec.patterns:
        columns.append(f"{KEY_COLUMNS} array<string>")
    columns += [f"{name} string" for name in SOURCE_COLUMNS]
    own = "".join(f"{column}, " for column in columns)
    return (
        f"event_id string, op string, event_order string, event_time timestamp, transaction_id string, {own}"
        "read_from string, read_offset bigint, reason string, detail string, raw binary"
    )


def decode_chunks(
    spark: SparkSession, spec: LakeSpec, root: str, chunks: tuple[Chunk, ...], broken: tuple[BrokenPart, ...]
) -> DataFrame:
    """Decode every line of ``chunks``, one task a chunk, and the broken parts as rejected records: one row for each.

    A line without a record is a row too, with the reason ``IGNORED``: every line that was read can be counted.
    """
    tasks = max(1, len(chunks))
    decode = _build_decoder(spec, root, chunks, broken)
    return map_tasks(spark, tasks, decode, decoded_schema(spec))


def read_lines(
    spark: SparkSession, root: str, chunks: tuple[Chunk, ...], wanted: Mapping[str, frozenset[int]]
) -> DataFrame:
    """The bytes of single lines: ``read_from``, ``read_offset``, ``raw``.

    Args:
        spark: where it is read, one task a chunk.
        root: the folder that paths are below.
        chunks: what was decoded.
        wanted: by path, the places of the lines.
    """
    parts = [
        (chunk, frozenset(at for at in wanted[chunk.path] if chunk.start <= at < chunk.end))
        for chunk in chunks
        if chunk.path in wanted
    ]
    parts = [part for part in parts if part[1]]

    def read(numbers: Iterable[int]) -> Batches:
        for number in numbers:
            chunk, places = parts[number]
            lines = iter_chunk(Filesystem(root), chunk)
            yield from line_batches(
                (chunk.path, at, line.raw if isinstance(line, TooLarge) else line) for at, line in lines if at in places
            )

    return map_tasks(spark, len(parts), read, LINES)


def line_batches(found: Iterable[tuple[str, int, bytes | None]]) -> Iterator[pyarrow.RecordBatch]:
    """Places with the bytes that are there, in batches of about ``BATCH_BYTES``; at least one batch.

    A message of Kafka without a value has no bytes.
    """
    gathered, weight = list[tuple[str, int, bytes | None]](), 0
    for each in found:
        gathered.append(each)
        weight += len(each[2] or b"")
        if weight >= BATCH_BYTES:
            yield _lines_batch(gathered)
            gathered, weight = [], 0
    yield _lines_batch(gathered)


def _lines_batch(found: list[tuple[str, int, bytes | None]]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    places, offsets, lines = zip(*found, strict=True) if found else ((), (), ())
    columns = {
        "read_from": pa.array(places, pa.string()),
        "read_offset": pa.array(offsets, pa.int64()),
        "raw": pa.array(lines, pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def decode_records(spec: LakeSpec, records_df: DataFrame) -> DataFrame:
    """Decode records that are kept already, as :func:`decode_chunks` does: one row for each, and its hash.

    Args:
        spec: the lake.
        records_df: record_hash, read_from, read_offset and raw, the bytes to decode.

    Returns:
        The columns of :func:`decoded_schema`, and ``__record``: the record's hash as it was given.
    """

    def decode(batches: Batches) -> Batches:
        decoder = RecordDecoder(spec, has_record=True)
        for batch in batches:
            for record in batch.to_pylist():
                decoder.add(record["read_from"], record["read_offset"], record["raw"], record["record_hash"])
                if decoder.is_full:
                    yield decoder.flush()
        yield decoder.flush()

    wanted_df = records_df.select("record_hash", "read_from", "read_offset", "raw")
    return map_batches(wanted_df, decode, f"{decoded_schema(spec)}, {RECORD} string")


def _build_decoder(
    spec: LakeSpec, root: str, chunks: tuple[Chunk, ...], broken: tuple[BrokenPart, ...]
) -> Callable[[Iterable[int]], Batches]:
    tasks = max(1, len(chunks))

    def decode(numbers: Iterable[int]) -> Batches:
        decoder, files = RecordDecoder(spec), Filesystem(root)
        for number in numbers:
            for part in broken[number::tasks]:
                decoder.reject(part.path, part.offset, part.reason, part.detail, read_broken(files, part))
                if decoder.is_full:
                    yield decoder.flush()
            if number < len(chunks):
                yield from _decode_chunk(decoder, files, chunks[number])
        yield decoder.flush()

    return decode


def _decode_chunk(decoder: RecordDecoder, files: Filesystem, chunk: Chunk) -> Iterator[pyarrow.RecordBatch]:
    for offset, line in iter_chunk(files, chunk):
        if isinstance(line, TooLarge):
            decoder.reject(chunk.path, offset, Reason.TOO_LARGE, line.detail, line.raw)
        else:
            decoder.add(chunk.path, offset, line)
        if decoder.is_full:
            yield decoder.flush()


def _fields_of(spec: LakeSpec, *, has_record: bool) -> list[tuple[str, Any]]:
    """The columns of :func:`decoded_schema` as Arrow has them, and the hash of a record that is decoded once more."""
    import pyarrow as pa

    fields: list[tuple[str, Any]] = [("event_id", pa.string()), ("op", pa.string()), ("event_order", pa.string())]
    fields += [("event_time", pa.timestamp("us", tz="UTC")), ("transaction_id", pa.string())]
    fields += [(column.name, arrow_type(column)) for column in spec.source.columns]
    texts = pa.map_(pa.string(), pa.string())
    if spec.has_row_columns:
        fields += zip(ROW_COLUMNS, (pa.string(), texts, texts, pa.list_(pa.string())), strict=True)
    fields += [(KEY_COLUMNS, pa.list_(pa.string()))] if spec.patterns else []
    fields += [(name, pa.string()) for name in SOURCE_COLUMNS]
    fields += [("read_from", pa.string()), ("read_offset", pa.int64())]
    fields += [("reason", pa.string()), ("detail", pa.string()), ("raw", pa.binary())]
    return [*fields, (RECORD, pa.string())] if has_record else fields


class RecordDecoder:
    """Decodes records, each to one row, and gathers the rows until they leave as an Arrow batch.

    Args:
        spec: the lake.
        has_record: rows have the column ``__record`` as well, the last argument of :meth:`add`.
    """

    def __init__(self, spec: LakeSpec, *, has_record: bool = False) -> None:
        self._rows, self._decoder = DecodedRows(_fields_of(spec, has_record=has_record)), EnvelopeDecoder(spec)
        self._columnar, self._weight = ColumnarDecoder(spec, self._decoder), 0
        self._has_row_columns, self._has_keys = spec.has_row_columns, bool(spec.patterns)

    def add(self, path: str, offset: int, line: bytes, *record: str, key: bytes = b"") -> None:
        """Decode the record that was read at a place; ``key`` is that of a message of Kafka."""
        self._weight += len(line)
        gathered = path, offset, line, key, record
        if not self._columnar.take(gathered) and self._add_single(gathered):
            self._columnar.learn(path, line)

    def _add_single(self, gathered: Gathered) -> bool:
        """Decode a record by itself; True when it is an event."""
        path, offset, line, key, record = gathered
        try:
            event = self._decoder.decode(line, key)
        except RejectedRecordError as error:
            self.reject(path, offset, error.reason, error.detail, line, *record)
        except OtherTableError as error:
            self.reject(path, offset, IGNORED, error.table, b"", *record)
        else:
            if event is None:
                self.reject(path, offset, IGNORED, "", b"", *record)
            else:
                values = (
                    *event[:5],
                    *event.values,
                    *self._row_columns(event),
                    event.origin,
                    event.mark,
                    event.identity,
                )
                self._rows.append((*values, path, offset, None, None, None, *record))
                return True
        return False

    def _row_columns(self, event: DecodedEvent) -> tuple[Any, ...]:
        """The values of the columns that a log has for rows of any columns; none where it has none."""
        if not self._has_row_columns:
            return ()
        row, beside = event.mirrored, event.beside
        if row:
            columns: tuple[Any, ...] = (row.origin, row.types, row.values, row.unknown)
        else:
            columns = (
                (None, beside.types, beside.values, event.unknown) if beside else (None, None, None, event.unknown)
            )
        return (*columns, row.key if row else None) if self._has_keys else columns

    def reject(self, path: str, offset: int, reason: str, detail: str, raw: bytes, *record: str) -> None:
        """Take in what cannot be used as it is; of what is too large its size and hash."""
        if len(raw) > MAX_KEPT_BYTES:
            large = TooLarge.of(raw)
            reason, detail, raw = Reason.TOO_LARGE, large.detail, large.raw
        self._weight += len(raw)
        self._rows.reject(path, offset, reason, detail, raw, *record)

    @property
    def is_full(self) -> bool:
        """True when there are rows enough for a batch, or they weigh enough."""
        return len(self._rows) + self._columnar.gathered >= BATCH_ROWS or self._weight >= BATCH_BYTES

    def flush(self) -> pyarrow.RecordBatch:
        """A batch of the rows that are left."""
        parts, doubtful = self._columnar.flush()
        for gathered in doubtful:
            self._add_single(gathered)
        self._weight = 0
        return self._rows.flush(parts)
