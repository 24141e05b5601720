"""Our merge in tables of several sizes, and in batches of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench.contenders import Ours
from bench.race import load, run_rounds, say, time_round
from bench.report import Figures, Race, Races
from bench.session import open_bench_session
from bench.workload import Workload
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

TENFOLD, TENFOLD_NEWEST = "Ten times the rows, keys at random", "Ten times the rows, newest keys"
HUNDREDFOLD = "A hundred times the rows, newest keys"
AIMS = {TENFOLD: 1.2, TENFOLD_NEWEST: 1.05, HUNDREDFOLD: 1.2}
READ_AIM, BATCH_AIM = 1.5, 1.5
BATCH_EVENTS = (1_000, 10_000, 100_000, 1_000_000, 3_000_000)
LARGE = 100_000
_METHOD = """\
Our own code on copies of W1's tables, one with ten times their rows and one with a tenth, in as many buckets as the
service rescale would make of them (of sales 2 in each), in one session; as many events a round in each, and as many
rows that they change, which is noted. Keys are drawn at random from all; or 95 of 100 from the newest, as many of each
table as the lake with a tenth of the rows has, where they are all there is. After a round the service that merges
folders of the row index runs where it is due, which is not timed.
What was read is by the system's count of the processes, caches included."""
_BATCHES = """\
Our own code on W1's tables, brought up to batches of several sizes, of sales drawn at random from a million. The
figure is the seconds of a batch for each event, divided by those of the best size, of sizes from {large:,} events on.
"""


def measure_growth(settings: Settings, folder: Path, *, scale: float, warm_ups: int, rounds: int) -> Races:
    """The same changes in tables of three sizes."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    sizes = {name: _lake(spark, settings, folder, name, scale * times) for name, times in _SIZES.items()}
    load(list(sizes.values()))
    races = []
    for number, (title, (is_recent, smaller, larger)) in enumerate(RACES.items()):
        lakes = [
            replace(
                sizes[name], workload=replace(sizes[name].workload, newest_of=scale * _SMALLEST if is_recent else None)
            )
            for name in (smaller, larger)
        ]
        first = number * (warm_ups + rounds)  # events that a race before had would change nothing
        measured = run_rounds(lakes, first=first, warm_ups=warm_ups, rounds=rounds)
        races.append(
            Race(
                title=title,
                method="",
                subject=larger,
                aims={smaller: AIMS[title]},
                rows_scale=scale,
                warm_ups=warm_ups,
                seconds=measured.seconds,
                differing_tables={},
                read_mb=measured.read_mb,
                notes=[_changed(lakes, first + warm_ups)],
            )
        )
    return Races(title="The same changes in larger tables", method=_METHOD, races=races)


def _changed(lakes: Sequence[Ours], number: int) -> str:
    """How many rows the first timed round changes in each."""
    of_each = {lake.name: lake.workload.changed_keys(lake.spark, number) for lake in lakes}
    found = [f"{name} {keys['sales']:,} of sales, {sum(keys.values()):,} of all" for name, keys in of_each.items()]
    return f"Rows changed a round: {'; '.join(found)}."


_SMALLEST = 0.1
_SIZES = {"a tenth of the rows": _SMALLEST, "the rows of W1": 1, "ten times the rows": 10}
RACES = {
    TENFOLD: (False, "the rows of W1", "ten times the rows"),
    TENFOLD_NEWEST: (True, "the rows of W1", "ten times the rows"),
    HUNDREDFOLD: (True, "a tenth of the rows", "ten times the rows"),
}
"""Whether changes are of the newest keys, the smaller tables and the larger ones."""


def measure_batches(settings: Settings, folder: Path, sizes: Sequence[int], *, scale: float, rounds: int) -> Figures:
    """Seconds an event, by the size of the batch."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    lake = _lake(spark, settings, folder, "batches", scale)
    load([lake])
    number, seconds = 0, dict[int, float]()
    for size in sorted(sizes):
        taken = []
        for _ in range(rounds if size < LARGE else max(1, rounds // 2)):
            sized = replace(lake, workload=replace(lake.workload, events=size))
            taken.append(time_round(sized, number)[0])
            number += 1
        seconds[size] = median(taken[len(taken) // 3 :])
        say(f"{size:,} events: {seconds[size]:.2f} s")
    million = {size: taken / size * 1_000_000 for size, taken in seconds.items()}
    large = {size: taken for size, taken in million.items() if size >= LARGE} or million
    best = min(large.values())
    by_best = {f"{size:,} events": taken / best for size, taken in large.items()}
    return Figures(
        title="Batches of a thousand to three million events",
        method=_BATCHES.format(large=LARGE),
        what="seconds an event, by the best",
        unit="",
        values=by_best,
        aims=dict.fromkeys(by_best, BATCH_AIM),
        notes=[f"{size:,} events: {seconds[size]:.2f} s, {taken:.1f} s a million." for size, taken in million.items()],
    )


def _lake(spark: SparkSession, settings: Settings, folder: Path, name: str, scale: float) -> Ours:
    workload = Workload(spec=load_lake_spec(settings.lake_spec), scale=scale)
    home = replace(settings, base_path=str(folder / name.replace(" ", "-")))
    return Ours(name=name, spark=spark, workload=workload, settings=home)
