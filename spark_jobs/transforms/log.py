"""Rows of the event log from decoded records."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.rejections import IGNORED, OF_THE_SOURCE, Reason
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.transforms.quarantine import with_states

REJECTION_REASON, REJECTION_DETAIL, RAW = "reason", "detail", "raw"
_RULES, _FOUND = "__rules", "__raw"


def log_columns(spec: LakeSpec) -> tuple[str, ...]:
    """What each event is, the source columns, where and when it was read, its day (:attr:`LakeSpec.log_columns`)."""
    return spec.log_columns


def with_day(decoded_df: DataFrame, clock: datetime) -> DataFrame:
    """Decoded records with the columns of the log that they lack: ``event_date`` (UTC) and ``ingest_time``."""
    dated_df = decoded_df.withColumn("event_date", F.col("event_time").cast("date").cast("string"))
    return dated_df.withColumn("ingest_time", F.lit(clock))


def set_aside(dated_df: DataFrame, broken_rules: Column) -> DataFrame:
    """Usable records that break rules become rejected ones.

    Args:
        dated_df: what :func:`with_day` gives.
        broken_rules: of each record, the names of the rules for which it is to be set aside, as an array of texts.

    Returns:
        The same columns. A record with such rules has the reason ``broken_rule`` and their names as detail. Its bytes
        are still to be found (:func:`with_raw`): carrying those of every record would cost more than looking them up.
    """
    ruled_df, is_broken = dated_df.withColumn(_RULES, broken_rules), is_usable() & (F.size(_RULES) > 0)
    return with_reason(ruled_df, is_broken, Reason.BROKEN_RULE, F.concat_ws(", ", _RULES)).drop(_RULES)


def with_reason(decoded_df: DataFrame, is_meant: Column, reason: Reason, detail: Column) -> DataFrame:
    """The records in the same columns; those that are meant with this ``reason`` and ``detail``."""
    columns = {
        REJECTION_REASON: F.when(is_meant, F.lit(reason.value)).otherwise(F.col(REJECTION_REASON)),
        REJECTION_DETAIL: F.when(is_meant, detail).otherwise(F.col(REJECTION_DETAIL)),
    }
    return decoded_df.withColumns(columns)


def with_raw(decoded_df: DataFrame, lines_df: DataFrame) -> DataFrame:
    """Records with their bytes: their own, or those of ``lines_df`` (read_from, read_offset, raw) at their place."""
    found_df = lines_df.withColumnRenamed(RAW, _FOUND)
    joined_df = decoded_df.join(found_df, ["read_from", "read_offset"], "left")
    return joined_df.withColumn(RAW, F.coalesce(RAW, _FOUND)).drop(_FOUND)


def is_usable() -> Column:
    """True for records that become rows of the log."""
    return F.col(REJECTION_REASON).isNull()


def is_rejected() -> Column:
    """True for records that go to quarantine."""
    return F.col(REJECTION_REASON).isNotNull() & (F.col(REJECTION_REASON) != IGNORED)


def is_set_aside() -> Column:
    """True for those of the rejected records that can be read, and were set aside: their bytes are to be found."""
    return _has_reason(Reason.BROKEN_RULE, *OF_THE_SOURCE)


def is_of_the_source() -> Column:
    """True for those of them that are the trouble of one table or source, and not of what their rows hold."""
    return _has_reason(*OF_THE_SOURCE)


def _has_reason(*reasons: Reason) -> Column:
    return F.coalesce(F.col(REJECTION_REASON).isin(*(reason.value for reason in reasons)), F.lit(False))


def select_log_rows(dated_df: DataFrame, spec: LakeSpec) -> DataFrame:
    """Usable records as rows of the log (:func:`log_columns`), one for each ``event_id``."""
    return select_deliveries(dated_df, spec).dropDuplicates(["event_id"])


def select_deliveries(dated_df: DataFrame, spec: LakeSpec) -> DataFrame:
    """Usable records as rows of the log (:func:`log_columns`), an event as often as it was delivered."""
    return dated_df.where(is_usable()).select(*log_columns(spec))


def select_rejections(decoded_df: DataFrame, clock: datetime) -> DataFrame:
    """Records that cannot be used, one row for each distinct content.

    Returns:
        ``record_hash``, ``reason``, ``detail``, ``raw`` (the bytes as they were), ``read_from`` and ``read_offset`` (of
        the first one read), ``ingest_time``; ``state``, ``history`` and ``became``, which are not known yet.
    """
    rejected_df = decoded_df.where(is_rejected()).withColumn("record_hash", F.sha2(F.col(RAW), 256))
    first = F.min(F.struct("read_from", "read_offset", REJECTION_REASON, REJECTION_DETAIL, RAW)).alias("first")
    first_df = rejected_df.groupBy("record_hash").agg(first)
    rows_df = first_df.select(
        "record_hash",
        F.col(f"first.{REJECTION_REASON}").alias(REJECTION_REASON),
        F.col(f"first.{REJECTION_DETAIL}").alias(REJECTION_DETAIL),
        F.col(f"first.{RAW}").alias(RAW),
        F.col("first.read_from").alias("read_from"),
        F.col("first.read_offset").alias("read_offset"),
        F.lit(clock).alias("ingest_time"),
    )
    return with_states(rows_df)
