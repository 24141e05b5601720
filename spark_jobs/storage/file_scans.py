"""Rows of files whose names and columns are known, read by Spark as plain Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_jobs.storage.commit_columns import is_plain_list
from spark_jobs.storage.commit_files import NamedFiles
from spark_jobs.storage.layouts import HUDI_COLUMNS

META_COLUMNS = (*HUDI_COLUMNS, "_hoodie_is_deleted")
_BY_ROW = "__by_row"
"""A struct that no file has: a scan with it does without the vectorized reader."""


def read_named_files(
    spark: SparkSession,
    path: str,
    files: NamedFiles,
    *,
    where: Column | None = None,
    also: Sequence[str] = (),
    is_alone: bool = False,
) -> DataFrame:
    """Rows of these files of the table at ``path``, with the table's columns as they are now, without ``_hoodie_…``.

    A column that the table got later is null. Hudi's reader turns the vectorized reader off for its session while a
    plan is being carried out, and a scan that was planned with it fails then: one with a struct never is, so that it
    may be in one plan with anything. The session has to be one of this project's; see
    :func:`spark_jobs.session.build_session_options`.

    Args:
        spark: the session.
        path: the table's folder.
        files: below it.
        where: which of the rows; it may name the columns ``also``, texts that Hudi adds to each row.
        also: those columns.
        is_alone: nothing else is read in the plans that the rows are used in; files are read faster then.
    """
    paths = [f"{path}/{name}" for name in files.paths]
    columns = files.columns or spark.read.format("hudi").load(path).schema
    columns = StructType([field for field in columns if field.name not in META_COLUMNS])
    if not paths:
        return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in columns))
    stored = {field.name: field.dataType for field in files.stored or spark.read.parquet(*paths).schema}
    read = StructType([StructField(name, StringType()) for name in also])
    for field in columns:
        read.add(field.name, stored.get(field.name, field.dataType))
    is_wanted = F.lit(True) if where is None else where
    if not is_alone:
        read.add(_BY_ROW, StructType().add(_BY_ROW, StringType()))
        is_wanted &= F.col(_BY_ROW).isNull()
    files_df = spark.read.schema(read).parquet(*paths).where(is_wanted)
    return files_df.select(*(_as_now(field, read[field.name].dataType) for field in columns))


def with_types_of(rows_df: DataFrame, columns: StructType) -> DataFrame:
    """The rows of files with all ``columns`` of the table; arrays are without nulls by their type where those are.

    In a file they are too, which a plain scan of it does not say (:func:`commit_columns.lacks_nulls_of`).
    """
    if not any(is_plain_list(field.dataType) for field in columns):
        return rows_df
    kinds = {field.name: field.dataType for field in columns}
    return rows_df.select(*(_without_nulls(name, kinds[name]) for name in rows_df.columns))


def _without_nulls(name: str, kind: DataType) -> Column:
    if not (isinstance(kind, ArrayType) and is_plain_list(kind)):
        return F.col(name)
    never = _literal_of(kind.elementType)
    return F.transform(name, lambda element: F.coalesce(element, never)).alias(name)


def _literal_of(kind: DataType) -> Column:
    match kind:
        case StringType():
            return F.lit("")
        case BooleanType():
            return F.lit(False)
        case DateType():
            return F.lit(date(1970, 1, 1))
        case TimestampType():
            return F.lit(datetime(1970, 1, 1, tzinfo=UTC))
        case _:
            return F.lit(0).cast(kind)


def _as_now(field: StructField, stored: DataType) -> Column:
    """A column of files in which it has another type perhaps."""
    is_same = field.dataType.simpleString() == stored.simpleString()
    return F.col(field.name) if is_same else F.col(field.name).cast(field.dataType)
