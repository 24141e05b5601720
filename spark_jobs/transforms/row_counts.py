"""How many rows a commit adds, changes and removes, for those who read its table, counted before it is made.

Hudi's own statistics cannot tell: an upsert into a log file counts every row as changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.row_counts import RowCounts
from spark_jobs.lake_spec.table_spec import ROW_ORDER
from spark_jobs.transforms.cells import AFTER, BEFORE
from spark_jobs.transforms.keyed_rows import TABLE, WAS_LIVE, MergedTable

WAS_THERE, IS_THERE = "__was_there", "__is_there"
"""Columns beside a row that is about to be written: whether a reader saw it before, and sees it now; never null."""
_ADDED, _CHANGED, _REMOVED = "__rows_added", "__rows_changed", "__rows_removed"


def rows_of_difference(difference_df: DataFrame) -> DataFrame:
    """The columns of ``after``, ``WAS_THERE`` and ``IS_THERE``, of a mart's difference."""
    sides = (F.col(side).isNotNull().alias(name) for side, name in ((BEFORE, WAS_THERE), (AFTER, IS_THERE)))
    return difference_df.select(f"{AFTER}.*", *sides)


def count_difference(difference_df: DataFrame) -> RowCounts:
    """Rows of a mart's difference (``before`` and ``after``), by a query of their own."""
    (row,) = rows_of_difference(difference_df).agg(*count_rows(F.col(WAS_THERE), F.col(IS_THERE))).collect()
    return row_counts(row.asDict())


def count_rows(was_there: Column, is_there: Column) -> list[Column]:
    """Aggregates for :func:`row_counts`, of whether a reader saw a row before, and sees it now; neither is null."""
    return [
        F.count_if(~was_there & is_there).alias(_ADDED),
        F.count_if(was_there & is_there).alias(_CHANGED),
        F.count_if(was_there & ~is_there).alias(_REMOVED),
    ]


def count_merged(tables: Sequence[MergedTable]) -> list[Column]:
    """Aggregates for :func:`row_counts` over merged keyed rows, each of one of these tables.

    A row that was deleted is not there. Tables that ignore deletes keep no life of their rows: a stored one is there.
    """
    following = [table.name for table in tables if table.spec.keeps_tombstones or table.spec.has_row_order]
    ignores_deletes = ~F.col(TABLE).isin(following)
    was_there = F.col(WAS_LIVE).isNotNull() & (F.col(WAS_LIVE) | ignores_deletes)
    return count_rows(was_there, F.col(ROW_ORDER).isNotNull() | ignores_deletes)


def row_counts(counted: Mapping[str, int]) -> RowCounts:
    """What the aggregates gave, of a row of results."""
    return RowCounts(added=counted[_ADDED], changed=counted[_CHANGED], removed=counted[_REMOVED])
