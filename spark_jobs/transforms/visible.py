"""What people and the SQL of marts see of a table: live rows, and the columns that mean something."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.visible import hides_deleted, shown_columns
from spark_jobs.transforms.newest import IS_DELETED


def visible_rows(rows_df: DataFrame, table: str, spec: LakeSpec) -> DataFrame:
    """Stored rows of a table, as its readers see them: without tombstones, event orders and technical columns."""
    live_df = rows_df.where(~F.col(IS_DELETED)) if hides_deleted(table, spec) else rows_df
    return live_df.select(*shown_columns(table, rows_df.columns, spec))
