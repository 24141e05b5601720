"""Change events parsed by Spark alone, as a peer of `ingest`: no check, no hash, no duplicate found."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

REBASE = {"spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED"}
"""Plain Parquet may have the old times of broken messages."""
_ORDER = ("commit_lsn", "change_lsn", "event_serial_no")
_SOURCE = "ts_ms bigint, commit_lsn string, change_lsn string, event_serial_no bigint"


def parsed_by_spark(messages_df: DataFrame, spec: LakeSpec) -> DataFrame:
    """The texts in the column ``value`` by `from_json`: the log's columns that need no hash; null is unreadable."""
    row = ", ".join(f"{column.source} {_sent_as(column)}" for column in spec.source.columns)
    envelope = f"op string, before struct<{row}>, after struct<{row}>, source struct<{_SOURCE}>"
    parsed_df = messages_df.select(F.from_json(F.col("value").cast("string"), envelope).alias("e"))
    order = [F.col(f"e.source.{name}").alias(name) for name in _ORDER]
    moment = _moment(F.col("e.source.ts_ms")).alias("event_time")
    values = [_value(column) for column in spec.source.columns]
    return parsed_df.select(F.col("e.op").alias("op"), *order, moment, *values)


def _sent_as(column: ColumnSpec) -> str:
    return "bigint" if column.type is ColumnType.TIMESTAMP else column.sql_type


def _value(column: ColumnSpec) -> Column:
    image = F.when(F.col("e.op") == "d", F.col("e.before")).otherwise(F.col("e.after"))
    value = image.getField(column.source)
    return (_moment(value) if column.type is ColumnType.TIMESTAMP else value).alias(column.name)


def _moment(milliseconds: Column) -> Column:
    """A time; ``timestamp_millis`` would fail for the numbers of broken messages."""
    return (milliseconds / 1000).cast("timestamp")
