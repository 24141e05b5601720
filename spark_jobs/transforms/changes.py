"""What a merge changes for the readers of a table, who see live rows with their columns: no tombstones, no orders."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.lake_spec.table_spec import ROW_ORDER
from spark_jobs.transforms.keyed_rows import KEY, STORED, TABLE, MergedTable
from spark_jobs.transforms.row_partitions import key_texts
from spark_jobs.transforms.texts import from_text


def to_changes(rows_df: DataFrame, table: MergedTable) -> DataFrame:
    """``before`` and ``after`` of the rows of one table that look different now; null where there was or is none.

    Args:
        rows_df: merged keyed rows, with what was stored kept for this table
            (:func:`spark_jobs.transforms.keyed_rows.merge_rows`).
        table: whose rows; those in which orders alone moved are no change.
    """
    stored = F.col(STORED)
    seen = _visible(table, stored[ROW_ORDER], lambda name: stored[name])
    now = _visible(table, F.col(ROW_ORDER), lambda name: F.col(name)["value"])
    changes_df = rows_df.where(F.col(TABLE) == table.name).select(
        F.when(stored.isNotNull(), seen).alias(BEFORE), now.alias(AFTER)
    )
    return changes_df.where(~F.col(BEFORE).eqNullSafe(F.col(AFTER)))


def _visible(table: MergedTable, row_order: Column, text_of: Callable[[str], Column]) -> Column:
    """The columns that readers see, or null for a deleted row."""
    texts = {column: text_of(name) for column, name in zip(table.columns, table.slots, strict=True)}
    if table.spec.has_row_order:
        keys = key_texts(table)
        values = [from_text(keys.get(c.source, text), c.type).alias(c.name) for c, text in texts.items()]
    else:
        key = from_text(F.col(KEY), table.key_type).alias(table.spec.key_column)
        values = [key, *(from_text(text, c.type).alias(c.name) for c, text in texts.items())]
    row = F.struct(*values)
    return F.when(row_order.isNotNull(), row) if table.spec.keeps_tombstones or table.spec.has_row_order else row
