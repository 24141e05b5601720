"""Where a test run's time went: by level, by module, the costliest tests, and which programs were started by whom."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_jobs.contracts.text_table import format_table

COSTLIEST = 30
_PHASES = ("setup", "call", "teardown")


@dataclass(slots=True)
class Cost:
    """Seconds by phase; ``waiting`` is wall time in which neither the test nor what it started used a processor."""

    tests: int = 0
    seconds: Counter[str] = field(default_factory=Counter)
    waiting: float = 0.0

    def add(self, line: dict[str, Any]) -> None:
        self.tests += line["phase"] == "call"
        self.seconds[line["phase"]] += line["seconds"]
        self.waiting += max(0.0, line["seconds"] - line["used"])

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def cells(self) -> list[str]:
        numbers = (self.total, *(self.seconds[phase] for phase in _PHASES), self.waiting)
        return [f"{number:,.1f}" for number in numbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pytest process of a run, read from its file of JSON lines."""

    name: str
    wall: float
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, file: Path) -> Run:
        """Read a file that the recorder wrote; one that was cut off has a wall time of 0."""
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        begun = next((line["begun"] for line in lines if "begun" in line), 0.0)
        ended = next((line["ended"] for line in reversed(lines) if "ended" in line), begun)
        return cls(name=file.stem, wall=ended - begun, lines=tuple(line for line in lines if "test" in line))


def format_report(folder: Path, *, modules: int = 40) -> str:
    """The report of the run whose results are in ``folder``."""
    runs = [Run.read(file) for file in sorted(folder.glob("*.jsonl"))]
    lines = [line for run in runs for line in run.lines]
    return "\n\n".join(
        [
            f"Test run {folder.name}: {sum(line['phase'] == 'call' for line in lines):,} tests",
            _table(("run", "wall s", "tests", *_HEAD), _run_rows(runs)),
            "Seconds by module (set-up includes fixtures that later tests share):",
            _table(("module", "tests", *_HEAD), list(_module_rows(lines))[:modules]),
            f"The {COSTLIEST} costliest tests:",
            _table(("test", *_HEAD), _test_rows(lines)),
            "Programs started, and by whom:",
            _table(("program", "times", "started by"), _program_rows(lines)),
        ]
    )


_HEAD = ("seconds", "set-up", "call", "tear-down", "waiting")


def _table(head: Iterable[str], rows: list[list[str]]) -> str:
    return format_table(list(head), rows)


def _run_rows(runs: list[Run]) -> list[list[str]]:
    rows = []
    for run in runs:
        cost = _sum(run.lines)
        rows.append([run.name, f"{run.wall:,.0f}", f"{cost.tests:,}", *cost.cells()])
    return rows


def _module_rows(lines: Iterable[dict[str, Any]]) -> Iterator[list[str]]:
    for module, cost in _costs(lines, lambda test: test.partition("::")[0]):
        yield [module.removeprefix("tests/"), f"{cost.tests:,}", *cost.cells()]


def _test_rows(lines: Iterable[dict[str, Any]]) -> list[list[str]]:
    return [[test.removeprefix("tests/"), *cost.cells()] for test, cost in _costs(lines, str)[:COSTLIEST]]


def _program_rows(lines: Iterable[dict[str, Any]]) -> list[list[str]]:
    by_program: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for program in line["started"]:
            by_program[program][line["test"].partition("::")[0].removeprefix("tests/")] += 1
    rows = []
    for program, by in sorted(by_program.items(), key=lambda each: -each[1].total()):
        shown = ", ".join(f"{module} {times}" for module, times in by.most_common(6))
        more = f" and {len(by) - 6} more modules" if len(by) > 6 else ""
        rows.append([program, f"{by.total()}", shown + more])
    return rows


def _costs(lines: Iterable[dict[str, Any]], key: Any) -> list[tuple[str, Cost]]:
    costs: defaultdict[str, Cost] = defaultdict(Cost)
    for line in lines:
        costs[key(line["test"])].add(line)
    return sorted(costs.items(), key=lambda each: -each[1].total)


def _sum(lines: Iterable[dict[str, Any]]) -> Cost:
    cost = Cost()
    for line in lines:
        cost.add(line)
    return cost
