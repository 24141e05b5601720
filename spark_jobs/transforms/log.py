"""Rows of the event log from decoded records."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.specs import LakeSpec

REJECTION_REASON, REJECTION_DETAIL, RAW = "reason", "detail", "raw"


def log_columns(spec: LakeSpec) -> tuple[str, ...]:
    """event_id, op, event_order, event_time, the source columns, where it was read, ingest_time, event_date."""
    return spec.log_columns


def select_log_rows(decoded_df: DataFrame, spec: LakeSpec, clock: datetime) -> DataFrame:
    """Usable records as rows of the log; one row per event, however often it was delivered."""
    usable_df = decoded_df.where(F.col(REJECTION_REASON).isNull()).dropDuplicates(["event_id"])
    dated_df = usable_df.withColumn("event_date", F.date_format("event_time", "yyyy-MM-dd"))
    return dated_df.withColumn("ingest_time", F.lit(clock)).select(*log_columns(spec))


def drop_stored(rows_df: DataFrame, stored_df: DataFrame) -> DataFrame:
    """Rows whose ``event_id`` is not among the stored ones."""
    return rows_df.join(stored_df.select("event_id"), "event_id", "left_anti")


def select_rejections(decoded_df: DataFrame, clock: datetime) -> DataFrame:
    """Records that cannot be used, one row for each distinct content.

    Returns:
        record_hash, reason, detail, raw (the bytes as they were), read_from and read_offset (of the first one read),
        ingest_time.
    """
    rejected_df = decoded_df.where(F.col(REJECTION_REASON).isNotNull()).withColumn(
        "record_hash", F.sha2(F.col(RAW), 256)
    )
    first = F.min(F.struct("read_from", "read_offset", REJECTION_REASON, REJECTION_DETAIL, RAW)).alias("first")
    first_df = rejected_df.groupBy("record_hash").agg(first)
    return first_df.select(
        "record_hash",
        F.col(f"first.{REJECTION_REASON}").alias(REJECTION_REASON),
        F.col(f"first.{REJECTION_DETAIL}").alias(REJECTION_DETAIL),
        F.col(f"first.{RAW}").alias(RAW),
        F.col("first.read_from").alias("read_from"),
        F.col("first.read_offset").alias("read_offset"),
        F.lit(clock).alias("ingest_time"),
    )
