"""Stored rows and keyed rows, whichever form a table has on storage."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_jobs.transforms.column_orders import from_columns, to_columns
from spark_jobs.transforms.keyed_rows import MergedTable
from spark_jobs.transforms.row_orders import from_rows, to_rows


def to_stored(rows_df: DataFrame, table: MergedTable) -> DataFrame:
    """The rows of one ``table`` among merged keyed rows, in the columns that it is stored with.

    :func:`spark_jobs.transforms.row_orders.to_rows` or :func:`spark_jobs.transforms.column_orders.to_columns`.
    """
    return to_rows(rows_df, table) if table.spec.has_row_order else to_columns(rows_df, table)


def from_stored(table_df: DataFrame, table: MergedTable, width: int) -> DataFrame:
    """Keyed rows (``table``, ``key``, ``row_order``, ``deleted_order``, so many slots) of a table's stored rows."""
    if table.spec.has_row_order:
        return from_rows(table_df, table, width)
    return from_columns(table_df, table, width)
