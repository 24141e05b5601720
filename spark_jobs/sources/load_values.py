"""Records of a load's files to typed rows, on the executors; what does not fit becomes a rejection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.loads import FileFormat, LoadOperation, LoadSpec, is_day, is_partition
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.arrow_types import arrow_type
from spark_jobs.sources.kept_bytes import BATCH_BYTES
from spark_jobs.sources.load_files import LoadFiles, needed_columns
from spark_jobs.sources.load_rows import FileRecord, iter_records
from spark_jobs.sources.values import Converter, build_converter
from spark_jobs.storage.filesystem import Filesystem

if TYPE_CHECKING:
    import pyarrow

FILE, AT, READ_FROM = "__file", "__at", "__read_from"
"""Where a row was read: the number of its file in the order of the load, its place there, and the file's path."""
REASON, DETAIL, RAW = "__reason", "__detail", "__raw"
_BATCH_ROWS = 5000
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
Row = tuple[Any, ...]


def decode_files(
    spark: SparkSession, load: LoadSpec, files: LoadFiles, operation: LoadOperation, *, keeps_raw: bool
) -> DataFrame:
    """Every record of the files as a row, one task a file.

    Args:
        spark: where it is read.
        load: the table.
        files: what to read.
        operation: columns that it does not need are null.
        keeps_raw: rows that can be used have their bytes too, because a rule may set them aside.

    Returns:
        The load's columns (null when rejected), ``__file``, ``__at``, ``__read_from``, ``__reason`` and ``__detail``
        (null when usable), ``__raw``.
    """
    paths = [entry.path for entry in files.entries]
    root, kind, delimiter = files.root, files.format, files.delimiter
    ddl = ", ".join(f"{column.name} {column.sql_type}" for column in load.columns)
    schema = f"{ddl}, {FILE} int, {AT} bigint, {READ_FROM} string, {REASON} string, {DETAIL} string, {RAW} binary"

    def decode(numbers: Iterable[int]) -> Batches:
        convert = _build(load, kind, operation)
        for number in numbers:
            rows, weight = list[Row](), 0
            with Filesystem(root).open(paths[number]) as file:
                for record in iter_records(file, kind, delimiter):
                    place = (number, record.at, paths[number])
                    rows.append(_row(record, convert, place, load, keeps_raw=keeps_raw))
                    weight += record.weight
                    if len(rows) >= _BATCH_ROWS or weight >= BATCH_BYTES:
                        yield _batch(rows, load)
                        rows, weight = [], 0
            yield _batch(rows, load)

    return map_tasks(spark, len(paths), decode, schema)


def _row(
    record: FileRecord, convert: Callable[[FileRecord], Row], place: Row, load: LoadSpec, *, keeps_raw: bool
) -> Row:
    try:
        values = convert(record)
    except RejectedRecordError as error:
        return (*[None] * len(load.columns), *place, str(error.reason), error.detail, record.raw(load.name))
    return (*values, *place, None, None, record.raw(load.name) if keeps_raw else None)


def _batch(rows: list[Row], load: LoadSpec) -> pyarrow.RecordBatch:
    import pyarrow as pa

    fields = [(column.name, arrow_type(column)) for column in load.columns]
    fields += [(FILE, pa.int32()), (AT, pa.int64()), (READ_FROM, pa.string())]
    fields += [(REASON, pa.string()), (DETAIL, pa.string()), (RAW, pa.binary())]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [pa.array(values, type=kind) for values, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _build(load: LoadSpec, kind: FileFormat, operation: LoadOperation) -> Callable[[FileRecord], Row]:
    """The function that reads the declared columns out of a record."""
    wanted = set(needed_columns(load, operation))
    converters = [(column, _converter(column, kind) if column.source in wanted else None) for column in load.columns]

    def convert(record: FileRecord) -> Row:
        if record.error is not None or record.values is None:
            raise record.error or RejectedRecordError(Reason.NOT_JSON, "there is no record")
        found = record.values
        values = [
            None if read is None or (value := _known(found.get(column.source), kind)) is None else read(value)
            for column, read in converters
        ]
        _check_key(load, values)
        return tuple(values)

    return convert


def _known(value: Any, kind: FileFormat) -> Any:
    """The value; CSV has no other way to say that it is not known than to leave it out."""
    return None if value == "" and kind is FileFormat.CSV else value


def _converter(column: ColumnSpec, kind: FileFormat) -> Converter:
    read = build_converter(column, kind.value)
    if kind is FileFormat.CSV and column.type is ColumnType.BOOLEAN:
        return lambda value: read(_BOOLEANS.get(value.lower(), value))
    if kind is FileFormat.PARQUET and column.type is ColumnType.TIMESTAMP:
        return lambda value: read(value.isoformat() if isinstance(value, date) else value)
    return read


def _check_key(load: LoadSpec, values: list[Any]) -> None:
    of_key = {column.name: value for column, value in zip(load.columns, values, strict=True) if column.name in load.key}
    if missing := [name for name, value in of_key.items() if value is None or value == ""]:
        raise RejectedRecordError(Reason.MISSING_KEY, f"{missing[0]} is missing")
    value = of_key.get(load.partition)
    if not isinstance(value, str):
        return
    if load.is_by_day and not is_day(value):
        raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"{load.partition} is no day (year-month-day)")
    if not is_partition(value):
        raise RejectedRecordError(
            Reason.BAD_TEXT,
            f"{load.partition} is no name of a partition (letters, digits, underscore, full stop, hyphen; at most a "
            f"hundred)",
        )
