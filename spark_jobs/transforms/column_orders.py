"""Stored rows with an order beside each column, the form of tables of the wide log, and keyed rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_ORDER, TableSpec
from spark_jobs.lake_spec.tables import Nulls
from spark_jobs.transforms.keyed_rows import DELETED_ORDER, KEY, TABLE, MergedTable, never_set, padded, slot
from spark_jobs.transforms.texts import from_text, to_text

_LIFE = (ROW_ORDER, DELETED_ORDER)


def order_column(column: str) -> str:
    """The name of the column that holds the event order of ``column``'s value."""
    return f"{column}_order"


def table_columns(table: TableSpec) -> tuple[str, ...]:
    """Columns of a table in order: key, values, the event order of each value.

    Tables that keep tombstones also have ``row_order`` (newest event of the row since its delete), ``deleted_order``
    and ``is_deleted``.
    """
    orders = tuple(order_column(column) for column in table.columns)
    life = (ROW_ORDER, DELETED_ORDER, IS_DELETED) if table.keeps_tombstones else ()
    return (table.key_column, *table.columns, *orders, *life)


def to_columns(rows_df: DataFrame, table: MergedTable) -> DataFrame:
    """The rows of one table among merged keyed rows, with :func:`table_columns` and their declared types.

    Those are the key, the values, and ``<column>_order`` for each value.
    """
    slots = list(zip(table.columns, table.slots, strict=True))
    columns = [from_text(F.col(KEY), table.key_type).alias(table.spec.key_column)]
    columns += [from_text(F.col(name)["value"], column.type).alias(column.name) for column, name in slots]
    columns += [F.col(name)["order"].alias(order_column(column.name)) for column, name in slots]
    if table.spec.keeps_tombstones:
        columns += [F.col(ROW_ORDER), F.col(DELETED_ORDER), F.col(ROW_ORDER).isNull().alias(IS_DELETED)]
    return rows_df.where(F.col(TABLE) == table.name).select(*columns)


def from_columns(table_df: DataFrame, table: MergedTable, width: int) -> DataFrame:
    """Keyed rows (``table``, ``key``, ``row_order``, ``deleted_order``, ``slot_0`` …) of a table's stored rows.

    Columns declared after these were written may be missing.
    """
    stored = set(table_df.columns)
    slots: list[Column] = []
    for column in table.columns:
        if not {column.name, order_column(column.name)} <= stored:
            slots.append(never_set())
            continue
        order, value = F.col(order_column(column.name)), F.col(column.name)
        is_set = order.isNotNull()
        if table.nulls_of(column) is Nulls.UNKNOWN:
            is_set = is_set & value.isNotNull()
        slots.append(F.when(is_set, slot(order, to_text(value, column.type))))
    has_life = table.spec.keeps_tombstones
    life = [F.col(name) if has_life else F.lit(None).cast("string").alias(name) for name in _LIFE]
    key = to_text(F.col(table.spec.key_column), table.key_type)
    return table_df.select(F.lit(table.name).alias(TABLE), key.alias(KEY), *life, *padded(slots, width))
