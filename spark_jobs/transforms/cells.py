"""Rows of marts: their key, and what sets one state of a mart apart from another."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.marts import CELL_ID

BEFORE, AFTER = "before", "after"
CELL_DELETED = "_hoodie_is_deleted"


def with_cell_id(rows_df: DataFrame, grain: Sequence[str]) -> DataFrame:
    """Add ``cell_id``, the record key: the grain's values as text, an unknown one (null) as ``-``.

    A bar or backslash inside a value is escaped, and a value that is ``-`` itself is too, so no two cells share a key.
    """
    parts = [F.coalesce(_escaped(F.col(name).cast("string")), F.lit("-")) for name in grain]
    return rows_df.withColumn(CELL_ID, F.concat_ws("|", *parts))


def _escaped(text: Column) -> Column:
    safe = F.regexp_replace(text, r"([\\|])", r"\\$1")
    return F.when(safe == "-", F.lit("\\-")).otherwise(safe)


def difference(result_df: DataFrame, stored_df: DataFrame | None, columns: Sequence[str], partition: str) -> DataFrame:
    """What has to change for the stored rows to become the result.

    Args:
        result_df: ``cell_id`` and ``columns``: the rows there should be.
        stored_df: the rows there are, of the same scope; or None for none. Columns it lacks count as null.
        columns: columns of the mart beside ``cell_id``.
        partition: the column the table is partitioned by, or "". A row that moves to another partition is one row
            that goes and one that comes.

    Returns:
        ``before`` and ``after``, structs of ``cell_id`` and the columns, one of them null where a row comes or goes.
    """
    names = (CELL_ID, *columns)
    result_df = result_df.select(F.struct(*names).alias(AFTER))
    if stored_df is None:
        return result_df.select(F.lit(None).cast(result_df.schema[AFTER].dataType).alias(BEFORE), AFTER)
    types = {field.name: field.dataType for field in result_df.select(f"{AFTER}.*").schema.fields}
    present = set(stored_df.columns)
    stored = [F.col(name).cast(types[name]) if name in present else F.lit(None).cast(types[name]) for name in names]
    named = [column.alias(name) for column, name in zip(stored, names, strict=True)]
    stored_df = stored_df.select(F.struct(*named).alias(BEFORE))
    keys = (CELL_ID, *((partition,) if partition else ()))
    is_same_key = reduce(operator.and_, [F.col(f"{BEFORE}.{key}").eqNullSafe(F.col(f"{AFTER}.{key}")) for key in keys])
    both_df = stored_df.join(result_df, is_same_key, "full_outer")
    return both_df.where(~F.col(BEFORE).eqNullSafe(F.col(AFTER)))


def is_reshaped(difference_df: DataFrame, stored_df: DataFrame | None) -> bool:
    """True when the stored rows have a column that ``after`` has not, or has with another type."""
    result = {field.name: field.dataType for field in difference_df.select(f"{AFTER}.*").schema.fields}
    stored = stored_df.schema.fields if stored_df is not None else ()
    return any(result.get(field.name) != field.dataType for field in stored)


def rows_after(difference_df: DataFrame, stored_df: DataFrame, partition: str) -> DataFrame:
    """Every row there is when the difference was made: those that stay, and those of ``after``; none is deleted."""
    after_df = difference_df.where(F.col(AFTER).isNotNull()).select(f"{AFTER}.*")
    present = set(stored_df.columns)
    columns = [
        (F.col(field.name) if field.name in present else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in after_df.schema.fields
    ]
    keys = (CELL_ID, *((partition,) if partition else ()))
    gone_df = difference_df.where(F.col(BEFORE).isNotNull()).select(
        *(F.col(f"{BEFORE}.{key}").alias(f"__{key}") for key in keys)
    )
    is_same_key = reduce(operator.and_, [F.col(key).eqNullSafe(F.col(f"__{key}")) for key in keys])
    rows_df = stored_df.select(*columns).join(gone_df, is_same_key, "left_anti").unionByName(after_df)
    return rows_df.withColumn(CELL_DELETED, F.lit(False))


def changed_rows(difference_df: DataFrame) -> DataFrame:
    """The rows to upsert: those of ``after``, and those that went, marked as deleted."""
    row = F.coalesce(F.col(AFTER), F.col(BEFORE)).alias("row")
    return difference_df.select(row, F.col(AFTER).isNull().alias(CELL_DELETED)).select("row.*", CELL_DELETED)


def visible_changes(difference_df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """``before`` and ``after`` with these columns alone."""
    # Named one by one: over Spark Connect a field of a struct does not bring its name into another.
    sides = {side: F.struct(*(F.col(f"{side}.{name}").alias(name) for name in columns)) for side in (BEFORE, AFTER)}
    return difference_df.select(*(F.when(F.col(side).isNotNull(), row).alias(side) for side, row in sides.items()))


def cell_hash(columns: Sequence[str]) -> Column:
    """A hash of a whole row; the exclusive or of such hashes is a checksum that can be carried on."""
    return F.xxhash64(*sorted(columns))
