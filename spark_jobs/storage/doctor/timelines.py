"""Looks at one timeline: what was begun and did not end, what is later than now, how long it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.clocks import is_ahead, machine_now
from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.clocks import CLOCK_KEY, commits_ahead
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.heartbeats import Heartbeats
from spark_jobs.storage.options import METADATA_PREFIX, heartbeat_seconds
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.timeline_steps import pending_steps

GRACE = timedelta(hours=1)
"""What is younger may still be at work."""
LONGEST = timedelta(hours=2)
"""A write whose heartbeat goes on for longer is a finding too."""
_LONG = 2
"""A timeline is long when it has so many times the commits at which it should be archived."""
_NEXT_WRITER = "the next job that writes the table waits for it or rolls it back; lakehouse doctor repair does so now"


def check_timeline(
    timeline: Timeline, targets: ServiceTargets, clock: datetime, *, may_have_clock: bool = True
) -> Iterator[Finding]:
    """Findings from a table's timeline alone, and from the heartbeats of what it has unfinished.

    Commits of a table that cannot have the clock of a mart are not read for it.
    """
    yield from _unfinished(timeline)
    yield from _plans(timeline, clock)
    yield from _ahead(timeline, may_have_clock=may_have_clock)
    if (commits := len(timeline.writes)) > _LONG * targets.archive_commits:
        yield Finding(
            table=timeline.table,
            ailment=Ailment.TIMELINE,
            what=f"has {commits} commits on its timeline, which every reader and writer lists",
            then=f"lakehouse service run --table {timeline.table} --service archive; if that keeps them: "
            f"lakehouse consumer list",
        )


def is_old(changed_ns: int, clock: datetime) -> bool:
    """True for a file that no process can still be writing."""
    return clock.timestamp() - changed_ns / 1e9 > GRACE.total_seconds()


def _unfinished(timeline: Timeline) -> Iterator[Finding]:
    """Writes that did not end: of a dead writer by its heartbeat, of one that is stuck, or without a heartbeat.

    A heartbeat that goes on is of a writer at work, for as long as a write may take.
    """
    for instant in timeline.unfinished:
        held = "; consumers wait below it" if instant in timeline.pending_writes else ""
        age = Heartbeats(timeline.table, timeline.path).age(instant)
        if age == float("inf"):
            ailment, what = Ailment.PENDING_WRITE, f"a write of {instant} did not end, and has no heartbeat{held}"
        elif age > heartbeat_seconds():
            beat = datetime.fromtimestamp(machine_now().timestamp() - age, UTC)
            ailment = Ailment.DEAD_WRITER
            what = f"the writer of {instant} is gone: its last heartbeat was at {beat:%Y-%m-%d %H:%M:%S} UTC{held}"
        elif _has_begun_before(instant, machine_now() - LONGEST):
            ailment = Ailment.PENDING_WRITE
            what = f"a write of {instant} did not end for over two hours, and its heartbeat goes on{held}"
        else:
            continue
        yield Finding(table=timeline.table, ailment=ailment, what=what, then=_NEXT_WRITER)


def _has_begun_before(instant: Instant, moment: datetime) -> bool:
    try:
        return moment_of(instant) < moment
    except ValueError:  # an instant that is no time
        return True


def _plans(timeline: Timeline, clock: datetime) -> Iterator[Finding]:
    for instant, action in timeline.pending_plans.items():
        yield Finding(
            table=timeline.table,
            ailment=Ailment.PENDING_PLAN,
            what=f"a {'compaction' if action == 'compaction' else 'clustering'} planned at {instant} did not end",
            then="the next run of table_services carries it out; lakehouse doctor repair does so now",
        )
    for step in pending_steps(timeline):
        if step.action in ("clean", "rollback") and is_old(step.modified_ns, clock):
            service = f"lakehouse service run --table {timeline.table} --service clean"
            yield Finding(
                table=timeline.table,
                ailment=Ailment.PENDING_SERVICE,
                what=f"a {step.action} of {step.time} was cut off",
                then=f"{service} carries it out" if step.action == "clean" else _NEXT_WRITER,
            )


def _ahead(timeline: Timeline, *, may_have_clock: bool) -> Iterator[Finding]:
    """By this machine's clock, as writers judge it: that of the run may be any earlier one."""
    now = machine_now()
    ahead = commits_ahead(timeline, now)
    if ahead:
        times = ", ".join(write.time for write in ahead)
        yield Finding(
            table=timeline.table,
            ailment=Ailment.AHEAD,
            what=f"{times} is later than now: it hides every commit before that time, so nothing writes the table",
            then="correct the clock of this machine; when it is right, lakehouse doctor repair",
        )
    text = timeline.newest_metadata(METADATA_PREFIX + CLOCK_KEY) if may_have_clock else None
    if text and not ahead and is_ahead(parse_clock(text), now):
        yield Finding(
            table=timeline.table,
            ailment=Ailment.MART_AHEAD,
            what=f"was refreshed for {text}, which has not come yet: its window is empty until then",
            then=f"lakehouse run mart with its layer, --mart {timeline.table} --full",
        )
