"""Reading tables: snapshots and bounded incremental pulls."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.checkpoints import Checkpoint
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant, InstantRange
from spark_jobs.storage.commit_files import (
    NamedFiles,
    files_of_commit,
    files_of_window,
    is_updated_after,
    missing_files,
)
from spark_jobs.storage.commit_parts import CommitPart, first_part, next_part
from spark_jobs.storage.file_scans import META_COLUMNS, read_named_files
from spark_jobs.storage.layouts import COMMIT_TIME, EVENT_DATE, HUDI_COLUMNS
from spark_jobs.storage.options import Hudi, build_incremental_options
from spark_jobs.storage.timeline import Timeline

_MOST = 0.5
"""The share of a table's bytes above which a pull reads the whole table."""

log = logging.getLogger(__name__)


def read_snapshot(spark: SparkSession, path: str) -> DataFrame:
    """The table's columns as of its newest commit, without Hudi's own (``_hoodie_…``)."""
    return spark.read.format("hudi").load(path).drop(*META_COLUMNS)


def read_stored(spark: SparkSession, path: str, as_of: Instant = NO_INSTANT) -> DataFrame:
    """The rows as they were written, with ``_hoodie_is_deleted``: a commit of some of them again lacks no column.

    Those of now, or of an instant that is on the timeline and not yet cleaned.
    """
    options = {str(Hudi.AS_OF_INSTANT): as_of} if as_of else {}
    return spark.read.format("hudi").options(**options).load(path).drop(*HUDI_COLUMNS)


def read_as_of(spark: SparkSession, path: str, instant: Instant) -> DataFrame:
    """The table's columns, without ``_hoodie_…``, as of a commit that is on its timeline and not yet cleaned."""
    return spark.read.format("hudi").option(Hudi.AS_OF_INSTANT, instant).load(path).drop(*META_COLUMNS)


def read_interval(spark: SparkSession, path: str, interval: Interval) -> DataFrame:
    """Every event of the log whose ``event_date`` is in the interval, as of its newest commit; the log's columns."""
    last = interval.end - timedelta(microseconds=1)
    days = F.col(EVENT_DATE).between(interval.start.date().isoformat(), last.date().isoformat())
    return read_snapshot(spark, path).where(days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A bounded pull. ``resync_reason`` says why rows are found in the whole table as it is now, or is empty.

    These are all of its rows, or those of one commit whose own files are no longer there. ``has_more`` when the window
    was cut: what comes after ``up_to`` is there to be read next. ``is_by_snapshot`` when the window's rows are cheaper
    to find in the whole table. With a ``part`` just some files of the window's only commit are read. With ``files``
    these are named, and have all rows of the window, or of the part; without them Hudi finds the rows.
    """

    window: InstantRange
    resync_reason: str = ""
    has_more: bool = False
    is_by_snapshot: bool = False
    part: CommitPart | None = None
    files: NamedFiles | None = None

    @property
    def checkpoint(self) -> str:
        """How far who has read it is: what their commits and their file say, and what the next pull begins after."""
        return self.part.checkpoint(self.window.after) if self.part else self.window.up_to


def plan_pull(timeline: Timeline, *, after: str, most_bytes: int | None = None) -> Pull:
    """Bound a pull by what is safe to read, and find out when ``after`` cannot be trusted.

    A checkpoint that is no longer on the active timeline reads silently too little, one ahead of it reads nothing,
    and after a table was rewritten a pull gives rows that were read before and is silent about those that went:
    each becomes an explicit resync, a snapshot up to the same bound.

    Args:
        timeline: the table to pull from.
        after: the checkpoint, as text; one within a commit goes on there.
        most_bytes: cut the window after the commit with which so much was written. A commit that is larger by itself
            is read in parts of at most so much, or one file.
    """
    up_to, place = timeline.readable_up_to, Checkpoint.parse(after)
    if after != BEGINNING and not timeline.writes:
        return Pull(window=InstantRange(after=BEGINNING, up_to=BEGINNING))
    if place.begun and (part := next_part(timeline, place, most_bytes)):
        return _go_on(timeline, place, part)
    if place.begun:
        log.warning(
            "%s: commit %s cannot be gone on with: reading after %s", timeline.table, place.begun, place.instant
        )
    window = InstantRange(after=place.instant, up_to=up_to)
    reason = "" if place.instant == BEGINNING else _why_not(timeline, window)
    if reason:
        log.warning("%s: reading the whole table up to %s instead", reason, up_to)
        return Pull(window=InstantRange(after=BEGINNING, up_to=up_to), resync_reason=reason)
    if most_bytes and (cut := _cut(timeline, window, most_bytes)):
        return cut
    return _of_window(timeline, window)


def _of_window(timeline: Timeline, window: InstantRange, *, has_more: bool = False) -> Pull:
    """A pull of all the window's rows."""
    files = files_of_window(timeline, window)
    is_by_snapshot = files is None and _is_most(timeline, window)
    return Pull(window=window, has_more=has_more, is_by_snapshot=is_by_snapshot, files=files)


def _of_part(timeline: Timeline, window: InstantRange, part: CommitPart, *, has_more: bool) -> Pull:
    (write,) = (write for write in timeline.writes_in(window) if write.time == part.instant)
    files = files_of_commit(timeline, write, part.files)
    return Pull(window=window, part=part, has_more=has_more, files=files)


def _go_on(timeline: Timeline, place: Checkpoint, part: CommitPart) -> Pull:
    """The next part of a commit; all of the commit once more when the files of that part do not give its rows."""
    window = InstantRange(after=place.instant, up_to=part.instant)
    is_newest = part.instant == timeline.readable_up_to
    if reason := _why_not_alone(timeline, part):
        log.warning("%s: reading the whole commit from what the table is now", reason)
        return Pull(window=window, resync_reason=reason, has_more=not is_newest)
    return _of_part(timeline, window, part, has_more=not (part.is_last and is_newest))


def _why_not_alone(timeline: Timeline, part: CommitPart) -> str:
    """Why the files of a part do not give its rows, or ""."""
    if missing := missing_files(timeline, part.files):
        return f"{len(missing)} files of commit {part.instant} of {timeline.table} are no longer there"
    if is_updated_after(timeline, part.instant, part.files):
        return f"rows of commit {part.instant} of {timeline.table} were written again since a part of it was read"
    return ""


def _cut(timeline: Timeline, window: InstantRange, most_bytes: int) -> Pull | None:
    """The beginning of the window, up to the commit with which more than ``most_bytes`` were written; None for all.

    A commit that is larger by itself is left for the next pull, or, at the beginning of the window, read in part.
    """
    written, read_to = 0, window.after
    for write in timeline.writes_in(window):
        size = timeline.bytes_written(write)
        if size > most_bytes and (part := first_part(timeline, write, most_bytes)):
            before = InstantRange(after=window.after, up_to=read_to)
            if timeline.changes_in(before):
                return _of_window(timeline, before, has_more=True)
            # Rows of archived commits come with the first commit that is there, read as a whole.
            if window.after != BEGINNING or not timeline.is_archived:
                whole = InstantRange(after=window.after, up_to=write.time)
                return _of_part(timeline, whole, part, has_more=True)
        written, read_to = written + size, write.time
        if written > most_bytes and read_to != window.up_to:
            cut = InstantRange(after=window.after, up_to=read_to)
            return _of_window(timeline, cut, has_more=True)
    return None


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
            return f"{timeline.table} was rewritten at {write.time}, after checkpoint {window.after}"
    return ""


def read_pull(spark: SparkSession, path: str, pull: Pull, *, is_alone: bool = False) -> DataFrame:
    """Rows written in the window, or in the part of its commit: the table's columns, without ``_hoodie_…``.

    ``is_alone`` when nothing else is read in the plans that they are used in: files are read faster then.
    """
    window = pull.window
    is_in_window = (F.col(COMMIT_TIME) > window.after) & (F.col(COMMIT_TIME) <= window.up_to)
    if pull.files:
        # Rows that copy-on-write carried over from older files are those of other commits.
        return read_named_files(spark, path, pull.files, where=is_in_window, also=[COMMIT_TIME], is_alone=is_alone)
    if pull.resync_reason or window.after == BEGINNING:
        return spark.read.format("hudi").load(path).where(is_in_window).drop(*META_COLUMNS)
    if pull.is_by_snapshot:
        then_df = spark.read.format("hudi").option(Hudi.AS_OF_INSTANT, window.up_to).load(path)
        return then_df.where(F.col(COMMIT_TIME) > window.after).drop(*META_COLUMNS)
    options = build_incremental_options(after=window.after, up_to=window.up_to)
    return spark.read.format("hudi").options(**options).load(path).drop(*META_COLUMNS)
