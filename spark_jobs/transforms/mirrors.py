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

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.mirrors import IS_DELETED, OLDER_ORDERS, ROW_KEY, ROW_ORDER, MirrorSpec
from spark_jobs.contracts.schemas import Column as SchemaColumn
from spark_jobs.transforms.newest import DELETED_ORDER, KEY, SLOT_TYPE, TABLE, newest_rows
from spark_jobs.transforms.texts import from_text, to_text

MIRROR_EVENTS = ("op", "event_order", "source_table", "row_types", "row_values", "row_unknown")
"""Columns of the log that mirrors are made of."""
_NAMES = "origin string, name string, keys array<string>, sources array<string>, added array<string>"
_DELETED, _NEVER_KNOWN = "", ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTable:
    """A mirror and the columns that it has now."""

    spec: MirrorSpec
    columns: tuple[SchemaColumn, ...]

    @property
    def name(self) -> str:
        """Its name in the lake."""
        return self.spec.name

    @property
    def types(self) -> dict[str, str]:
        """By name in the lake, the SQL types of the source's columns."""
        return {column.name: column.type for column in self.columns}


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
    names_df = F.broadcast(events_df.sparkSession.createDataFrame(named, _NAMES))
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
    """The rows of one mirror among merged keyed rows, as the table has them (:func:`mirror_columns`)."""
    slots = dict(zip(table.columns, map(F.col, slot_names(len(table.columns))), strict=True))
    keys = _keys(table)
    values = [
        from_text(keys.get(column.source, slot["value"]), column.type).alias(column.name)
        for column, slot in slots.items()
    ]
    is_deleted = F.col(ROW_ORDER).isNull()
    return rows_df.where(F.col(TABLE) == table.name).select(
        F.col(KEY).alias(ROW_KEY),
        *values,
        F.coalesce(ROW_ORDER, DELETED_ORDER).alias(ROW_ORDER),
        F.when(~is_deleted, _older_orders(slots)).alias(OLDER_ORDERS),
        is_deleted.alias(IS_DELETED),
    )


def mirror_columns(table: MirrorTable) -> tuple[str, ...]:
    """Columns of a mirror in order: the key as text, the source's columns, the orders, whether it is deleted."""
    return (ROW_KEY, *table.types, ROW_ORDER, OLDER_ORDERS, IS_DELETED)


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

    def entry(name: str, order: Column) -> Column:
        return F.struct(F.lit(name).alias("key"), order.alias("value"))

    def differing_of(column: SchemaColumn, slot: Column) -> Column:
        is_before = F.col(ROW_ORDER) < column.added
        is_other = (slot["order"] != F.col(ROW_ORDER)) | is_before
        return F.when(slot.isNull() & ~is_before, entry(column.source, F.lit(_NEVER_KNOWN))).when(
            slot.isNotNull() & is_other, entry(column.source, slot["order"])
        )

    differing = [differing_of(column, slot) for column, slot in slots.items()]
    found = F.filter(F.array(*differing), lambda each: each.isNotNull())
    deleted = F.when(F.col(DELETED_ORDER).isNotNull(), F.array(entry(_DELETED, F.col(DELETED_ORDER))))
    nothing = F.filter(found, lambda each: F.lit(False))
    return F.when(F.size(found) > 0, F.map_from_entries(F.concat(found, F.coalesce(deleted, nothing))))
