"""Declared columns as Arrow has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

if TYPE_CHECKING:
    import pyarrow


def arrow_type(column: ColumnSpec) -> pyarrow.DataType:
    """The Arrow type of a column's values."""
    import pyarrow as pa

    if column.type is ColumnType.DECIMAL:
        return pa.decimal128(column.precision, column.scale)
    types = {
        ColumnType.BIGINT: pa.int64(),
        ColumnType.STRING: pa.string(),
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    }
    return types[column.type]
