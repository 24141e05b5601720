"""Keyed rows packed for lookup: a hash of table and key, and the whole row as one JSON text.

A text is parsed only where its hash is wanted. Most columns of a row were set by the same event, so an order is written
once a row, and beside a value only where it differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.packed_rows import KEY_HASH, PACKED
from spark_jobs.lake_spec.table_spec import ROW_ORDER
from spark_jobs.transforms.keyed_rows import DELETED_ORDER, KEY, SLOT_TYPE, TABLE

_NEWEST = "newest"
_NOT_SLOTS = (TABLE, KEY, ROW_ORDER, DELETED_ORDER)


def key_hash() -> Column:
    """The hash by which a keyed row is looked up. Rows that share one are told apart after unpacking."""
    return F.xxhash64(TABLE, KEY).alias(KEY_HASH)


def pack_rows(rows_df: DataFrame) -> DataFrame:
    """Keyed rows as ``key_hash``, ``packed``."""
    slots = [name for name in rows_df.columns if name not in _NOT_SLOTS]
    newest = F.greatest(F.col(ROW_ORDER), F.col(DELETED_ORDER), *(F.col(slot)["order"] for slot in slots))
    packed = F.struct(TABLE, KEY, _NEWEST, ROW_ORDER, DELETED_ORDER, *map(_pack_slot, slots))
    return rows_df.withColumn(_NEWEST, newest).select(key_hash(), F.to_json(packed).alias(PACKED))


def unpack_rows(packed_df: DataFrame, slots: Sequence[str]) -> DataFrame:
    """Keyed rows from ``packed``, with these slots; rows packed before a slot was known have null there."""
    schema = ", ".join(
        [
            *(f"`{name}` string" for name in (*_NOT_SLOTS, _NEWEST)),
            *(f"`{slot}` {SLOT_TYPE}" for slot in slots),
        ]
    )
    parsed_df = packed_df.select(F.from_json(PACKED, schema, {"mode": "FAILFAST"}).alias("row")).select("row.*")
    return parsed_df.select(*_NOT_SLOTS, *map(_unpack_slot, slots))


def _pack_slot(slot: str) -> Column:
    order, value = F.col(slot)["order"], F.col(slot)["value"]
    other = F.when(order != F.col(_NEWEST), order)
    return F.when(F.col(slot).isNotNull(), F.struct(other.alias("order"), value.alias("value"))).alias(slot)


def _unpack_slot(slot: str) -> Column:
    order = F.coalesce(F.col(slot)["order"], F.col(_NEWEST))
    whole = F.struct(order.alias("order"), F.col(slot)["value"].alias("value"))
    return F.when(F.col(slot).isNotNull(), whole).alias(slot)
