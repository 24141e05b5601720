"""Contenders brought to the same events in turn, in one warm session."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from bench.contenders import Contender, fingerprint


def load(contenders: Sequence[Contender]) -> None:
    """Give every contender its tables."""
    for contender in contenders:
        started = time.perf_counter()
        for table in contender.workload.tables:
            contender.load(table, contender.workload.stored_rows(contender.spark, table))
        say(f"loaded {contender.name} in {time.perf_counter() - started:.1f} s")


def run_rounds(contenders: Sequence[Contender], *, warm_ups: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of the timed rounds, by contender."""
    timed = [_one_round(contenders, number) for number in range(warm_ups + rounds)][warm_ups:]
    return {contender.name: [seconds[contender.name] for seconds in timed] for contender in contenders}


def compare(contenders: Sequence[Contender]) -> dict[str, list[str]]:
    """Tables whose rows are not those of the first contender that keeps rows, by contender."""
    expected: dict[str, tuple[int, int]] = {}
    differing: dict[str, list[str]] = {}
    for contender in contenders:
        for table in contender.workload.tables:
            rows_df = contender.rows(table)
            if rows_df is None:
                continue
            found = fingerprint(rows_df, table)
            tables = differing.setdefault(contender.name, [])
            if found != expected.setdefault(table.name, found):
                tables.append(table.name)
    return differing


def say(line: str) -> None:
    """Progress."""
    print(line, file=sys.stderr, flush=True)


def _one_round(contenders: Sequence[Contender], number: int) -> Mapping[str, float]:
    """Seconds each contender takes for the events of a round; another one begins in the next round."""
    seconds = {}
    first = number % len(contenders)
    for contender in [*contenders[first:], *contenders[:first]]:
        events_df = contender.workload.change_events(contender.spark, number).cache()
        events_df.count()
        started = time.perf_counter()
        contender.change_all(events_df)
        seconds[contender.name] = time.perf_counter() - started
        events_df.unpersist(blocking=True)
    say(f"round {number}: " + ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()))
    return seconds
