"""Reading tables: snapshots and bounded incremental pulls."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.storage.options import build_incremental_options
from spark_jobs.storage.timeline import Timeline

COMMIT_TIME = "_hoodie_commit_time"
META_COLUMNS = (
    COMMIT_TIME,
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

log = logging.getLogger(__name__)


def read_snapshot(spark: SparkSession, path: str) -> DataFrame:
    """The table's columns as of its newest commit, without Hudi's own."""
    return spark.read.format("hudi").load(path).drop(*META_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A bounded pull. ``resync_reason`` says why the whole table is read instead of the window, or is empty."""

    window: InstantRange
    resync_reason: str = ""


def plan_pull(timeline: Timeline, *, after: str) -> Pull:
    """Bound a pull by what is safe to read, and find out when ``after`` cannot be trusted.

    A checkpoint that is no longer on the active timeline reads silently too little, one ahead of it reads nothing:
    both become an explicit resync, a snapshot up to the same bound.
    """
    up_to = timeline.readable_up_to
    if after == BEGINNING or timeline.holds(after):
        return Pull(window=InstantRange(after=after, up_to=up_to))
    if not timeline.writes:
        return Pull(window=InstantRange(after=BEGINNING, up_to=BEGINNING))
    first, last = timeline.writes[0].time, timeline.writes[-1].time
    reason = f"checkpoint {after} is not on the timeline of {timeline.table} ({first} to {last})"
    log.warning("%s: reading the whole table up to %s instead", reason, up_to)
    return Pull(window=InstantRange(after=BEGINNING, up_to=up_to), resync_reason=reason)


def read_pull(spark: SparkSession, path: str, pull: Pull) -> DataFrame:
    """Rows written in the window, without Hudi's own columns."""
    window = pull.window
    if window.after == BEGINNING:
        whole_df = spark.read.format("hudi").load(path)
        return whole_df.where(F.col(COMMIT_TIME) <= window.up_to).drop(*META_COLUMNS)
    options = build_incremental_options(after=window.after, up_to=window.up_to)
    return spark.read.format("hudi").options(**options).load(path).drop(*META_COLUMNS)
