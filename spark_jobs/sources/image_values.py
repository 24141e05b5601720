"""The values of declared columns for many rows at once, of images whose layout is known.

A value in its usual form is read with all others of its column. Of every other the converter decides that reads single
values (:mod:`spark_jobs.sources.values`); a row with one that it refuses is in doubt, and is decoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spark_jobs.contracts.rejections import RejectedRecordError
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType
from spark_jobs.sources.arrow_types import arrow_type
from spark_jobs.sources.connect_schemas import RowSchema
from spark_jobs.sources.layouts import Kind
from spark_jobs.sources.values import (
    YEAR_2200,
    Converter,
    build_converter,
    build_schema_converter,
    decimal_form,
    units_of_time,
)

if TYPE_CHECKING:
    import pyarrow

Doubt = Any
"""By row, whether it is in doubt: an array of numpy, which is imported where it is used."""

KINDS = {
    ColumnType.BIGINT: Kind.WHOLE,
    ColumnType.TIMESTAMP: Kind.WHOLE,
    ColumnType.STRING: Kind.TEXT,
    ColumnType.DECIMAL: Kind.TEXT,
    ColumnType.BOOLEAN: Kind.TRUTH,
}
"""What the values of a column usually are."""
ColumnReader = Callable[["pyarrow.Array", Doubt], "pyarrow.Array"]
"""The values of a column as they are sent to what they are in the lake; marks rows that are in doubt."""


def build_column_reader(column: ColumnSpec, kind: Kind, connector: str, schema: RowSchema) -> ColumnReader:
    """How values of ``kind`` are read that a connector sends for ``column`` in records of a schema."""
    field = schema.fields.get(column.source)
    own = build_schema_converter(column, field) if field else None
    convert = own or build_converter(column, connector)
    if own is None and KINDS[column.type] is kind and column.type in (ColumnType.BIGINT, ColumnType.BOOLEAN):
        return lambda values, doubt: values
    if own is None and column.type is ColumnType.STRING and kind is Kind.TEXT:
        return _build_text_reader(column)
    if column.type is ColumnType.TIMESTAMP and kind is Kind.WHOLE:
        return _build_moment_reader(column, connector, field)
    is_sent_as_text = own is None or (field or {}).get("type") == "string"
    if column.type is ColumnType.DECIMAL and kind is Kind.TEXT and not column.packed and is_sent_as_text:
        return _build_decimal_reader(column, convert)
    return lambda values, doubt: _read_each(values, doubt, convert, arrow_type(column))


def _build_text_reader(column: ColumnSpec) -> ColumnReader:
    def read(values: Any, doubt: Any) -> Any:
        import pyarrow.compute as pc

        longest = pc.max(pc.binary_length(values)).as_py() or 0
        if longest > column.max_length:
            doubt |= flags(pc.greater(pc.utf8_length(values), column.max_length))
        return values

    return read


def _build_moment_reader(column: ColumnSpec, connector: str, field: dict[str, Any] | None) -> ColumnReader:
    units = units_of_time(column, connector, field)

    def read(values: Any, doubt: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        latest = int(YEAR_2200 / units)
        found = pc.min_max(values).as_py()
        if values.null_count < len(values) and (found["min"] < 0 or found["max"] > latest):
            is_far = pc.or_(pc.less(values, 0), pc.greater(values, latest))
            doubt |= flags(is_far)
            values = pc.if_else(is_far, pa.scalar(None, pa.int64()), values)
        is_finer = units < 1
        factor = int(1 / units) if is_finer else int(units)
        return (pc.divide if is_finer else pc.multiply)(values, factor).cast(arrow_type(column))

    return read


def _build_decimal_reader(column: ColumnSpec, convert: Converter) -> ColumnReader:
    form = decimal_form(column)

    def read(values: Any, doubt: Any) -> Any:
        import pyarrow.compute as pc

        is_usual = bool(form) and pc.all(pc.match_substring_regex(values, rf"\A{form}\z"), min_count=0).as_py()
        if is_usual:
            return values.cast(arrow_type(column))
        return _read_each(values, doubt, convert, arrow_type(column))

    return read


def _read_each(values: Any, doubt: Any, convert: Converter, type_: Any) -> Any:
    import pyarrow as pa

    read = list[Any]()
    for at, value in enumerate(values.to_pylist()):
        try:
            read.append(None if value is None else convert(value))
        except RejectedRecordError:
            doubt[at] = True
            read.append(None)
    return pa.array(read, type_)


def flags(values: Any) -> Any:
    """A mask of rows; null is False."""
    import pyarrow.compute as pc

    return pc.fill_null(values, False).to_numpy(zero_copy_only=False)
