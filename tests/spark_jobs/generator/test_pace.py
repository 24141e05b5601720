"""Times of events, for runs of any length: they never fall, and are between the run's start and its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.generator.pace import Pace, Segment
from spark_jobs.generator.plan import Plan, Rates

END = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


def plan_of(events: int, minutes: int, end: datetime = END) -> Plan:
    return Plan(seed=1, total_events=events, start=end - timedelta(minutes=minutes), end=end, rates=Rates())


@settings(max_examples=40)
@given(events=st.integers(1, 400), minutes=st.integers(1, 200_000), later=st.integers(1, 5_000), seed=st.integers(0, 9))
def test_times_never_fall_from_the_start_to_the_end(events: int, minutes: int, later: int, seed: int):
    """The snapshot is read at the start; a run that goes on begins where it ended, without one."""
    first = Segment.first_of(plan_of(events, minutes))
    second = first.followed_by(plan_of(events + 50, minutes + later, END + timedelta(minutes=later)))
    rng = Random(seed)
    for segment in (first, second):
        pace, indexes = Pace(segment), range(segment.first, segment.stop)
        times = [pace.time_of(index, rng.random()) for index in indexes]
        assert set(times[: segment.snapshot]) <= {segment.start_ms}
        assert all(one <= other for one, other in pairwise(times))
        assert segment.start_ms <= times[0] <= times[-1] < segment.end_ms
    assert (second.first, second.snapshot, second.start_ms) == (events, 0, first.end_ms)
