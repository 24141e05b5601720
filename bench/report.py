"""What a benchmark run found, as numbers and as a page; pure, so it needs no engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

OURS = "ours"
AIMS: Mapping[str, float] = {"Iceberg MERGE": 0.6, "Delta MERGE": 0.2, "Parquet append": 2.0}
"""Our median divided by theirs should be at most this."""

_METHOD = """\
Six tables of the sales lake, changed by 10,000 events a round: random sales, 4,000 units, a third of the other rows.
One process with one warm Spark session on {cores} cores. In every round each contender brings its own copy of the
tables up to the same events, already in memory, six tables side by side in threads; who begins changes from round to
round. Medians of {rounds} rounds after {warm_ups} warm-up rounds; a ratio is our median divided by theirs.

* ours is the product's own code with rows kept warm in the session, up to the last commit read back. Reading the log,
  leases, progress files and compaction are not in it, and the tables are read whole in the first warm-up round only,
  unless there are more than 17 rounds in all.
* Iceberg and Delta fold the events the same way, then MERGE with the same rule for each column.
* Parquet append writes the folded events and reads nothing stored: a floor, it keeps no rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One run: seconds of each timed round by contender, and what is needed to judge them."""

    started_at: str
    cores: int
    rows_scale: float
    warm_ups: int
    load_at_start: tuple[float, ...]
    load_at_end: tuple[float, ...]
    seconds: Mapping[str, Sequence[float]]
    differing_tables: Mapping[str, Sequence[str]]
    """By contender that keeps rows: tables whose rows are not those of the first such contender."""

    def __post_init__(self) -> None:
        if len({len(rounds) for rounds in self.seconds.values()}) != 1 or not self.rounds:
            raise ValueError("every contender needs the same number of timed rounds, at least one")

    @property
    def rounds(self) -> int:
        """Timed rounds."""
        return len(next(iter(self.seconds.values())))

    @property
    def medians(self) -> dict[str, float]:
        """Seconds of the middle round, by contender."""
        return {name: median(rounds) for name, rounds in self.seconds.items()}

    @property
    def ratios(self) -> dict[str, float]:
        """Our median divided by that of each other contender; empty when we did not take part."""
        medians = self.medians
        ours = medians.pop(OURS, None)
        return {} if ours is None else {name: ours / theirs for name, theirs in medians.items()}

    @property
    def rows_agree(self) -> bool:
        """Whether every contender that keeps rows ended with the same ones."""
        return not any(self.differing_tables.values())

    def to_json(self) -> dict[str, Any]:
        """Everything, for ``w1.json``."""
        return {
            "workload": "W1",
            "started_at": self.started_at,
            "cores": self.cores,
            "rows_scale": self.rows_scale,
            "warm_ups": self.warm_ups,
            "rounds": self.rounds,
            "load_average": {"start": list(self.load_at_start), "end": list(self.load_at_end)},
            "seconds": {name: [round(value, 3) for value in rounds] for name, rounds in self.seconds.items()},
            "medians": {name: round(value, 3) for name, value in self.medians.items()},
            "ratios": {name: round(value, 3) for name, value in self.ratios.items()},
            "aims": dict(AIMS),
            "rows_agree": self.rows_agree,
            "differing_tables": {name: list(tables) for name, tables in self.differing_tables.items()},
        }


def render_page(run: BenchRun) -> str:
    """``README.md`` of the results: ratios with their aims, then how they were made."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: BenchRun) -> Iterator[str]:
    yield from ("# Benchmark W1", "")
    yield f"Made by `make bench`, started {run.started_at}; all rounds are in [w1.json](w1.json)."
    if run.rows_scale != 1:
        yield f"**A trial with {run.rows_scale:g} times the rows: its ratios say nothing about the full workload.**"
    yield from (
        "",
        "| contender | median s | fastest s | slowest s | ours / it | aim | |",
        "|---|--:|--:|--:|--:|--:|---|",
    )
    ratios = run.ratios
    for name, middle in run.medians.items():
        times = f"{middle:.2f} | {min(run.seconds[name]):.2f} | {max(run.seconds[name]):.2f}"
        yield f"| {name} | {times} | {_verdict(ratios.get(name), AIMS.get(name))} |"
    yield from ("", _rows_line(run), "")
    loads = f"at the start {_loads(run.load_at_start)}, at the end {_loads(run.load_at_end)}"
    yield f"Load average (1, 5, 15 minutes) {loads}."
    yield from ("", "## How", "", _METHOD.format(cores=run.cores, rounds=run.rounds, warm_ups=run.warm_ups))


def _verdict(ratio: float | None, aim: float | None) -> str:
    if ratio is None:
        return "| |"
    if aim is None:
        return f"{ratio:.2f} | |"
    return f"{ratio:.2f} | {aim:.1f} | {'met' if ratio <= aim else 'not met'}"


def _rows_line(run: BenchRun) -> str:
    if len(run.differing_tables) < 2:
        return "Rows were not compared: fewer than two contenders that keep rows took part."
    if run.rows_agree:
        return f"After the last round the rows of all tables were the same in: {', '.join(run.differing_tables)}."
    differing = [f"{name} ({', '.join(tables)})" for name, tables in run.differing_tables.items() if tables]
    first = next(iter(run.differing_tables))
    return f"**Rows differ from those of {first}: {'; '.join(differing)}. The times are not comparable.**"


def _loads(loads: Sequence[float]) -> str:
    return " / ".join(f"{load:.2f}" for load in loads)
