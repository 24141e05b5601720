"""From landing files to committed tables: how much of the time no Spark job is at work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench.lake import run_job
from bench.race import say
from bench.report import Figures
from bench.session import open_bench_session
from spark_jobs.contracts.settings import Settings

EVENTS = 10_000
AIM = 0.2
JOBS = ("ingest", "split")
CLOCK = datetime(2026, 6, 1, 18, tzinfo=UTC)

_METHOD = f"""\
Arrivals of {EVENTS:,} generated events of one day, with the generator's usual share of late, partial, repeated,
corrected and broken ones; after each, `ingest` and `split` run in one warm session, from the landing files to the last
commit. The share is the time in which no Spark job was running (planning, listing, committing, Python), by Spark's own
event log."""


def measure_landing(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Figures:
    """Share of the wall time outside Spark jobs, as medians over the timed arrivals."""
    settings = replace(settings, base_path=str(folder / "lake"), landing_path=str(folder / "landing"))
    event_log = folder / "events"
    spark = open_bench_session(settings, folder=folder, with_peers=False, event_log=event_log)
    windows = [_one_arrival(spark, settings, number, warm_ups + rounds) for number in range(warm_ups + rounds)]
    spark.stop()
    work = list(_job_windows(event_log))
    timed = windows[warm_ups:]
    shares = {
        job: median(1 - covered(arrival[job], work) / (arrival[job][1] - arrival[job][0]) for arrival in timed)
        for job in JOBS
    }
    walls = [arrival["split"][1] - arrival["ingest"][0] for arrival in timed]
    both = median(
        1 - sum(covered(arrival[job], work) for job in JOBS) / wall for arrival, wall in zip(timed, walls, strict=True)
    )
    return Figures(
        title=f"Landing to all tables committed, {EVENTS:,} events",
        method=_METHOD,
        what="share outside Spark jobs",
        unit="",
        values={"ingest and split": both, **shares},
        aim=AIM,
        notes=(f"Median {median(walls):.1f} s from landing to tables, {rounds} arrivals after {warm_ups} to warm up.",),
    )


def _one_arrival(spark: SparkSession, settings: Settings, number: int, of: int) -> dict[str, tuple[float, float]]:
    """Begin and end of each job, in seconds since 1970."""
    run_job(None, settings, "generate", CLOCK, events=EVENTS, **_life(number, of))
    windows = {}
    for job in JOBS:
        began = time.time()
        run_job(spark, settings, job, CLOCK)
        windows[job] = (began, time.time())
    say(f"arrival {number}: " + ", ".join(f"{job} {end - began:.2f} s" for job, (began, end) in windows.items()))
    return windows


def _life(number: int, of: int) -> dict[str, object]:
    return {"resume": True} if number else {"total_events": of * EVENTS, "start": "2026-06-01T00:00:00Z"}


def _job_windows(event_log: Path) -> Iterable[tuple[float, float]]:
    begun: dict[int, float] = {}
    for file in (path for path in event_log.rglob("*") if path.is_file()):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                begun[event["Job ID"]] = event["Submission Time"] / 1000
            elif event["Event"] == "SparkListenerJobEnd":
                yield begun[event["Job ID"]], event["Completion Time"] / 1000


def covered(window: tuple[float, float], parts: Sequence[tuple[float, float]]) -> float:
    """How much of ``window`` is in at least one of ``parts``."""
    total, reached = 0.0, window[0]
    for begin, end in sorted(parts):
        begin, end = max(begin, reached), min(end, window[1])
        if end > begin:
            total, reached = total + end - begin, end
    return total
