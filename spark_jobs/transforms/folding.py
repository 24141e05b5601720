"""Events of the log as keyed rows (:mod:`spark_jobs.transforms.keyed_rows`): what the tables would be of them alone.

An event of the wide log says something about every table whose key it has. An event of a table at the source is about
the tables that are made of it whose keys it has; an empty text alone is no key, because Hudi stores none. A value that
did not travel is not known and leaves what is there. A column that an event lacks is null in it, unless the event is
older than the column: then it says nothing of it. Of a table that several at the source become, which of them an event
is of is a value of its row like others, and part of the key.

What null means is declared for each column: the value (``value``), or nothing (``unknown``).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.frames import literal_frame, union
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.lake_spec.table_spec import ROW_ORDER
from spark_jobs.lake_spec.tables import ROW_COLUMNS, Nulls
from spark_jobs.transforms.keyed_rows import (
    DELETED_ORDER,
    KEY,
    TABLE,
    MergedTable,
    never_set,
    newest_rows,
    padded,
    slot,
    slot_names,
)
from spark_jobs.transforms.texts import to_text

_NAMES = (
    "origin string, name string, keys array<string>, sources array<string>, added array<string>, "
    "unknown array<string>, ignores boolean, shard string"
)


EVENT_ORDER, EVENT_TIME = "event_order", "event_time"
UNKNOWN = "row_unknown"
"""The column of the log with the names of those columns of an event that did not travel; null when all did."""
_OF_AN_EVENT = (EVENT_ORDER, EVENT_TIME)
_ROW_TYPES = dict(
    zip(ROW_COLUMNS, ("string", "map<string,string>", "map<string,string>", "array<string>"), strict=True)
)


def select_events(log_df: DataFrame, tables: Sequence[MergedTable], *, has_times: bool = False) -> DataFrame:
    """The columns of the log that these tables are made of; those that it was never written with are null.

    ``has_times`` for :func:`event_versions`.
    """
    wide = [table for table in tables if not table.spec.is_mirror]
    types = {table.spec.key_column: table.key_type for table in wide}
    types |= {column.name: column.type for table in wide for column in table.columns}
    wanted = {"op": "string", EVENT_ORDER: "string", **({EVENT_TIME: "timestamp"} if has_times else {})}
    if len(wide) < len(tables) or _needs_unknown(wide):
        wanted |= _ROW_TYPES
    wanted |= {name: types[name] for name in sorted(types)}
    there = set(log_df.columns)
    return log_df.select(
        *(F.col(name) if name in there else F.lit(None).cast(type_).alias(name) for name, type_ in wanted.items())
    )


def events_about(log_df: DataFrame, tables: Sequence[MergedTable], *, has_times: bool = False) -> DataFrame:
    """What :func:`select_events` gives, without events whose ``source_table`` is of none of these tables."""
    events_df = select_events(log_df, tables, has_times=has_times)
    if any(not table.spec.is_mirror for table in tables):
        return events_df
    return events_df.where(F.col("source_table").isin(*{origin for table in tables for origin in table.spec.origins}))


def with_unknown_nulls(events_df: DataFrame) -> DataFrame:
    """Events of the wide log that lack ``row_unknown``, with it: what did not travel is what is null in them.

    Those of tables in which null says nothing anyway are left as they are.
    """
    if UNKNOWN not in events_df.columns:
        return events_df
    of_events = {"op", EVENT_ORDER, EVENT_TIME, *ROW_COLUMNS}
    names = [F.when(F.col(name).isNull(), F.lit(name)) for name in events_df.columns if name not in of_events]
    return events_df.withColumn(UNKNOWN, F.filter(F.array(*names), lambda name: name.isNotNull()))


def fold_events(events_df: DataFrame, tables: Sequence[MergedTable], width: int) -> DataFrame:
    """The events as keyed rows (``table``, ``key``, ``row_order``, ``deleted_order``, slots), one per table and key.

    Args:
        events_df: what :func:`select_events` gives. Events that are about none of the tables are left out.
        tables: the tables to fold into.
        width: how many slots there are.
    """
    return newest_rows(_rows_of(events_df, tables, width))


def event_versions(events_df: DataFrame, tables: Sequence[MergedTable], width: int) -> DataFrame:
    """A keyed row for each event and row that it is about, with ``event_order`` and ``event_time``.

    Args:
        events_df: what :func:`select_events` gives, with times.
        tables: the tables.
        width: how many slots there are.
    """
    return newest_rows(_rows_of(events_df, tables, width, kept=_OF_AN_EVENT), by=(TABLE, KEY, EVENT_ORDER))


def _rows_of(events_df: DataFrame, tables: Sequence[MergedTable], width: int, kept: tuple[str, ...] = ()) -> DataFrame:
    """A keyed row for each event and row that it is about, with these columns of the event."""
    wide = [table for table in tables if not table.spec.is_mirror]
    mirrors = [table for table in tables if table.spec.is_mirror]
    parts = [_of_the_wide_log(events_df, wide, width, kept, is_alone=not mirrors)] if wide else []
    parts += [_of_tables_at_the_source(events_df, mirrors, width, kept)] if mirrors else []
    return union(parts)


def _needs_unknown(tables: Sequence[MergedTable]) -> bool:
    return any(table.nulls_of(column) is Nulls.VALUE for table in tables for column in table.columns)


def _of_the_wide_log(
    events_df: DataFrame, tables: Sequence[MergedTable], width: int, kept: tuple[str, ...], *, is_alone: bool
) -> DataFrame:
    has_others = not is_alone and "source_table" in events_df.columns
    own_df = events_df.where(F.col("source_table").isNull()) if has_others else events_df
    entries = F.explode(F.array(*(_entry(table, width) for table in tables))).alias("entry")
    return own_df.select(entries, *kept).where(F.col("entry").isNotNull()).select("entry.*", *kept)


def _entry(table: MergedTable, width: int) -> Column:
    """What one event of the wide log says about ``table`` as a struct of a keyed row's columns, or null."""
    is_delete, order, key = F.col("op") == "d", F.col("event_order"), table.spec.key_column
    nothing = F.lit(None).cast("string")
    has_life = table.spec.follows_deletes or table.spec.has_row_order
    row_order = F.when(~is_delete, order) if has_life else nothing
    deleted_order = F.when(is_delete, order) if table.spec.follows_deletes else nothing
    slots = []
    for column in table.columns:
        is_set = ~is_delete & order.isNotNull()
        if column.name == key or table.nulls_of(column) is Nulls.UNKNOWN:
            is_set = is_set & F.col(column.name).isNotNull()
        else:
            is_set = is_set & ~F.coalesce(F.array_contains("row_unknown", column.name), F.lit(False))
        slots.append(F.when(is_set, slot(order, to_text(F.col(column.name), column.type))))
    entry = F.struct(
        F.lit(table.name).alias(TABLE),
        to_text(F.col(key), table.key_type).alias(KEY),
        row_order.alias(ROW_ORDER),
        deleted_order.alias(DELETED_ORDER),
        *padded(slots, width),
    )
    is_about = F.col(key) != "" if table.key_type == "string" else F.col(key).isNotNull()
    return F.when(is_about if table.spec.follows_deletes else is_about & ~is_delete, entry)


def _of_tables_at_the_source(
    events_df: DataFrame, tables: Sequence[MergedTable], width: int, kept: tuple[str, ...]
) -> DataFrame:
    """One expression for all tables, whatever their number: the plan grows with the widest of them alone."""
    named = [
        (
            origin,
            table.name,
            [*table.spec.key],
            [column.source for column in table.columns],
            [column.added for column in table.columns],
            [column.source for column in table.columns if table.nulls_of(column) is Nulls.UNKNOWN],
            not table.spec.follows_deletes,
            origin if table.spec.shards else None,
        )
        for table in tables
        for origin in table.spec.origins
    ]
    names_df = F.broadcast(literal_frame(events_df.sparkSession, named, _NAMES))
    known_df = events_df.join(names_df, F.col("source_table") == F.col("origin"))
    if any(table.spec.shards for table in tables):
        known_df = known_df.withColumn(
            "row_values", F.when(F.col("shard").isNull(), F.col("row_values")).otherwise(_with_shard())
        )
    is_delete, order = F.col("op") == "d", F.col("event_order")
    keys = F.transform("keys", _value_of)
    is_key = ~F.exists(keys, lambda key: key.isNull()) & (keys != F.array(F.lit("")))
    is_about = is_key & ~(is_delete & F.col("ignores"))
    slots = [_slot(number).alias(name) for number, name in enumerate(slot_names(width))]
    return known_df.where(is_about).select(
        F.col("name").alias(TABLE),
        F.when(F.size(keys) == 1, F.get(keys, F.lit(0))).otherwise(F.to_json(keys)).alias(KEY),
        F.when(~is_delete, order).alias(ROW_ORDER),
        F.when(is_delete, order).alias(DELETED_ORDER),
        *slots,
        *kept,
    )


def _with_shard() -> Column:
    """The values of a row, and of which table at the source it is."""
    own = F.map_filter("row_values", lambda name, _: name != ORIGIN)
    return F.map_concat(own, F.create_map(F.lit(ORIGIN), F.col("shard")))


def _value_of(name: Column) -> Column:
    return F.element_at("row_values", name)


def _slot(number: int) -> Column:
    """What an event says of the column with this number: order and value, or null when it says nothing."""
    name, added, order = F.get("sources", F.lit(number)), F.get("added", F.lit(number)), F.col("event_order")
    is_unknown = F.coalesce(F.array_contains("row_unknown", name), F.lit(False))
    is_there = F.array_contains(F.map_keys("row_types"), name) | (order >= added)
    value = _value_of(name)
    says_nothing = value.isNull() & F.array_contains("unknown", name)
    is_set = (F.col("op") != "d") & name.isNotNull() & ~is_unknown & is_there & ~says_nothing
    return F.when(is_set, slot(order, value)).otherwise(never_set())
