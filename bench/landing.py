"""From landing files to committed tables: how much of the time Spark's tasks are at work, and in how many jobs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from bench.lake import run_job
from bench.race import say
from bench.report import Figures
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.settings import Settings

EVENTS = 10_000
WORK_AIM = 0.4
RUNS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ingest": ("ingest", {}),
    "split": ("split", {}),
    "stitch": ("mart", {"layer": "stitch"}),
    "slow": ("mart", {"layer": "slow"}),
}
"""What is run after each arrival: job and options."""
JOBS_AIMS = {"ingest": 6, "split": 12, "stitch": 5, "slow": 25}
TO_TABLES = ("ingest", "split")
CLOCK = datetime(2026, 6, 1, 18, tzinfo=UTC)

_METHOD = f"""\
Arrivals of {EVENTS:,} generated events of one day, with the generator's usual share of late, partial, repeated,
corrected and broken ones; after each, `ingest`, `split` and the layers `stitch` and `slow` run in one warm session. By
Spark's own event log: the share of the processors' time in which a task ran, from the landing files to the last commit
of `split`, and the Spark jobs of each run. The rest of the time is planning, listing, committing and Python."""

Window = tuple[float, float]
"""Begin and end, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkWork:
    """When Spark's jobs and tasks ran, by its event log."""

    jobs: Sequence[Window]
    tasks: Sequence[Window]

    @classmethod
    def read(cls, event_log: Path) -> SparkWork:
        """Of all applications below a folder."""
        begun: dict[int, float] = {}
        jobs, tasks = list[Window](), list[Window]()
        for event in _events(event_log):
            if event["Event"] == "SparkListenerJobStart":
                begun[event["Job ID"]] = event["Submission Time"] / 1000
            elif event["Event"] == "SparkListenerJobEnd":
                jobs.append((begun[event["Job ID"]], event["Completion Time"] / 1000))
            elif event["Event"] == "SparkListenerTaskEnd":
                info = event["Task Info"]
                tasks.append((info["Launch Time"] / 1000, info["Finish Time"] / 1000))
        return cls(jobs=jobs, tasks=tasks)

    def jobs_in(self, window: Window) -> int:
        """Jobs that began in it."""
        return sum(window[0] <= begin < window[1] for begin, _ in self.jobs)

    def share_of_tasks(self, windows: Sequence[Window]) -> float:
        """Tasks' seconds by those that the processors have in the windows."""
        working = sum(overlap(window, task) for window in windows for task in self.tasks)
        return working / sum(end - begin for begin, end in windows) / CORES

    def share_outside_jobs(self, windows: Sequence[Window]) -> float:
        """The part of the windows in which no job ran."""
        return 1 - sum(covered(window, self.jobs) for window in windows) / sum(end - begin for begin, end in windows)


def measure_landing(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Figures:
    """Shares and counts, as medians over the timed arrivals."""
    settings = replace(settings, base_path=str(folder / "lake"), landing_path=str(folder / "landing"))
    event_log = folder / "events"
    spark = open_bench_session(settings, folder=folder, with_peers=False, event_log=event_log)
    windows = [_one_arrival(spark, settings, number, warm_ups + rounds) for number in range(warm_ups + rounds)]
    spark.stop()
    return summarize(windows[warm_ups:], SparkWork.read(event_log), warm_ups=warm_ups)


def summarize(arrivals: Sequence[Mapping[str, Window]], work: SparkWork, *, warm_ups: int) -> Figures:
    """The page's figures, from when each run of each arrival was."""
    ways = (TO_TABLES, *((run,) for run in TO_TABLES))
    timed = {runs: [[arrival[run] for run in runs] for arrival in arrivals] for runs in ways}
    shares = {share_of(*runs): median(map(work.share_of_tasks, found)) for runs, found in timed.items()}
    outside = {" and ".join(runs): median(map(work.share_outside_jobs, found)) for runs, found in timed.items()}
    counts = {run: median(work.jobs_in(arrival[run]) for arrival in arrivals) for run in RUNS}
    walls = {run: median(arrival[run][1] - arrival[run][0] for arrival in arrivals) for run in RUNS}
    return Figures(
        title=f"Landing to all tables committed, {EVENTS:,} events",
        method=_METHOD,
        what="figure",
        unit="",
        values={**shares, **{jobs_of(run): count for run, count in counts.items()}},
        aims={jobs_of(run): aim for run, aim in JOBS_AIMS.items()},
        least=dict.fromkeys(shares, WORK_AIM),
        notes=(
            f"Seconds: {', '.join(f'{run} {seconds:.2f}' for run, seconds in walls.items())}; medians of "
            f"{len(arrivals)} arrivals after {warm_ups} to warm up.",
            f"No job ran in: {', '.join(f'{way} {share:.2f}' for way, share in outside.items())} of the time.",
        ),
    )


def jobs_of(run: str) -> str:
    """The name of a figure."""
    return f"{run}, Spark jobs"


def share_of(*runs: str) -> str:
    """The name of a figure."""
    return f"{' and '.join(runs)}, share of tasks"


def _one_arrival(spark: SparkSession, settings: Settings, number: int, of: int) -> dict[str, Window]:
    """When each run was."""
    run_job(None, settings, "generate", CLOCK, events=EVENTS, **_life(number, of))
    windows = {}
    for name, (job, options) in RUNS.items():
        began = time.time()
        run_job(spark, settings, job, CLOCK, **options)
        windows[name] = (began, time.time())
    say(f"arrival {number}: " + ", ".join(f"{name} {end - began:.2f} s" for name, (began, end) in windows.items()))
    return windows


def _life(number: int, of: int) -> dict[str, object]:
    return {"resume": True} if number else {"total_events": of * EVENTS, "start": "2026-06-01T00:00:00Z"}


def _events(event_log: Path) -> Iterator[dict[str, Any]]:
    for file in (path for path in event_log.rglob("*") if path.is_file()):
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def overlap(window: Window, part: Window) -> float:
    """How much of ``part`` is in ``window``."""
    return max(0.0, min(window[1], part[1]) - max(window[0], part[0]))


def covered(window: Window, parts: Iterable[Window]) -> float:
    """How much of ``window`` is in at least one of ``parts``."""
    total, reached = 0.0, window[0]
    for begin, end in sorted(parts):
        begin, end = max(begin, reached), min(end, window[1])
        if end > begin:
            total, reached = total + end - begin, end
    return total
