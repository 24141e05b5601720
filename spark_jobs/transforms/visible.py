"""What people and the SQL of marts see of a table: live rows, and the columns that mean something."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED, ROW_KEY
from spark_jobs.lake_spec.visible import hides_deleted, shown_columns


def visible_rows(rows_df: DataFrame, table: str, spec: LakeSpec) -> DataFrame:
    """Stored rows of a table, as its readers see them: no tombstones, no ``<column>_order``, no technical columns."""
    return live_rows(rows_df, table, spec).select(*shown_columns(table, rows_df.columns, spec))


def rows_to_check(rows_df: DataFrame, table: str, spec: LakeSpec) -> DataFrame:
    """The same, for expectations: rows of a table at the source with ``row_key`` too, which is unique."""
    key = [ROW_KEY] if spec.mirror(table) else []
    return live_rows(rows_df, table, spec).select(*key, *shown_columns(table, rows_df.columns, spec))


def live_rows(rows_df: DataFrame, table: str, spec: LakeSpec) -> DataFrame:
    """Stored rows of a table that are not ``is_deleted``, with all columns that they are stored with."""
    return rows_df.where(~F.col(IS_DELETED)) if hides_deleted(table, spec) else rows_df
