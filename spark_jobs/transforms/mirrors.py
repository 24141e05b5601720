"""Mirrors: rows as they are at the source, by the merge of :mod:`spark_jobs.transforms.newest`.

An event has the whole row, so every column of it counts, nulls too; only a value that did not travel is not known and
leaves what is there. Rows of all mirrors go through one plan as *keyed rows*: a slot of a mirror's row is its column in
the order in which the columns came, and the plan grows with the widest mirror, not with their number.

What a mirror keeps of the orders of its columns is ``row_order``, that of the newest event, and in ``older_orders``
those that differ: by name at the source, ``""`` where the value was never known. The order of the row's last delete
stands there too, under the name ``""``: it is needed as long as some value may still come from an older event.

A column that an event lacks is null in it, unless the event is older than the column: then it says nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.mirrors import (
    DELETED_PARTITION,
    IS_DELETED,
    OLDER_ORDERS,
    REMOVES,
    ROW_KEY,
    ROW_ORDER,
    ROW_PARTITION,
    UNKNOWN_PARTITION,
    Deletes,
    MirrorSpec,
    Transform,
)
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.schemas import Column as SchemaColumn
from spark_jobs.frames import literal_frame
from spark_jobs.transforms.newest import DELETED_ORDER, KEY, SLOT_TYPE, STORED, TABLE, newest_rows
from spark_jobs.transforms.texts import from_text, to_text

MIRROR_EVENTS = ("op", "event_order", "source_table", "row_types", "row_values", "row_unknown")
"""Columns of the log that mirrors are made of."""
_NAMES = "origin string, name string, keys array<string>, sources array<string>, added array<string>"
_DELETED, _NEVER_KNOWN = "", ""
_PATTERNS = {Transform.YEAR: "yyyy", Transform.MONTH: "yyyy-MM", Transform.DAY: "yyyy-MM-dd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTable:
    """A mirror and the columns that it has now."""

    spec: MirrorSpec
    columns: tuple[SchemaColumn, ...]

    @property
    def name(self) -> str:
        """Its name in the lake."""
        return self.spec.name


def slot_names(width: int) -> tuple[str, ...]:
    """Names of the slots of keyed rows, as many as the widest mirror has columns."""
    return tuple(f"slot_{number}" for number in range(width))


def fold_mirrors(events_df: DataFrame, tables: Sequence[MirrorTable], width: int) -> DataFrame:
    """The events alone as keyed rows, one per mirror and key; events of other tables are left out.

    Args:
        events_df: the columns of ``MIRROR_EVENTS``.
        tables: the mirrors.
        width: how many slots there are.
    """
    named = [
        (t.spec.origin, t.name, [*t.spec.key], [each.source for each in t.columns], [each.added for each in t.columns])
        for t in tables
    ]
    names_df = F.broadcast(literal_frame(events_df.sparkSession, named, _NAMES))
    known_df = events_df.join(names_df, F.col("source_table") == F.col("origin"))
    is_delete, order, value_of = F.col("op") == "d", F.col("event_order"), _value_of
    keys = F.transform("keys", value_of)
    slots = [_slot(number).alias(slot) for number, slot in enumerate(slot_names(width))]
    return newest_rows(
        known_df.select(
            F.col("name").alias(TABLE),
            F.when(F.size(keys) == 1, F.get(keys, F.lit(0))).otherwise(F.to_json(keys)).alias(KEY),
            F.when(~is_delete, order).alias(ROW_ORDER),
            F.when(is_delete, order).alias(DELETED_ORDER),
            *slots,
        )
    )


def to_mirror(rows_df: DataFrame, table: MirrorTable) -> DataFrame:
    """The rows of one mirror among merged keyed rows, in the columns of the table.

    Those are the key as text, the partition if there is one, the source's columns, the orders, whether it is deleted at
    the source; and of a mirror that rows are taken out of, whether the row is to go. For such a mirror the rows come
    with what was stored (:func:`spark_jobs.transforms.newest.merge_rows`).
    """
    slots = dict(zip(table.columns, map(F.col, slot_names(len(table.columns))), strict=True))
    keys = _keys(table)
    values = {
        column.name: from_text(keys.get(column.source, slot["value"]), column.type) for column, slot in slots.items()
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
    kept = F.lit(True) if table.spec.deletes is Deletes.SOFT else ~is_deleted
    kept_df = own_df.where(kept).select(*(value.alias(n) for n, value in columns.items()), F.lit(False).alias(REMOVES))
    return kept_df.unionByName(_removed(own_df, table), allowMissingColumns=True).select(*kept_df.columns)


def partition_of(table: MirrorTable, row_order: Column, value_of: Callable[[str], Column]) -> Column:
    """The partition of a row; ``value_of`` gives the text of a slot, and a null order means a deleted row.

    Raises:
        ContractError: the column is not there, or has no year, month or day.
    """
    sources = [column.source for column in table.columns]
    if table.spec.partition not in sources:
        raise ContractError(
            f"{table.name}: there is no column {show(table.spec.partition)} to partition by; the source has "
            f"{show_all(sources)}"
        )
    number = sources.index(table.spec.partition)
    type_, transform = table.columns[number].type, table.spec.transform
    if transform is not Transform.VALUE and type_ not in ("date", "timestamp"):
        raise ContractError(
            f"{table.name}: {table.spec.partition} is {type_} and has no {transform.value}; use transform: value"
        )
    value = from_text(value_of(slot_names(number + 1)[number]), type_)
    named = F.date_format(value, _PATTERNS[transform]) if transform in _PATTERNS else value.cast("string")
    return F.when(row_order.isNull(), DELETED_PARTITION).otherwise(F.coalesce(named, F.lit(UNKNOWN_PARTITION)))


def _now(slot: str) -> Column:
    return F.col(slot)["value"]


def _before(slot: str) -> Column:
    return F.col(STORED)[slot]


def _removed(rows_df: DataFrame, table: MirrorTable) -> DataFrame:
    """Rows to be taken out of the table: deleted ones of a mirror that keeps none, and where moved ones were."""
    was_live, is_live = F.col(STORED)[ROW_ORDER].isNotNull(), F.col(ROW_ORDER).isNotNull()
    was_there = was_live if table.spec.deletes is Deletes.HARD else F.col(STORED).isNotNull()
    goes = ~is_live if table.spec.deletes is Deletes.HARD else F.lit(False)
    columns = [F.col(KEY).alias(ROW_KEY), F.lit(True).alias(REMOVES)]
    if table.spec.partition:
        before = partition_of(table, F.col(STORED)[ROW_ORDER], _before)
        goes = goes | (before != partition_of(table, F.col(ROW_ORDER), _now))
        columns.append(before.alias(ROW_PARTITION))
    return rows_df.where(was_there & goes).select(*columns)


def to_tombstones(rows_df: DataFrame, names: Sequence[str]) -> DataFrame:
    """What was deleted of these mirrors: ``tombstone`` (mirror and key), ``mirror``, ``row_key``, ``deleted_order``."""
    deleted_df = rows_df.where(F.col(TABLE).isin(*names) & F.col(DELETED_ORDER).isNotNull())
    return deleted_df.select(
        F.concat_ws("|", TABLE, KEY).alias("tombstone"),
        F.col(TABLE).alias("mirror"),
        F.col(KEY).alias(ROW_KEY),
        DELETED_ORDER,
    )


def from_tombstones(tombstones_df: DataFrame, name: str, width: int) -> DataFrame:
    """Keyed rows of what was deleted of a mirror."""
    nothing = [F.lit(None).cast(SLOT_TYPE).alias(slot) for slot in slot_names(width)]
    return tombstones_df.where(F.col("mirror") == name).select(
        F.lit(name).alias(TABLE),
        F.col(ROW_KEY).alias(KEY),
        F.lit(None).cast("string").alias(ROW_ORDER),
        DELETED_ORDER,
        *nothing,
    )


def with_columns_of(stored_df: DataFrame, table: MirrorTable, stored: Mapping[str, str]) -> DataFrame:
    """The stored rows of a mirror with the names and types that its columns have now.

    Args:
        stored_df: the rows as they were written.
        table: the mirror.
        stored: by name at the source, the name in the lake under which a column was written.
    """
    now = {
        stored[column.source]: F.col(stored[column.source]).cast(column.type).alias(column.name)
        for column in table.columns
        if column.source in stored
    }
    return stored_df.select(*(now.get(name, F.col(name)) for name in stored_df.columns))


def from_mirror(table_df: DataFrame, table: MirrorTable, width: int) -> DataFrame:
    """Keyed rows of a mirror's stored rows. Columns that came after these were written may be missing."""
    is_live, stored = ~F.col(IS_DELETED), set(table_df.columns)
    never_set = F.lit(None).cast(SLOT_TYPE)

    def slot(column: SchemaColumn) -> Column:
        own = F.element_at(OLDER_ORDERS, F.lit(column.source))
        own = F.coalesce(own, F.when(F.col(ROW_ORDER) < column.added, F.lit(_NEVER_KNOWN)))
        text = to_text(F.col(column.name), column.type) if column.name in stored else F.lit(None).cast("string")
        known = F.struct(F.coalesce(own, ROW_ORDER).alias("order"), text.alias("value"))
        return F.when(is_live & ~own.eqNullSafe(F.lit(_NEVER_KNOWN)), known)

    slots = [slot(column) for column in table.columns] + [never_set] * (width - len(table.columns))
    return table_df.select(
        F.lit(table.name).alias(TABLE),
        F.col(ROW_KEY).alias(KEY),
        F.when(is_live, F.col(ROW_ORDER)).alias(ROW_ORDER),
        F.when(is_live, F.element_at(OLDER_ORDERS, F.lit(_DELETED))).otherwise(F.col(ROW_ORDER)).alias(DELETED_ORDER),
        *(column.alias(name) for column, name in zip(slots, slot_names(width), strict=True)),
    )


def _value_of(name: Column) -> Column:
    return F.element_at("row_values", name)


def _slot(number: int) -> Column:
    """What an event says of the column with this number: order and value, or null when it says nothing."""
    name, added, order = F.get("sources", F.lit(number)), F.get("added", F.lit(number)), F.col("event_order")
    is_unknown = F.coalesce(F.array_contains("row_unknown", name), F.lit(False))
    is_told = F.array_contains(F.map_keys("row_types"), name) | (order >= added)
    is_set = (F.col("op") != "d") & name.isNotNull() & ~is_unknown & is_told
    return F.when(is_set, _struct(order, _value_of(name)))


def _struct(order: Column, value: Column) -> Column:
    return F.struct(order.alias("order"), value.alias("value"))


def _keys(table: MirrorTable) -> dict[str, Column]:
    """By name at the source the texts of the key's columns, which are known of deleted rows too."""
    if len(table.spec.key) == 1:
        return {table.spec.key[0]: F.col(KEY)}
    texts = F.from_json(KEY, "array<string>")
    return {name: F.get(texts, F.lit(number)) for number, name in enumerate(table.spec.key)}


def _older_orders(slots: dict[SchemaColumn, Column]) -> Column:
    """Orders of the columns that are not the row's, or null when all are: the usual case."""
    if not slots:
        return F.lit(None).cast("map<string,string>")
    # One expression whatever the number of columns: a hundred mirrors' plans are to be made in a run.
    known = [{"key": column.source, "added": column.added} for column in slots]

    def entry(name: Column, order: Column) -> Column:
        return F.struct(name.alias("key"), order.alias("value"))

    def with_order(column: Column, slot: Column) -> Column:
        is_before = F.col(ROW_ORDER) < column["added"]
        is_other = (slot["order"] != F.col(ROW_ORDER)) | is_before
        older = F.when(slot.isNotNull() & is_other, slot["order"])
        return entry(column["key"], F.when(slot.isNull() & ~is_before, _NEVER_KNOWN).otherwise(older))

    columns = F.from_json(F.lit(json.dumps(known)), "array<struct<key:string,added:string>>")
    found = F.filter(F.zip_with(columns, F.array(*slots.values()), with_order), lambda each: each["value"].isNotNull())
    deleted = F.when(F.col(DELETED_ORDER).isNotNull(), F.array(entry(F.lit(_DELETED), F.col(DELETED_ORDER))))
    nothing = F.filter(found, lambda each: F.lit(False))
    return F.when(F.size(found) > 0, F.map_from_entries(F.concat(found, F.coalesce(deleted, nothing))))
