"""The most memory that `ingest` and `split` take for an arrival, at ten and a hundred times its events."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from bench.lake import run_job
from bench.processes import peak_memory_mb
from bench.race import say
from bench.report import Figures
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.settings import Settings

MEMORY_EVENTS = (10_000, 100_000, 1_000_000)
JOBS = ("ingest", "split")
CLOCK = datetime(2026, 6, 1, 18, tzinfo=UTC)

_METHOD = """\
An arrival of so many generated events, taken in by `ingest` until nothing is left (a run takes {max_events:,} at most)
and by one `split`, each size in a process, a session and a lake of its own, on {cores} cores with {memory} of heap.
Memory is what Python, its workers and the JVM have resident together, looked at twice a second. A heap that has room is
not tidied, so of small arrivals it is more than they need; what there is at most of any size is what a machine must
have. Growth is the largest size's by the smallest one's, whose events are {times:,} times fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The most memory of the session when it did nothing yet, and of each job; and how often ingest ran."""

    events: int
    idle: float
    jobs: dict[str, float]
    ingests: int


def measure_memory(settings: Settings, folder: Path, *, sizes: Sequence[int]) -> Figures:
    """The peaks of each size, one after the other."""
    peaks = []
    for events in sorted(sizes):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            peaks.append(alone.submit(_measure, settings, folder / f"{events}", events).result())
        say(f"{events:,} events: {peaks[-1].jobs} MB")
    return summarize(peaks, settings)


def summarize(peaks: Sequence[Peak], settings: Settings) -> Figures:
    """The page's figures."""
    smallest, largest = peaks[0], peaks[-1]
    grown = {job: largest.jobs[job] / smallest.jobs[job] for job in JOBS}
    return Figures(
        title="Memory of an arrival at ten and a hundred times the events",
        method=_METHOD.format(
            max_events=settings.max_events,
            cores=CORES,
            memory=settings.driver_memory,
            times=largest.events // smallest.events,
        ),
        what="most memory",
        unit="MB",
        values={f"{job}, {peak.events:,} events": peak.jobs[job] for job in JOBS for peak in peaks},
        aims={},
        notes=(
            f"Growth of {largest.events / smallest.events:,.0f} times the events: "
            f"{', '.join(f'{job} {ratio:.2f}' for job, ratio in grown.items())}.",
            f"Before the first job: {', '.join(f'{peak.idle:,.0f}' for peak in peaks)} MB. Runs of `ingest`: "
            f"{', '.join(f'{peak.ingests}' for peak in peaks)}.",
        ),
    )


def _measure(settings: Settings, folder: Path, events: int) -> Peak:
    place = replace(settings, base_path=str(folder / "lake"), landing_path=str(folder / "landing"))
    run_job(None, place, "generate", CLOCK, events=events, total_events=events, start="2026-06-01T00:00:00Z")
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    spark.range(1).count()
    with peak_memory_mb() as idle:
        pass
    with peak_memory_mb() as ingesting:
        runs = 1
        while run_job(spark, place, "ingest", CLOCK).counters.get("has_more"):
            runs += 1
    with peak_memory_mb() as splitting:
        run_job(spark, place, "split", CLOCK)
    spark.stop()
    jobs = dict(zip(JOBS, (ingesting["megabytes"], splitting["megabytes"]), strict=True))
    return Peak(events=events, idle=idle["megabytes"], jobs=jobs, ingests=runs)
