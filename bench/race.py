"""Contenders brought to the same events in turn, in one warm session."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.contenders import Contender, fingerprint
from bench.processes import read_mb
from spark_jobs.transforms.column_orders import table_columns


def load(contenders: Sequence[Contender]) -> None:
    """Give every contender its tables."""
    for contender in contenders:
        started = time.perf_counter()
        for table in contender.workload.tables:
            contender.load(table, contender.workload.stored_rows(contender.spark, table))
        say(f"loaded {contender.name} in {time.perf_counter() - started:.1f} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """What was measured of each timed round, by contender."""

    seconds: Mapping[str, Sequence[float]]
    upkeep: Mapping[str, Sequence[float]]
    """Seconds of the maintenance after the round; next to nothing where none was due."""
    read_mb: Mapping[str, Sequence[float]]


def run_rounds(contenders: Sequence[Contender], *, first: int = 0, warm_ups: int, rounds: int) -> Rounds:
    """Time rounds; their events are those of the workload's rounds from ``first`` on."""
    done = [_one_round(contenders, first + number) for number in range(warm_ups + rounds)][warm_ups:]
    seconds, upkeep, read_mb = (
        {contender.name: [of_round[contender.name][at] for of_round in done] for contender in contenders}
        for at in range(3)
    )
    return Rounds(seconds=seconds, upkeep=upkeep, read_mb=read_mb)


def time_round(contender: Contender, number: int) -> tuple[float, float]:
    """Seconds that a contender takes for the events of a round, which are in memory before, and MB that it reads."""
    events_df = contender.workload.change_events(contender.spark, number).cache()
    events_df.count()
    read, started = read_mb(), time.perf_counter()
    contender.change_all(events_df)
    taken = time.perf_counter() - started, read_mb() - read
    events_df.unpersist(blocking=True)
    return taken


def compare(contenders: Sequence[Contender]) -> dict[str, list[str]]:
    """Tables whose rows are not those of the first contender that keeps rows, by contender."""
    return differing(
        (contender.name, table.name, fingerprint(rows_df, table_columns(table)))
        for contender in contenders
        for table in contender.workload.tables
        if (rows_df := contender.rows(table)) is not None
    )


def differing(found: Iterable[tuple[str, str, tuple[int, int]]]) -> dict[str, list[str]]:
    """By contender: the tables whose fingerprint is another than the first one given; from (contender, table, it)."""
    expected: dict[str, tuple[int, int]] = {}
    tables_of: dict[str, list[str]] = {}
    for contender, table, fingerprint_ in found:
        tables = tables_of.setdefault(contender, [])
        if fingerprint_ != expected.setdefault(table, fingerprint_):
            tables.append(table)
    return tables_of


def say(line: str) -> None:
    """Progress."""
    print(line, file=sys.stderr, flush=True)


def _one_round(contenders: Sequence[Contender], number: int) -> Mapping[str, tuple[float, float, float]]:
    """By contender: its seconds for the events of a round, those of the maintenance after it, and MB that it read.

    Another one begins in the next round.
    """
    taken: dict[str, tuple[float, float, float]] = {}
    first = number % len(contenders)
    for contender in [*contenders[first:], *contenders[:first]]:
        seconds, megabytes = time_round(contender, number)
        started = time.perf_counter()
        contender.maintain()
        taken[contender.name] = seconds, time.perf_counter() - started, megabytes
    say(f"round {number}: " + ", ".join(f"{name} {seconds:.2f} s" for name, (seconds, _, _) in taken.items()))
    return taken
