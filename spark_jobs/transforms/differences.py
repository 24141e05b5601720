"""What sets two states of a table apart, for people: which rows came, went or changed, and how."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StructField

OP, CHANGES = "op", "changes"
INSERT, UPDATE, DELETE = "insert", "update", "delete"


def row_differences(before_df: DataFrame, after_df: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows that differ, each once.

    Args:
        before_df: the earlier state; columns it lacks count as null.
        after_df: the later state, with one row a key as the earlier one.
        keys: columns that identify a row; an unknown value (null) is a value like others.

    Returns:
        ``op`` (insert, update or delete), the keys, and ``changes``: ``column: before → after`` of each column that
        differs; of a row that came or went, of each column that has a value.
    """
    columns = [field for field in after_df.schema.fields if field.name not in keys]
    has = set(before_df.columns)
    before = [(F.col(f.name) if f.name in has else F.lit(None).cast(f.dataType)).alias(f.name) for f in columns]
    before_df = before_df.select(F.struct(*keys, *before).alias("before"))
    after_df = after_df.select(F.struct(*keys, *(field.name for field in columns)).alias("after"))
    is_same_row = reduce(operator.and_, [F.col(f"before.{key}").eqNullSafe(F.col(f"after.{key}")) for key in keys])
    both_df = before_df.join(after_df, is_same_row, "full_outer")
    came, went = F.col("before").isNull(), F.col("after").isNull()
    is_changed = reduce(operator.or_, map(_differs, columns), F.lit(False))
    return both_df.where(came | went | is_changed).select(
        F.when(came, INSERT).when(went, DELETE).otherwise(UPDATE).alias(OP),
        *(F.coalesce(F.col(f"after.{key}"), F.col(f"before.{key}")).alias(key) for key in keys),
        F.concat_ws("; ", *map(_change, columns)).alias(CHANGES),
    )


def inserted_rows(rows_df: DataFrame, keys: Sequence[str]) -> DataFrame:
    """``op`` (insert), the keys and ``changes`` of rows that came to a table whose rows never change."""
    return row_differences(rows_df.limit(0), rows_df, keys)


def _differs(field: StructField) -> Column:
    before, after = (F.col(f"{side}.{field.name}") for side in ("before", "after"))
    if isinstance(field.dataType, MapType):  # Spark compares no maps
        before, after = (F.array_sort(F.map_entries(each)) for each in (before, after))
    return ~before.eqNullSafe(after)


def _change(field: StructField) -> Column:
    sides = (F.col(f"{side}.{field.name}").cast("string") for side in ("before", "after"))
    before, after = (F.coalesce(side, F.lit("-")) for side in sides)
    return F.when(_differs(field), F.concat(F.lit(f"{field.name}: "), before, F.lit(" → "), after))
