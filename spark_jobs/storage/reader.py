"""Reading tables: snapshots and bounded incremental pulls."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.storage.layouts import COMMIT_TIME, EVENT_DATE, HUDI_COLUMNS
from spark_jobs.storage.options import Hudi, build_incremental_options
from spark_jobs.storage.timeline import Timeline

META_COLUMNS = (*HUDI_COLUMNS, "_hoodie_is_deleted")
_MOST = 0.5
"""The share of a table's bytes above which a pull reads the whole table."""

log = logging.getLogger(__name__)


def read_snapshot(spark: SparkSession, path: str) -> DataFrame:
    """The table's columns as of its newest commit, without Hudi's own."""
    return spark.read.format("hudi").load(path).drop(*META_COLUMNS)


def read_stored(spark: SparkSession, path: str) -> DataFrame:
    """The rows in the form in which they were written: a commit of some of them again lacks no column."""
    return spark.read.format("hudi").load(path).drop(*HUDI_COLUMNS)


def read_as_of(spark: SparkSession, path: str, instant: str) -> DataFrame:
    """The table's columns as of a commit that is on its timeline and not yet cleaned, without Hudi's own."""
    return spark.read.format("hudi").option(Hudi.AS_OF_INSTANT, instant).load(path).drop(*META_COLUMNS)


def read_interval(spark: SparkSession, path: str, interval: Interval) -> DataFrame:
    """Every event of the log whose day is in the interval, as of its newest commit."""
    last = interval.end - timedelta(microseconds=1)
    days = F.col(EVENT_DATE).between(interval.start.date().isoformat(), last.date().isoformat())
    return read_snapshot(spark, path).where(days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A bounded pull. ``resync_reason`` says why the whole table is read instead of the window, or is empty.

    ``has_more`` when the window was cut: what comes after ``up_to`` is there to be read next. ``is_by_snapshot`` when
    the window's rows are cheaper to find in the whole table.
    """

    window: InstantRange
    resync_reason: str = ""
    has_more: bool = False
    is_by_snapshot: bool = False


def plan_pull(timeline: Timeline, *, after: str, most_bytes: int | None = None) -> Pull:
    """Bound a pull by what is safe to read, and find out when ``after`` cannot be trusted.

    A checkpoint that is no longer on the active timeline reads silently too little, one ahead of it reads nothing,
    and after a table was written anew a pull gives rows that were read before and is silent about those that went:
    each becomes an explicit resync, a snapshot up to the same bound.

    Args:
        timeline: the table to pull from.
        after: the checkpoint.
        most_bytes: cut the window after the commit with which so much was written; a commit is never cut.
    """
    up_to = timeline.readable_up_to
    if after != BEGINNING and not timeline.writes:
        return Pull(window=InstantRange(after=BEGINNING, up_to=BEGINNING))
    window = InstantRange(after=after, up_to=up_to)
    reason = "" if after == BEGINNING else _why_not(timeline, window)
    if reason:
        log.warning("%s: reading the whole table up to %s instead", reason, up_to)
        return Pull(window=InstantRange(after=BEGINNING, up_to=up_to), resync_reason=reason)
    cut = _cut(timeline, window, most_bytes)
    return Pull(window=cut, has_more=cut != window, is_by_snapshot=_is_most(timeline, cut))


def _cut(timeline: Timeline, window: InstantRange, most_bytes: int | None) -> InstantRange:
    """The beginning of the window, up to the commit with which more than ``most_bytes`` were written."""
    if not most_bytes:
        return window
    written = 0
    for write in timeline.writes_in(window):
        written += timeline.bytes_written(write)
        if written > most_bytes:
            return InstantRange(after=window.after, up_to=write.time)
    return window


def _is_most(timeline: Timeline, window: InstantRange) -> bool:
    """True when the window is most of what the table was ever written: its files are nearly all of the table's.

    A pull opens each of them by itself; a snapshot reads the table in one piece. Of the other commits, newest first, no
    more are looked at than it takes to see that it is not: about as many bytes as are new.
    """
    changes = () if window.after == BEGINNING else timeline.changes_in(window)
    if not changes:
        return False
    new = all_ = sum(map(timeline.bytes_written, changes))
    for write in reversed(timeline.writes):
        if new <= _MOST * all_:
            return False
        if write not in changes:
            all_ += timeline.bytes_written(write)
    if new <= _MOST * all_ or timeline.is_archived:
        return False
    log.info("%s: %d of %d bytes are new: reading them from the whole table", timeline.table, new, all_)
    return True


def _why_not(timeline: Timeline, window: InstantRange) -> str:
    """Why the window cannot be pulled, or ""."""
    if not timeline.holds(window.after):
        first, last = timeline.writes[0].time, timeline.writes[-1].time
        return f"checkpoint {window.after} is not on the timeline of {timeline.table} ({first} to {last})"
    for write in timeline.writes_in(window):
        # Clustering is a replacecommit too, but its rows keep their commit times: a pull gives none of them again.
        if write.action == "replacecommit" and not timeline.is_service(write):
            return f"{timeline.table} was written anew at {write.time}, after checkpoint {window.after}"
    return ""


def read_pull(spark: SparkSession, path: str, pull: Pull) -> DataFrame:
    """Rows written in the window, without Hudi's own columns."""
    window = pull.window
    if window.after == BEGINNING:
        whole_df = spark.read.format("hudi").load(path)
        return whole_df.where(F.col(COMMIT_TIME) <= window.up_to).drop(*META_COLUMNS)
    if pull.is_by_snapshot:
        then_df = spark.read.format("hudi").option(Hudi.AS_OF_INSTANT, window.up_to).load(path)
        return then_df.where(F.col(COMMIT_TIME) > window.after).drop(*META_COLUMNS)
    options = build_incremental_options(after=window.after, up_to=window.up_to)
    return spark.read.format("hudi").options(**options).load(path).drop(*META_COLUMNS)
