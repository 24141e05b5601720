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
_STORED = "__stored_orders"


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
        stored_df: the table's rows (see :func:`table_columns`), at least those with a key among the events; or None.
        table: key and columns.

    Returns:
        One row per changed key with the columns of :func:`table_columns`; keys whose row stays as it is are left out.
    """
    states_df = _event_states(events_df, table)
    if stored_df is not None:
        types = {column: events_df.schema[column].dataType for column in table.columns}
        states_df = states_df.unionByName(_stored_states(with_declared_columns(stored_df, types), table))
    newest = [F.max(part).alias(part) for part in (*table.columns, *_life(table), _STORED)]
    rows_df = states_df.groupBy(table.key).agg(*newest).select(*_row(table), _STORED)
    # Whole rows are compared, after voiding: a value older than the delete that arrives late changes nothing.
    is_same = F.col(_STORED).eqNullSafe(F.struct(*_orders(table)))
    return rows_df.where(~is_same).select(*table_columns(table))


def with_declared_columns(stored_df: DataFrame, types: Mapping[str, DataType]) -> DataFrame:
    """Add columns that were declared after the table was written, unknown (null) in every row."""
    missing = {column: kind for column, kind in types.items() if column not in stored_df.columns}
    values = {column: F.lit(None).cast(kind) for column, kind in missing.items()}
    orders = {order_column(column): F.lit(None).cast("string") for column in missing}
    return stored_df.withColumns({**values, **orders}) if missing else stored_df


def _life(table: TableSpec) -> tuple[str, ...]:
    return (ROW_ORDER, DELETED_ORDER) if table.follows_deletes else ()


def _orders(table: TableSpec) -> tuple[str, ...]:
    """Columns that together say which event set what; rows with the same orders are the same."""
    return (*map(order_column, table.columns), *_life(table))


def _event_states(events_df: DataFrame, table: TableSpec) -> DataFrame:
    is_delete, order = F.col("op") == "d", F.col("event_order")
    values = [
        F.when(
            ~is_delete & F.col(column).isNotNull(), F.struct(order.alias("order"), F.col(column).alias("value"))
        ).alias(column)
        for column in table.columns
    ]
    life = [F.when(~is_delete, order).alias(ROW_ORDER), F.when(is_delete, order).alias(DELETED_ORDER)]
    not_stored = F.lit(None).cast(f"struct<{', '.join(f'{name}: string' for name in _orders(table))}>")
    return events_df.select(table.key, *values, *(life if table.follows_deletes else ()), not_stored.alias(_STORED))


def _stored_states(stored_df: DataFrame, table: TableSpec) -> DataFrame:
    values = [
        F.when(
            F.col(order_column(column)).isNotNull(),
            F.struct(F.col(order_column(column)).alias("order"), F.col(column).alias("value")),
        ).alias(column)
        for column in table.columns
    ]
    return stored_df.select(table.key, *values, *_life(table), F.struct(*_orders(table)).alias(_STORED))


def _row(table: TableSpec) -> list[Column]:
    if not table.follows_deletes:
        values = [F.col(column)["value"].alias(column) for column in table.columns]
        return [F.col(table.key), *values, *(F.col(c)["order"].alias(order_column(c)) for c in table.columns)]
    deleted = F.col(DELETED_ORDER)

    def unless_void(order: Column, value: Column) -> Column:
        return F.when(deleted.isNull() | (order > deleted), value)

    values, orders = [], []
    for column in table.columns:
        order = F.col(column)["order"]
        values.append(unless_void(order, F.col(column)["value"]).alias(column))
        orders.append(unless_void(order, order).alias(order_column(column)))
    row_order = unless_void(F.col(ROW_ORDER), F.col(ROW_ORDER))
    return [
        F.col(table.key),
        *values,
        *orders,
        row_order.alias(ROW_ORDER),
        deleted,
        row_order.isNull().alias(IS_DELETED),
    ]
