"""Ways to keep marts current, brought to the same events round after round in one warm session."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.arrivals import clock_of
from bench.contenders import fingerprint
from bench.race import differing, say

LAKE = "the lake"
_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
"""Hudi's reader turns it off for the session when it reads increments or arrays; a job of its own begins with it on."""


class Refresher(ABC):
    """One way to keep marts current; ``name`` is what it is called in the report."""

    name: str

    def take(self, events_df: DataFrame) -> bool:
        """Bring tables of its own up to the events, which is not part of the refresh; False when it has none."""
        return False

    @abstractmethod
    def refresh(self, clock: datetime) -> None:
        """Bring the marts up to its tables."""

    @abstractmethod
    def rows(self, mart: str) -> DataFrame:
        """The rows of a mart as it keeps them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Seconds of the timed rounds, by refresher: of the refresh, and of the taking in before it."""

    refreshing: Mapping[str, Sequence[float]]
    taking: Mapping[str, Sequence[float]]

    @property
    def intake(self) -> str:
        """One line on what is not in the refreshes."""
        parts = [f"{name} {median(seconds):.1f} s" for name, seconds in self.taking.items()]
        return f"Taking in the events of a round, before the refreshes and not in them (median): {', '.join(parts)}."


def run_refreshes(
    spark: SparkSession,
    refreshers: Sequence[Refresher],
    *,
    events_of: Callable[[int], DataFrame],
    take_in: Callable[[DataFrame], object],
    warm_ups: int,
    rounds: int,
) -> Rounds:
    """In every round the events of its number come into the lake; then each refresher follows.

    Args:
        spark: the session; every refresher finds it as it was opened, whatever the one before did to it.
        refreshers: who is timed; another one begins in the next round.
        events_of: the events of a round.
        take_in: brings the lake that they have in common up to the events.
        warm_ups: rounds before the timed ones.
        rounds: timed rounds.
    """
    refreshing: dict[str, list[float]] = {refresher.name: [] for refresher in refreshers}
    taking: dict[str, list[float]] = {LAKE: []}
    for number in range(warm_ups + rounds):
        events_df = events_of(number).cache()
        taken = {LAKE: _timed(take_in, events_df)[0]}
        for refresher in refreshers:
            spark.conf.set(_VECTORIZED, "true")
            seconds, has_tables = _timed(refresher.take, events_df)
            if has_tables:
                taken[refresher.name] = seconds
        events_df.unpersist(blocking=True)
        first, timed = number % len(refreshers), {}
        for refresher in [*refreshers[first:], *refreshers[:first]]:
            spark.conf.set(_VECTORIZED, "true")
            timed[refresher.name] = _timed(refresher.refresh, clock_of(number))[0]
        times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in timed.items())
        untimed = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in taken.items())
        say(f"round {number}: {times}; before it: {untimed}")
        if number >= warm_ups:
            _append(refreshing, timed)
            _append(taking, taken)
    return Rounds(refreshing=refreshing, taking=taking)


def compare_marts(refreshers: Iterable[Refresher], columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Marts whose rows are not those of the first refresher, by refresher; ``columns`` names the marts' columns."""
    return differing(
        (refresher.name, mart, fingerprint(refresher.rows(mart), names))
        for refresher in refreshers
        for mart, names in columns.items()
    )


def _timed(act: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = act(*arguments)
    return time.perf_counter() - started, result


def _append(series: dict[str, list[float]], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        series.setdefault(name, []).append(value)
