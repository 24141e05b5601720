"""When events happen: busy hours and quiet nights between start and end, and a small rush just before the end."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from spark_jobs.generator.plan import Plan

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_RUSH_MS: Final = _HOUR_MS // 2
_RUSH_EVENTS: Final = 48
_MOST_SNAPSHOT: Final = 20_000
# How busy an hour of the day is; the company's wall clock is UTC.
_HOURS: Final = (1, 1, 1, 1, 1, 1, 2, 4, 8, 14, 18, 20, 17, 15, 18, 20, 19, 16, 12, 8, 6, 4, 2, 1)
# Monday to Sunday; 1970-01-01 was a Thursday.
_WEEKDAYS: Final = (10, 11, 10, 10, 9, 6, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Events ``first`` (inclusive) to ``stop`` (exclusive) are between two times; ``snapshot`` of them come first."""

    first: int
    stop: int
    start_ms: int
    end_ms: int
    snapshot: int = 0

    @classmethod
    def first_of(cls, plan: Plan) -> Segment:
        """The whole run; its snapshot is about as many sales as are under way, and some that are over."""
        days = (plan.end_ms - plan.start_ms) / _DAY_MS
        snapshot = min(_MOST_SNAPSHOT, int(plan.total_events * 0.06 * min(1.0, 90 / days)))
        return cls(first=0, stop=plan.total_events, start_ms=plan.start_ms, end_ms=plan.end_ms, snapshot=snapshot)

    def followed_by(self, plan: Plan) -> Segment:
        """From the end of this segment to the end of the longer plan; without a snapshot."""
        return Segment(first=self.stop, stop=plan.total_events, start_ms=self.end_ms, end_ms=plan.end_ms)

    @property
    def days(self) -> float:
        """Length in days."""
        return (self.end_ms - self.start_ms) / _DAY_MS


class Pace:
    """Times of the events of a segment: a pure function of an event's number and its jitter, never falling."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._flow = segment.first + segment.snapshot
        self.rush_index = segment.stop - min(_RUSH_EVENTS, (segment.stop - self._flow) // 20)
        midnight = (segment.end_ms - 1) // _DAY_MS * _DAY_MS
        half = (segment.start_ms + segment.end_ms) // 2
        self._rush_ms = max(segment.end_ms - _RUSH_MS, midnight, half)
        self._edges, self._weights = self._busy_hours(segment.start_ms, self._rush_ms)

    def time_of(self, index: int, jitter: float) -> int:
        """Epoch milliseconds of event ``index``; ``jitter`` in [0, 1) moves it between its neighbours."""
        segment = self.segment
        if index < self._flow:
            return segment.start_ms
        if index >= self.rush_index:
            share = (index - self.rush_index + jitter) / (segment.stop - self.rush_index)
            return self._rush_ms + int(share * (segment.end_ms - self._rush_ms))
        weight = (index - self._flow + jitter) / (self.rush_index - self._flow) * self._weights[-1]
        at = bisect_right(self._weights, weight) - 1
        share = (weight - self._weights[at]) / (self._weights[at + 1] - self._weights[at])
        return self._edges[at] + int(share * (self._edges[at + 1] - self._edges[at]))

    @staticmethod
    def _busy_hours(start_ms: int, end_ms: int) -> tuple[list[int], list[float]]:
        edges, weights = [start_ms], [0.0]
        while edges[-1] < end_ms:
            here = edges[-1]
            edge = min((here // _HOUR_MS + 1) * _HOUR_MS, end_ms)
            busy = _HOURS[here // _HOUR_MS % 24] * _WEEKDAYS[(here // _DAY_MS + 3) % 7]
            edges.append(edge)
            weights.append(weights[-1] + busy * (edge - here) / _HOUR_MS)
        return edges, weights
