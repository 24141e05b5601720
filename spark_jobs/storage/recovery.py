"""Bringing a table to rest before a job writes to it: what a dead writer left is rolled back."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import RestoreUnfinishedError, TableBusyError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.clocks import check_timeline
from spark_jobs.storage.commit_times import find_early, put_in_order, set_late_enough
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.heartbeats import Heartbeats
from spark_jobs.storage.options import Hudi, build_service_options, heartbeat_seconds
from spark_jobs.storage.procedures import call
from spark_jobs.storage.restores import savepoint_of
from spark_jobs.storage.timeline import Timeline

_KEEP_ALL_COMMITS = 1_000_000
_POLL_SECONDS = 1.0
_DEAD_AFTER = 2
"""A rollback that got no further for so many times the age at which heartbeats end is of a dead process."""
MARKERS = ".hoodie/.temp"

log = logging.getLogger(__name__)


def settled_timeline(spark: SparkSession, table: str, settings: Settings, *, may_be_ahead: bool = False) -> Timeline:
    """The timeline of ``table`` once nothing on it is unfinished. The caller holds the table's lease.

    A pending instant is either of a writer whose process is gone while the engine still works for it (it will
    complete) or of a dead one (its heartbeat ends, then it is rolled back). Both are waited for, but not for ever: a
    write that failed inside a living engine may leave a heartbeat that never stops. It is fenced. ``may_be_ahead`` is
    for what takes commits from the future away.

    Raises:
        CommitAheadError: the table's newest commit is later than now.
        TableVersionError: the table on disk is of another version.
        CommitTimesError: the files of its commits lost their times, and these cannot be set where they are.
        RestoreUnfinishedError: a restore of the table was cut off.
        TableBusyError: something is still unfinished after ``settings.lease_wait_seconds``.
    """
    path = settings.table_path(table)
    begun, heartbeats = time.monotonic(), Heartbeats(table, path)
    while True:
        timeline = with_times(Timeline(table=table, path=path))
        timeline.check_readable()
        if timeline.pending_restores:
            savepoint = savepoint_of(timeline, settings)
            raise RestoreUnfinishedError(table=table, begun=timeline.pending_restores[0], savepoint=savepoint)
        if timeline.writes or not timeline.has_begun:
            if timeline.unfinished or _has_dead_rollback(timeline):
                roll_back_dead_writes(spark, timeline)
                timeline = _without_ended_rollbacks(Timeline(table=table, path=path))
            if not timeline.unfinished:
                if not may_be_ahead:
                    check_timeline(timeline)
                sweep_markers(timeline)
                return timeline
        elif _is_quiet(path):
            # Nothing was ever committed, so everything in the folder is of a writer that died creating the table.
            log.warning("%s: removing a table whose creation was cut off", table)
            Filesystem(path).delete_tree()
            continue
        # Of a table that is being created no instant may be announced yet; its heartbeat keeps the folder in motion.
        heartbeats.fence_late(timeline.unfinished if timeline.writes else heartbeats.names())
        waited = time.monotonic() - begun
        if waited > settings.lease_wait_seconds:
            raise TableBusyError(table=table, holder=f"pending {', '.join(timeline.unfinished)}", waited_seconds=waited)
        log.info("%s: waiting for unfinished %s", table, ", ".join(timeline.unfinished) or "creation")
        time.sleep(_POLL_SECONDS)


def check_still(timeline: Timeline) -> None:
    """Raise TransientError when the table has moved.

    A writer whose client is gone may have begun after this run looked: its rows and ours would both be added.
    """
    now = Timeline(table=timeline.table, path=timeline.path)
    if now.last != timeline.last or now.unfinished:
        raise TransientError(f"{timeline.table}: another writer was at work meanwhile; run the job again")


def with_late_compactions(timeline: Timeline) -> Timeline:
    """The timeline once no compaction ended before it was begun, by the times of files; whoever ended one calls it."""
    early = find_early(timeline.writes)
    if not early:
        return timeline
    instants = ", ".join(write.time for write in early)
    log.info("%s: the files of compactions %s are older than these; setting their times", timeline.table, instants)
    set_late_enough(Filesystem(timeline.path), early)
    return Timeline(table=timeline.table, path=timeline.path)


def with_times(timeline: Timeline) -> Timeline:
    """The timeline once the files of its commits have the times by which Hudi reads the table, where they can be set.

    The caller holds the table's lease.
    """
    timeline = with_late_compactions(timeline)
    if not timeline.misdated or not timeline.is_local:
        return timeline
    message = "%s: the lake was copied without the times of its files; setting those of %d commits"
    log.warning(message, timeline.table, len(timeline.writes))
    put_in_order(Filesystem(timeline.path), timeline.writes)
    return Timeline(table=timeline.table, path=timeline.path)


def settled_timelines(spark: SparkSession, tables: Iterable[str], settings: Settings) -> list[Timeline]:
    """:func:`settled_timeline` of every table, side by side, in their order."""
    with ThreadPoolExecutor(settings.write_threads) as threads:
        return list(threads.map(lambda table: settled_timeline(spark, table, settings), tables))


def roll_back_dead_writes(spark: SparkSession, timeline: Timeline) -> None:
    """Have Hudi roll back what is unfinished and has no heartbeat. The caller holds the table's lease.

    Without markers of a write its files are found by their names: a commit that was taken off has none any more.
    """
    keep_all: dict[str, str | int] = {"clean_policy": "KEEP_LATEST_COMMITS", "retain_commits": _KEEP_ALL_COMMITS}
    files = Filesystem(timeline.path)
    marked = set(files.folders(MARKERS))
    if not timeline.is_local:
        # Hudi 1.2 looks on the local disk for the log files of a rollback that was cut off (apache/hudi#19735), and
        # fails every time. Their markers serve its metadata table alone, which no table here has.
        for rollback in marked.intersection(timeline.pending_rollbacks):
            files.delete_tree(f"{MARKERS}/{rollback}")
    by_markers = {Hudi.ROLLBACK_BY_MARKERS: str(set(timeline.unfinished) <= marked).lower()}
    call(spark, timeline.table, timeline.path, "run_clean", keep_all, options=build_service_options(by_markers))


def _has_dead_rollback(timeline: Timeline) -> bool:
    """True when a rollback was cut off after all that it had to do but to say so. One of a service may be at work."""
    files, oldest = Filesystem(timeline.path), time.time() - _DEAD_AFTER * heartbeat_seconds()
    changed = [files.changed_ns(state) or 0 for state in _rollback_states(timeline)]
    return bool(changed) and max(changed) / 1e9 < oldest


def _without_ended_rollbacks(timeline: Timeline) -> Timeline:
    """The timeline without rollbacks that Hudi leaves pending for ever, though they have done all that they had to do.

    The last thing that a rollback removes is its write's own instant. Of a write that replaces files Hudi 1.2 then
    looks in vain for the plan, by which it tells it from a clustering, and leaves the rollback alone.
    """
    is_at_work = timeline.unfinished or timeline.pending_plans or timeline.pending_restores
    if is_at_work or not _has_dead_rollback(timeline):
        return timeline
    log.warning(
        "%s: removing rollbacks %s, which were cut off at their end", timeline.table, timeline.pending_rollbacks
    )
    files = Filesystem(timeline.path)
    for state in _rollback_states(timeline):
        files.delete(state)
    return Timeline(table=timeline.table, path=timeline.path)


def _rollback_states(timeline: Timeline) -> list[str]:
    """The files of pending rollbacks; the plan is the last one, by which one that is removed in part stays known."""
    return [f".hoodie/{t}.rollback.{state}" for state in ("inflight", "requested") for t in timeline.pending_rollbacks]


def sweep_markers(timeline: Timeline) -> None:
    """Remove the markers of what committed, or was rolled back, and could not remove them any more.

    A service may be at work beside whoever holds the lease. Its instant is pending, and so is one that it rolls back.
    """
    files = Filesystem(timeline.path)
    for instant in () if timeline.pending_rollbacks else files.folders(MARKERS):
        if instant not in timeline.pending:
            files.delete_tree(f"{MARKERS}/{instant}")


def _is_quiet(path: str) -> bool:
    return time.time() - Filesystem(path).newest_change("") / 1e9 > heartbeat_seconds()
