"""Every commit is later than the one before it: seen to by the engine's clock, which names the commit.

The engine may run on another machine than this process. How far its clock is from ours is measured once in a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from spark_jobs.contracts.clocks import CommitAheadError, is_instant_ahead, machine_now, newest_possible
from spark_jobs.contracts.instants import NO_INSTANT, Instant, format_instant, moment_of
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.timeline import Timeline

CLOCK_KEY = "clock"
"""In the metadata of a mart's commit: the clock that it was refreshed for."""
_MEASURE_SECONDS = 600.0
_POLL_SECONDS = 0.5
_MILLISECOND = timedelta(milliseconds=1)
"""What instants are counted in."""

log = logging.getLogger(__name__)
_skews: WeakKeyDictionary[SparkSession, tuple[float, timedelta]] = WeakKeyDictionary()


def newest_of(timeline: Timeline) -> Instant:
    """The newest instant that a consumer may come to, done or planned; NO_INSTANT when there is none."""
    return max((timeline.newest or NO_INSTANT, *timeline.pending_plans))


def check_timeline(timeline: Timeline, now: datetime | None = None) -> None:
    """Raise CommitAheadError when the table has a commit that is later than now, by this machine's clock."""
    now, newest = now or machine_now(), newest_of(timeline)
    if is_instant_ahead(newest, now):
        raise CommitAheadError(table=timeline.table, instant=newest, now=now)


def commits_ahead(timeline: Timeline, now: datetime) -> tuple[CompletedWrite, ...]:
    """The completed commits that are later than now, oldest first."""
    newest = newest_possible(now)
    return tuple(write for write in timeline.writes if write.time > newest)


def await_turn(
    timeline: Timeline, engine_now: Callable[[], datetime], *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Return once a commit that begins now is later than all that the table has.

    Raises:
        CommitAheadError: that would take longer than two clocks may differ.
    """
    newest = newest_of(timeline)
    while newest >= format_instant(now := engine_now()):
        check_timeline(timeline, now)
        log.info("%s: waiting until the engine's clock (%s) is past %s", timeline.table, now, newest)
        sleep(min(_POLL_SECONDS, (moment_of(newest) + _MILLISECOND - now).total_seconds()))


def engine_clock(spark: SparkSession) -> Callable[[], datetime]:
    """A function that gives the engine's time: this machine's time plus the measured skew."""

    def now() -> datetime:
        measured, skew = _skews.get(spark, (-_MEASURE_SECONDS, timedelta()))
        if time.monotonic() - measured >= _MEASURE_SECONDS:
            # Over a value in the query, and not over nothing: Spark answers while it plans, and starts no job.
            row = next(iter(spark.sql("SELECT unix_millis(current_timestamp()) FROM VALUES (1)").collect()), None)
            there = datetime.fromtimestamp(int(row[0]) / 1000, tz=UTC) if row else machine_now()
            skew = there - machine_now()
            _skews[spark] = (time.monotonic(), skew)
        return machine_now() + skew

    return now
