"""What people and the SQL of marts see of a table: live rows, and the columns that mean something."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.marts import CELL_ID
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.transforms.newest import IS_DELETED


def is_technical(column: str) -> bool:
    """True for columns that keep a table right and mean nothing to a reader."""
    return column == CELL_ID or "__" in column or column.startswith("_hoodie")


def visible_rows(rows_df: DataFrame, table: str, spec: LakeSpec) -> DataFrame:
    """Stored rows of a table, as its readers see them: without tombstones, event orders and technical columns."""
    declared = next((t for t in spec.tables if t.name == table), None)
    if declared is not None:
        live_df = rows_df.where(~F.col(IS_DELETED)) if declared.follows_deletes else rows_df
        return live_df.select(declared.key, *(name for name in declared.columns if name in rows_df.columns))
    return rows_df.select(*(name for name in rows_df.columns if not is_technical(name)))
