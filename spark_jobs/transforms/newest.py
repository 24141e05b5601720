"""Newest value per column and key: the merge that makes the order of delivery irrelevant.

Every column keeps the event order at which its value was set. Merging takes, for each column on its own, the value with
the greatest order among those that are not null: commutative, associative and idempotent, so any permutation, split,
repetition or late arrival of the same events gives the same rows. A delete voids every value older than itself.

Rows of all tables go through one plan, in one form, *keyed rows*, because planning a query costs more than merging a
micro-batch: ``table``, ``key`` (as text), ``row_order``, ``deleted_order``, and one slot for each column of the widest
table. A slot is ``struct<order, value>`` with the value as text, or null when the column was never set.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnType, TableSpec

ROW_ORDER, DELETED_ORDER, IS_DELETED = "row_order", "deleted_order", "is_deleted"
TABLE, KEY = "table", "key"
SLOT_TYPE = "struct<order:string,value:string>"
STORED = "stored"
"""A column beside the keyed row: what of it was stored, ``struct<row_order, slot_0, …>`` with values alone, or null."""
_LIFE = (ROW_ORDER, DELETED_ORDER)
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


def slot_names(spec: LakeSpec) -> tuple[str, ...]:
    """Names of the slots of keyed rows: as many as the widest table has columns beside its key."""
    return tuple(f"slot_{number}" for number in range(max((len(table.columns) for table in spec.tables), default=0)))


def fold_events(events_df: DataFrame, spec: LakeSpec) -> DataFrame:
    """The events alone as keyed rows, one per table and key: what the tables would be if nothing were stored.

    Args:
        events_df: ``op``, ``event_order`` and the columns of every table of ``spec``. An event says something about a
            table when it has the table's key; deletes speak to tables that follow them alone.
        spec: the tables.
    """
    entries = F.explode(F.array(*(_entry(table, spec) for table in spec.tables))).alias("entry")
    rows_df = events_df.select(entries).where(F.col("entry").isNotNull()).select("entry.*")
    return newest_rows(rows_df)


def newest_rows(rows_df: DataFrame) -> DataFrame:
    """Keyed rows with several of one key merged into one."""
    merged = [F.max(part).alias(part) for part in _parts(rows_df)]
    return rows_df.groupBy(TABLE, KEY).agg(*merged)


def merge_rows(rows_df: DataFrame, stored_df: DataFrame | None, *, keep_stored: Collection[str] = ()) -> DataFrame:
    """Keyed rows laid over what is stored; only those that differ from it, and nothing in them older than a delete.

    Args:
        rows_df: keyed rows, one per table and key.
        stored_df: stored keyed rows, at least those with a key among ``rows_df``; or None. Several rows of one key
            count as their merge.
        keep_stored: tables whose rows also come with what was stored, in the column ``stored``, which is null in rows
            of other tables. The column is there only when some table is named.
    """
    parts = _parts(rows_df)
    if stored_df is None:
        now = _without_void(parts)
        return rows_df.select(TABLE, KEY, *now, *_kept(parts, now, F.lit(False), keep_stored))
    both_df = rows_df.select(TABLE, KEY, *parts, F.lit(False).alias(_IS_STORED)).unionByName(
        stored_df.select(TABLE, KEY, *parts, F.lit(True).alias(_IS_STORED))
    )
    newest = [F.max(part).alias(part) for part in parts]
    stored = [F.max(F.when(F.col(_IS_STORED), F.col(part))).alias(part + _STORED) for part in parts]
    merged_df = both_df.groupBy(TABLE, KEY).agg(*newest, *stored, F.max(_IS_STORED).alias(_IS_STORED))
    # Compared after voiding: a value older than the delete that arrives late changes nothing.
    now, before = _without_void(parts), _without_void(parts, suffix=_STORED)
    same = [_order_of(part, a).eqNullSafe(_order_of(part, b)) for part, a, b in zip(parts, now, before, strict=True)]
    is_same = reduce(operator.and_, same, F.col(_IS_STORED))
    kept = _kept(parts, before, F.col(_IS_STORED), keep_stored)
    return merged_df.where(~is_same).select(TABLE, KEY, *now, *kept)


def to_table(rows_df: DataFrame, table: TableSpec, spec: LakeSpec) -> DataFrame:
    """The rows of one table among keyed rows, with the columns of :func:`table_columns` and their declared types."""
    slots = dict(zip(table.columns, slot_names(spec), strict=False))
    columns = [from_text(F.col(KEY), table.key, spec)]
    columns += [from_text(F.col(slot)["value"], column, spec) for column, slot in slots.items()]
    columns += [F.col(slot)["order"].alias(order_column(column)) for column, slot in slots.items()]
    if table.follows_deletes:
        columns += [F.col(ROW_ORDER), F.col(DELETED_ORDER), F.col(ROW_ORDER).isNull().alias(IS_DELETED)]
    return rows_df.where(F.col(TABLE) == table.name).select(*columns)


def with_values(rows_df: DataFrame, spec: LakeSpec) -> DataFrame:
    """Keyed rows as ``table``, ``is_deleted`` and every column of the tables, null in rows of tables without it."""
    slots, texts = slot_names(spec), dict[str, list[Column]]()
    for table in spec.tables:
        is_of_table = F.col(TABLE) == table.name
        texts.setdefault(table.key, []).append(F.when(is_of_table, F.col(KEY)))
        for column, slot in zip(table.columns, slots, strict=False):
            texts.setdefault(column, []).append(F.when(is_of_table, F.col(slot)["value"]))
    follows = [table.name for table in spec.tables if table.follows_deletes]
    is_deleted = F.col(TABLE).isin(follows) & F.col(ROW_ORDER).isNull()
    values = [from_text(F.coalesce(*parts), column, spec) for column, parts in texts.items()]
    return rows_df.select(TABLE, is_deleted.alias(IS_DELETED), *values)


def from_table(table_df: DataFrame, table: TableSpec, spec: LakeSpec) -> DataFrame:
    """Keyed rows of a table's stored rows. Columns declared after these were written may be missing."""
    values = {
        column: _slot(F.col(order_column(column)), column, spec)
        for column in table.columns
        if {column, order_column(column)} <= set(table_df.columns)
    }
    life = [F.col(name) if table.follows_deletes else F.lit(None).cast("string").alias(name) for name in _LIFE]
    return table_df.select(*_identity(table, spec), *life, *_slots(table, spec, values))


def _parts(rows_df: DataFrame) -> tuple[str, ...]:
    """What is merged by taking the greatest: the orders of the row's life, and the slots."""
    return tuple(name for name in rows_df.columns if name not in (TABLE, KEY))


def _kept(parts: Sequence[str], stored: Sequence[Column], is_stored: Column, tables: Collection[str]) -> list[Column]:
    """The column ``stored`` for rows of ``tables``; no column when there are none."""
    if not tables:
        return []
    fields = [value if part in _LIFE else value["value"] for part, value in zip(parts, stored, strict=True)]
    named = [field.alias(part) for part, field in zip(parts, fields, strict=True) if part != DELETED_ORDER]
    return [F.when(is_stored & F.col(TABLE).isin(*tables), F.struct(*named)).alias(STORED)]


def _entry(table: TableSpec, spec: LakeSpec) -> Column:
    """What one event says about ``table`` as a struct of a keyed row's columns, or null."""
    is_delete, order = F.col("op") == "d", F.col("event_order")
    nothing = F.lit(None).cast("string")
    row_order, deleted_order = (
        (F.when(~is_delete, order), F.when(is_delete, order)) if table.follows_deletes else (nothing, nothing)
    )
    values = {column: _slot(F.when(~is_delete, order), column, spec) for column in table.columns}
    entry = F.struct(
        *_identity(table, spec),
        row_order.alias(ROW_ORDER),
        deleted_order.alias(DELETED_ORDER),
        *_slots(table, spec, values),
    )
    is_about = F.col(table.key).isNotNull()
    return F.when(is_about if table.follows_deletes else is_about & ~is_delete, entry)


def _identity(table: TableSpec, spec: LakeSpec) -> tuple[Column, Column]:
    return F.lit(table.name).alias(TABLE), _as_text(table.key, spec).alias(KEY)


def _slot(order: Column, column: str, spec: LakeSpec) -> Column:
    is_set = F.col(column).isNotNull() & order.isNotNull()
    return F.when(is_set, F.struct(order.alias("order"), _as_text(column, spec).alias("value")))


def _slots(table: TableSpec, spec: LakeSpec, values: dict[str, Column]) -> list[Column]:
    names = slot_names(spec)
    columns = (*table.columns, *("" for _ in range(len(names) - len(table.columns))))
    never_set = F.lit(None).cast(SLOT_TYPE)
    return [values.get(column, never_set).alias(name) for name, column in zip(names, columns, strict=True)]


def _as_text(column: str, spec: LakeSpec) -> Column:
    """The value as text that :func:`from_text` turns back into the same value."""
    if spec.columns_by_name[column].type is ColumnType.TIMESTAMP:
        return F.unix_micros(F.col(column)).cast("string")
    return F.col(column).cast("string")


def from_text(text: Column, column: str, spec: LakeSpec) -> Column:
    """The value that a keyed row holds as text, as a column of its declared type and name."""
    declared = spec.columns_by_name[column]
    if declared.type is ColumnType.TIMESTAMP:
        return F.timestamp_micros(text.cast("bigint")).alias(column)
    return text.cast(declared.sql_type).alias(column)


def _order_of(part: str, value: Column) -> Column:
    return value if part in _LIFE else value["order"]


def _without_void(parts: tuple[str, ...], suffix: str = "") -> list[Column]:
    """Each part, or null where its order is not newer than the row's delete."""
    deleted = F.col(DELETED_ORDER + suffix)
    kept = {
        part: F.when(deleted.isNull() | (_order_of(part, F.col(part + suffix)) > deleted), F.col(part + suffix))
        for part in parts
        if part != DELETED_ORDER
    }
    return [kept.get(part, deleted).alias(part) for part in parts]
