"""Stored rows with one order a row, the form of tables that are made of a table at the source, and keyed rows.

What a table keeps of the orders of its columns is ``row_order``, that of the newest event, and in ``older_orders``
those that differ: by name at the source, ``""`` where the value was never known. The order of the row's last delete
is there too, under the name ``""``: it is needed as long as some value may still come from an older event.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.schemas import Column as ColumnForm
from spark_jobs.lake_spec.table_spec import (
    IS_DELETED,
    OLDER_ORDERS,
    REMOVES,
    ROW_KEY,
    ROW_ORDER,
    ROW_PARTITION,
    Deletes,
)
from spark_jobs.lake_spec.versions import HISTORY_ABSENT, named_absent
from spark_jobs.transforms.keyed_rows import (
    DELETED_ORDER,
    KEY,
    STORED,
    TABLE,
    MergedTable,
    padded,
    slot,
)
from spark_jobs.transforms.row_partitions import key_texts, partition_of
from spark_jobs.transforms.texts import from_text, to_text

_DELETED, _NEVER_KNOWN = "", ""


def to_rows(rows_df: DataFrame, table: MergedTable) -> DataFrame:
    """The rows of one table among merged keyed rows, in the columns of the table.

    Those are ``row_key`` (the key as text), the partition if there is one, the source's columns, ``row_order`` and
    ``older_orders``, ``is_deleted``; and of a table that rows are taken out of, whether the row is to go. For such a
    table the rows come with what was stored (:func:`spark_jobs.transforms.keyed_rows.merge_rows`).
    """
    slots = dict(zip(table.columns, map(F.col, table.slots), strict=True))
    keys = key_texts(table)
    values = {
        column.name: from_text(keys.get(column.source, each["value"]), column.type) for column, each in slots.items()
    }
    is_deleted = F.col(ROW_ORDER).isNull()
    columns = {
        ROW_KEY: F.col(KEY),
        **({ROW_PARTITION: partition_of(table, F.col(ROW_ORDER), _now)} if table.spec.partition else {}),
        **values,
        ROW_ORDER: F.coalesce(ROW_ORDER, DELETED_ORDER),
        OLDER_ORDERS: F.when(~is_deleted, _older_orders(slots)),
        IS_DELETED: is_deleted,
    }
    own_df = rows_df.where(F.col(TABLE) == table.name)
    if not table.spec.removes_rows:
        return own_df.select(*(value.alias(name) for name, value in columns.items()))
    kept = F.lit(True) if table.spec.deletes is not Deletes.REMOVE else ~is_deleted
    kept_df = own_df.where(kept).select(*(value.alias(n) for n, value in columns.items()), F.lit(False).alias(REMOVES))
    return kept_df.unionByName(_removed(own_df, table), allowMissingColumns=True).select(*kept_df.columns)


def _now(name: str) -> Column:
    return F.col(name)["value"]


def _before(name: str) -> Column:
    return F.col(STORED)[name]


def _removed(rows_df: DataFrame, table: MergedTable) -> DataFrame:
    """Rows to be taken out of the table: deleted ones where none are kept, and where moved ones were."""
    was_live, is_live = F.col(STORED)[ROW_ORDER].isNotNull(), F.col(ROW_ORDER).isNotNull()
    was_there = was_live if table.spec.deletes is Deletes.REMOVE else F.col(STORED).isNotNull()
    goes = ~is_live if table.spec.deletes is Deletes.REMOVE else F.lit(False)
    columns = [F.col(KEY).alias(ROW_KEY), F.lit(True).alias(REMOVES)]
    if table.spec.partition:
        before = partition_of(table, F.col(STORED)[ROW_ORDER], _before)
        goes = goes | (before != partition_of(table, F.col(ROW_ORDER), _now))
        columns.append(before.alias(ROW_PARTITION))
    return rows_df.where(was_there & goes).select(*columns)


def to_tombstones(rows_df: DataFrame, names: Sequence[str]) -> DataFrame:
    """What was deleted of these tables: ``tombstone`` (table and key), ``mirror`` (table), ``row_key``, its order."""
    deleted_df = rows_df.where(F.col(TABLE).isin(*names) & F.col(DELETED_ORDER).isNotNull())
    return deleted_df.select(
        F.concat_ws("|", TABLE, KEY).alias("tombstone"),
        F.col(TABLE).alias("mirror"),
        F.col(KEY).alias(ROW_KEY),
        DELETED_ORDER,
    )


def from_tombstones(tombstones_df: DataFrame, name: str, width: int) -> DataFrame:
    """Keyed rows, with ``deleted_order`` and empty slots, of what was deleted of a table."""
    return tombstones_df.where(F.col("mirror") == name).select(
        F.lit(name).alias(TABLE),
        F.col(ROW_KEY).alias(KEY),
        F.lit(None).cast("string").alias(ROW_ORDER),
        DELETED_ORDER,
        *padded([], width),
    )


def with_columns_of(stored_df: DataFrame, table: MergedTable, stored: Mapping[str, str]) -> DataFrame:
    """The stored rows of a table, or of its history, with the names and types that its columns have now.

    Technical columns (``row_key``, ``row_order``, …) stay as they are.

    Args:
        stored_df: the rows as they were written.
        table: the table.
        stored: by name at the source, the name in the lake under which a column was written.
    """
    now = {
        stored[column.source]: F.col(stored[column.source]).cast(column.type).alias(column.name)
        for column in table.columns
        if column.source in stored
    }
    if HISTORY_ABSENT in stored_df.columns:
        not_set = F.col(HISTORY_ABSENT)
        for column in table.columns:
            if (before := stored.get(column.source, column.name)) != column.name:
                not_set = F.replace(not_set, F.lit(named_absent(before)), F.lit(named_absent(column.name)))
        now[HISTORY_ABSENT] = not_set.alias(HISTORY_ABSENT)
    return stored_df.select(*(now.get(name, F.col(name)) for name in stored_df.columns))


def from_rows(table_df: DataFrame, table: MergedTable, width: int) -> DataFrame:
    """Keyed rows (``table``, ``key``, ``row_order``, ``deleted_order``, ``slot_0`` …) of a table's stored rows.

    Columns that came after these were written may be missing.
    """
    is_live, stored = ~F.col(IS_DELETED), set(table_df.columns)

    def stored_slot(column: ColumnForm) -> Column:
        own = F.element_at(OLDER_ORDERS, F.lit(column.source))
        own = F.coalesce(own, F.when(F.col(ROW_ORDER) < column.added, F.lit(_NEVER_KNOWN)))
        text = to_text(F.col(column.name), column.type) if column.name in stored else F.lit(None).cast("string")
        is_known = is_live & ~own.eqNullSafe(F.lit(_NEVER_KNOWN))
        return F.when(is_known, slot(F.coalesce(own, ROW_ORDER), text))

    return table_df.select(
        F.lit(table.name).alias(TABLE),
        F.col(ROW_KEY).alias(KEY),
        F.when(is_live, F.col(ROW_ORDER)).alias(ROW_ORDER),
        F.when(is_live, F.element_at(OLDER_ORDERS, F.lit(_DELETED))).otherwise(F.col(ROW_ORDER)).alias(DELETED_ORDER),
        *padded([stored_slot(column) for column in table.columns], width),
    )


def _older_orders(slots: dict[ColumnForm, Column]) -> Column:
    """Orders of the columns that are not the row's, or null when all are: the usual case."""
    if not slots:
        return F.lit(None).cast("map<string,string>")
    # One expression whatever the number of columns: plans for a hundred tables are made in a run.
    known = [{"key": column.source, "added": column.added} for column in slots]

    def entry(name: Column, order: Column) -> Column:
        return F.struct(name.alias("key"), order.alias("value"))

    def with_order(column: Column, each: Column) -> Column:
        is_before = F.col(ROW_ORDER) < column["added"]
        is_other = (each["order"] != F.col(ROW_ORDER)) | is_before
        older = F.when(each.isNotNull() & is_other, each["order"])
        return entry(column["key"], F.when(each.isNull() & ~is_before, _NEVER_KNOWN).otherwise(older))

    columns = F.from_json(F.lit(json.dumps(known)), "array<struct<key:string,added:string>>")
    found = F.filter(F.zip_with(columns, F.array(*slots.values()), with_order), lambda each: each["value"].isNotNull())
    deleted = F.when(F.col(DELETED_ORDER).isNotNull(), F.array(entry(F.lit(_DELETED), F.col(DELETED_ORDER))))
    nothing = F.filter(found, lambda each: F.lit(False))
    return F.when(F.size(found) > 0, F.map_from_entries(F.concat(found, F.coalesce(deleted, nothing))))
