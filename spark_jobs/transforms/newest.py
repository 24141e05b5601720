"""Newest value per column and key: the merge that makes the order of delivery irrelevant.

Every column keeps the event order at which its value was set. Merging takes, for each column on its own, the value with
the greatest order among those that are not null: commutative, associative and idempotent, so any permutation, split,
repetition or late arrival of the same events gives the same rows. A delete voids every value older than itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from spark_jobs.contracts.specs import TableSpec

ROW_ORDER, DELETED_ORDER, IS_DELETED = "row_order", "deleted_order", "is_deleted"
_IS_STORED, _STORED = "__is_stored", "__stored"


def order_column(column: str) -> str:
    """The name of the column that holds the event order of ``column``'s value."""
    return f"{column}_order"


def table_columns(table: TableSpec) -> tuple[str, ...]:
    """Columns of a table in order: key, values, the event order of each value.

    Tables that follow deletes also have ``row_order`` (newest event of the row since its delete), ``deleted_order``
    and ``is_deleted``.
    """
    orders = tuple(order_column(column) for column in table.columns)
    life = (ROW_ORDER, DELETED_ORDER, IS_DELETED) if table.follows_deletes else ()
    return (table.key, *table.columns, *orders, *life)


def filter_events(events_df: DataFrame, table: TableSpec) -> DataFrame:
    """Events that say something about ``table``: its key is known and, unless it follows deletes, not a delete."""
    relevant = F.col(table.key).isNotNull()
    return events_df.where(relevant if table.follows_deletes else relevant & (F.col("op") != "d"))


def merge_newest(events_df: DataFrame, stored_df: DataFrame | None, table: TableSpec) -> DataFrame:
    """Rows of ``table`` that the events change, merged with what is stored.

    Args:
        events_df: events as :func:`filter_events` leaves them: the table's columns, ``op``, ``event_order``.
        stored_df: the table's rows, at least those with a key among the events; or None. See :func:`merge_rows`.
        table: key and columns.

    Returns:
        One row per changed key with the columns of :func:`table_columns`; keys whose row stays as it is are left out.
    """
    return merge_rows(fold_newest(events_df, table), stored_df, table)


def fold_newest(events_df: DataFrame, table: TableSpec) -> DataFrame:
    """The events alone as rows of ``table``, one per key: what they would be if nothing were stored."""
    parts_df = events_df.select(table.key, *_event_parts(table)).groupBy(table.key)
    return parts_df.agg(*(F.max(part).alias(part) for part in _parts(table))).select(*_row(table))


def merge_rows(rows_df: DataFrame, stored_df: DataFrame | None, table: TableSpec) -> DataFrame:
    """Rows of ``table`` laid over what is stored; only those that differ from it.

    Args:
        rows_df: one row per key with the columns of :func:`table_columns`.
        stored_df: stored rows, at least those with a key among ``rows_df``; or None. Several rows of one key count as
            their merge. Columns declared after they were written may be missing.
        table: key and columns.
    """
    if stored_df is None:
        return rows_df
    types = {column: rows_df.schema[column].dataType for column in table.columns}
    stored_df = with_declared_columns(stored_df, types)
    both_df = rows_df.select(table.key, *_row_parts(table), F.lit(False).alias(_IS_STORED)).unionByName(
        stored_df.select(table.key, *_row_parts(table), F.lit(True).alias(_IS_STORED))
    )
    newest = [F.max(part).alias(part) for part in _parts(table)]
    stored = [F.max(F.when(F.col(_IS_STORED), F.col(part))).alias(part + _STORED) for part in _parts(table)]
    merged_df = both_df.groupBy(table.key).agg(*newest, *stored, F.max(_IS_STORED).alias(_IS_STORED))
    # Compared after voiding: a value older than the delete that arrives late changes nothing.
    is_same = F.col(_IS_STORED)
    for now, before in zip(_orders(table), _orders(table, suffix=_STORED), strict=True):
        is_same = is_same & now.eqNullSafe(before)
    return merged_df.where(~is_same).select(*_row(table))


def with_declared_columns(stored_df: DataFrame, types: Mapping[str, DataType]) -> DataFrame:
    """Add columns that were declared after the table was written, unknown (null) in every row."""
    missing = {column: kind for column, kind in types.items() if column not in stored_df.columns}
    values = {column: F.lit(None).cast(kind) for column, kind in missing.items()}
    orders = {order_column(column): F.lit(None).cast("string") for column in missing}
    return stored_df.withColumns({**values, **orders}) if missing else stored_df


def _parts(table: TableSpec) -> tuple[str, ...]:
    """What is merged by taking the greatest: ``(order, value)`` of each column, and the orders of the row's life."""
    return (*table.columns, *((ROW_ORDER, DELETED_ORDER) if table.follows_deletes else ()))


def _event_parts(table: TableSpec) -> list[Column]:
    is_delete, order = F.col("op") == "d", F.col("event_order")
    values = [
        F.when(~is_delete & F.col(name).isNotNull(), F.struct(order.alias("order"), F.col(name).alias("value"))).alias(
            name
        )
        for name in table.columns
    ]
    if not table.follows_deletes:
        return values
    return [*values, F.when(~is_delete, order).alias(ROW_ORDER), F.when(is_delete, order).alias(DELETED_ORDER)]


def _row_parts(table: TableSpec) -> list[Column]:
    values = []
    for name in table.columns:
        order = F.col(order_column(name))
        values.append(F.when(order.isNotNull(), F.struct(order.alias("order"), F.col(name).alias("value"))).alias(name))
    return [*values, *((F.col(ROW_ORDER), F.col(DELETED_ORDER)) if table.follows_deletes else ())]


def _unless_void(order: Column, value: Column, table: TableSpec, suffix: str) -> Column:
    """``value``, or null when its order is not newer than the row's delete."""
    if not table.follows_deletes:
        return value
    deleted = F.col(DELETED_ORDER + suffix)
    return F.when(deleted.isNull() | (order > deleted), value)


def _orders(table: TableSpec, suffix: str = "") -> list[Column]:
    """Orders that together say which event set what; rows with the same orders are the same."""
    orders = [F.col(name + suffix)["order"] for name in table.columns]
    if table.follows_deletes:
        orders.append(F.col(ROW_ORDER + suffix))
    voided = [_unless_void(order, order, table, suffix) for order in orders]
    return [*voided, F.col(DELETED_ORDER + suffix)] if table.follows_deletes else voided


def _row(table: TableSpec) -> list[Column]:
    """The columns of :func:`table_columns` from the merged parts."""
    values = [_unless_void(F.col(name)["order"], F.col(name)["value"], table, "").alias(name) for name in table.columns]
    names = [*map(order_column, table.columns), *((ROW_ORDER, DELETED_ORDER) if table.follows_deletes else ())]
    orders = [order.alias(name) for order, name in zip(_orders(table), names, strict=True)]
    if not table.follows_deletes:
        return [F.col(table.key), *values, *orders]
    row_order = _unless_void(F.col(ROW_ORDER), F.col(ROW_ORDER), table, "")
    return [F.col(table.key), *values, *orders, row_order.isNull().alias(IS_DELETED)]
