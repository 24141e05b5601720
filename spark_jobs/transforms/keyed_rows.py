"""Newest value per column and key: the merge that makes the order of delivery irrelevant.

Every column keeps the event order at which its value was set. Merging takes, for each column on its own, the value with
the greatest order among those that are known: commutative, associative and idempotent, so any permutation, split,
repetition or late arrival of the same events gives the same rows. A delete voids every value older than itself.

Rows of all tables go through one plan, in one form, *keyed rows*, because planning a query costs more than merging a
micro-batch: ``table``, ``key`` (as text), ``row_order``, ``deleted_order``, and one slot for each column of the widest
table. A slot is ``struct<order, value>`` with the value as text, or null when the column was never set.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.schemas import Column as ColumnForm
from spark_jobs.lake_spec.table_spec import ROW_ORDER, TableSpec
from spark_jobs.lake_spec.tables import Nulls

DELETED_ORDER = "deleted_order"
TABLE, KEY = "table", "key"
SLOT_TYPE = "struct<order:string,value:string>"
STORED = "stored"
"""A column beside the keyed row: what of it was stored, ``struct<row_order, slot_0, …>`` with values alone, or null."""
WAS_LIVE = "__was_live"
"""A column beside the merged row: whether the stored row was live, or null when its key had no row."""
_LIFE = (ROW_ORDER, DELETED_ORDER)
_IS_STORED, _STORED = "__is_stored", "__stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTable:
    """A table and the columns that it has now, each of which is a slot of its keyed rows.

    Attributes:
        spec: the table as it is declared.
        columns: of a table with one order a row all of them, those of the key too; else those beside the key.
        key_type: the SQL type of the key of a table of the wide log.
        nulls: what null means in columns that are no exceptions.
    """

    spec: TableSpec
    columns: tuple[ColumnForm, ...]
    key_type: str = "string"
    nulls: Nulls = Nulls.VALUE

    @property
    def name(self) -> str:
        """Its name in the lake."""
        return self.spec.name

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots of its columns, in their order."""
        return slot_names(len(self.columns))

    @property
    def index_columns(self) -> list[str]:
        """What its key and slots mean, with the types of declared columns: those of the source may get wider."""
        if self.spec.is_mirror:
            return [KEY, *(column.source for column in self.columns)]
        return [f"{self.spec.key_column} {self.key_type}", *(f"{c.name} {c.type}" for c in self.columns)]

    def nulls_of(self, column: ColumnForm) -> Nulls:
        """What null means in one of its columns."""
        return dict(self.spec.null_columns).get(column.source, self.nulls)


def slot_names(width: int) -> tuple[str, ...]:
    """Names of so many slots."""
    return tuple(f"slot_{number}" for number in range(width))


def width_of(tables: Sequence[MergedTable]) -> int:
    """How many slots keyed rows of these tables have: as many as the widest has columns."""
    return max((len(table.columns) for table in tables), default=0)


def newest_rows(rows_df: DataFrame, by: Sequence[str] = (TABLE, KEY)) -> DataFrame:
    """Keyed rows with several of one key merged into one, or of what else they are to be one ``by``."""
    merged = [F.max(part).alias(part) for part in _parts(rows_df) if part not in by]
    return rows_df.groupBy(*by).agg(*merged)


def merge_rows(rows_df: DataFrame, stored_df: DataFrame | None, *, keep_stored: Collection[str] = ()) -> DataFrame:
    """Keyed rows laid over what is stored; only those that differ from it, and nothing in them older than a delete.

    Each comes with ``WAS_LIVE``.

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
        was_live = F.lit(None).cast("boolean").alias(WAS_LIVE)
        return rows_df.select(TABLE, KEY, *now, was_live, *_kept(parts, now, F.lit(False), keep_stored))
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
    was_live = F.when(F.col(_IS_STORED), before[parts.index(ROW_ORDER)].isNotNull()).alias(WAS_LIVE)
    return merged_df.where(~is_same).select(TABLE, KEY, *now, was_live, *kept)


def slot(order: Column, value: Column) -> Column:
    """A slot that is set."""
    return F.struct(order.alias("order"), value.alias("value"))


def never_set() -> Column:
    """A slot of a column that was never set."""
    return F.lit(None).cast(SLOT_TYPE)


def padded(slots: Sequence[Column], width: int) -> list[Column]:
    """Slots under their names, with empty ones up to the width."""
    every = [*slots, *(never_set() for _ in range(width - len(slots)))]
    return [each.alias(name) for name, each in zip(slot_names(width), every, strict=True)]


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
