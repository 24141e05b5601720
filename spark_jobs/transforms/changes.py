"""What a merge changes for the readers of a table, who see live rows with key and values: no tombstones, no orders."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import TableSpec
from spark_jobs.transforms.newest import KEY, ROW_ORDER, STORED, TABLE, from_text, slot_names


def to_changes(rows_df: DataFrame, table: TableSpec, spec: LakeSpec) -> DataFrame:
    """``before`` and ``after`` of the rows of one table that look different now; null where there was or is none.

    Args:
        rows_df: merged keyed rows, with what was stored kept for this table
            (:func:`spark_jobs.transforms.newest.merge_rows`).
        table: whose rows; those in which orders alone moved are no change.
        spec: the lake.
    """
    slots = dict(zip(table.columns, slot_names(spec), strict=False))
    stored = F.col(STORED)
    seen = _visible(table, spec, stored[ROW_ORDER], {column: stored[slot] for column, slot in slots.items()})
    now = _visible(table, spec, F.col(ROW_ORDER), {column: F.col(slot)["value"] for column, slot in slots.items()})
    changes_df = rows_df.where(F.col(TABLE) == table.name).select(
        F.when(stored.isNotNull(), seen).alias(BEFORE), now.alias(AFTER)
    )
    return changes_df.where(~F.col(BEFORE).eqNullSafe(F.col(AFTER)))


def _visible(table: TableSpec, spec: LakeSpec, row_order: Column, texts: Mapping[str, Column]) -> Column:
    columns = [from_text(text, column, spec) for column, text in texts.items()]
    row = F.struct(from_text(F.col(KEY), table.key, spec), *columns)
    return F.when(row_order.isNotNull(), row) if table.follows_deletes else row
