"""A day of five-minute batches, with the tables' services as they fall due, and without them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench.day_report import Day, Lake, Sample, TableCost, draw
from bench.day_services import BATCH, SERVICES_EVERY, START, run_services
from bench.lake import run_job
from bench.processes import memory_mb
from bench.race import say
from bench.session import open_bench_session
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import TableLayout, all_layouts
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

BATCHES = 288
EVENTS = 1_000
JOBS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("ingest", {}),
    ("split", {}),
    ("mart", {"layer": "fast"}),
    ("mart", {"layer": "stitch"}),
)
QUERY = "SELECT agent_id, COUNT(*), SUM(contract_subtotal) FROM {sales} GROUP BY agent_id"
_QUERIES = 3
WITH_SERVICES, WITHOUT = "with services", "without"
_LAKES = (WITH_SERVICES, WITHOUT)

_METHOD = f"""\
{{batches}} batches of a day, of {EVENTS:,} generated events, five minutes apart, each brought through `ingest`,
`split`, `mart --layer fast` and `mart --layer stitch` in a warm session, as the DAGs would. Two lakes at the same time,
each in a process of its own, so that a busy machine slows both. With services: after every sixth batch `services run`
does what is due by the shipped targets. The day is run as fast as it goes; so that states are as old as they would be,
the clock of the services is set such that the batch of six hours ago is six hours old, and what a base file lacks for
an hour is what it lacks since twelve batches.

Bytes written are those of all commits, services included, by their own statistics. *Written* and *opened* are of each
table the bytes written all day, and those of the files that a snapshot read opens at the end, each as a share of its
rows at the end in one Parquet file. The query is a full aggregate of the snapshot of `sales`. Memory is the
resident one of Python and JVM."""


def measure_day(settings: Settings, folder: Path, *, batches: int, picture: Path) -> Day:
    """The day in two lakes at the same time, each in a process of its own; its course is drawn, and not kept."""
    with ProcessPoolExecutor(len(_LAKES), mp_context=get_context("spawn")) as processes:
        days = [processes.submit(_measure_lake, settings, folder, name, batches) for name in _LAKES]
        found = [day.result() for day in days]
    draw({lake.name: samples for lake, samples in found}, picture)
    lakes = tuple(lake for lake, _ in found)
    method = _METHOD.format(batches=batches)
    return Day(title="A day of five-minute batches", method=method, events=EVENTS, lakes=lakes)


def _measure_lake(settings: Settings, folder: Path, name: str, batches: int) -> tuple[Lake, Sequence[Sample]]:
    home = folder / name.replace(" ", "-")
    spark = open_bench_session(settings, folder=home, with_peers=False)
    place = replace(settings, base_path=str(home / "lake"), landing_path=str(home / "landing"))
    written: Counter[str] = Counter()
    samples = tuple(_day(spark, place, name, batches, written, has_services=name == WITH_SERVICES))
    query = median(_query(spark, place) for _ in range(_QUERIES))
    tables = tuple(_cost(spark, place, layout, written[layout.name]) for layout in _layouts(place))
    spark.stop()
    return Lake.of(name, samples, query_seconds=query, tables=tables), samples


def _day(
    spark: SparkSession, settings: Settings, name: str, batches: int, written: Counter[str], *, has_services: bool
) -> Iterator[Sample]:
    tables = load_lake_spec(settings.lake_spec).table_names
    seen, instants = dict.fromkeys(tables, BEGINNING), []
    for number in range(batches):
        clock = START + (number + 1) * BATCH
        deliver(settings, number, batches)
        began = time.perf_counter()
        for job, options in JOBS:
            run_job(spark, settings, job, clock, **options)
        seconds = time.perf_counter() - began
        timelines = [Timeline(table=table, path=settings.table_path(table)) for table in tables]
        instants.append(max(timeline.newest or NO_INSTANT for timeline in timelines))
        written.update(_written_since(timelines, seen))
        serving = 0.0
        if has_services and number % SERVICES_EVERY == SERVICES_EVERY - 1:
            began = time.perf_counter()
            run_services(spark, settings, instants)
            serving = time.perf_counter() - began
            timelines = [Timeline(table=table, path=settings.table_path(table)) for table in tables]
            written.update(_written_since(timelines, seen))
        files, size = data_files(Path(settings.base_path), tables)
        sample = Sample(
            seconds=seconds,
            service_seconds=serving,
            files=files,
            bytes=size,
            commits=sum(len(timeline.writes) for timeline in timelines),
            written=written.total(),
            landed=sum(file.stat().st_size for file in Path(settings.landing_path).rglob("*.jsonl")),
            memory_mb=memory_mb(),
        )
        if number % 12 == 0:
            say(f"{name}: batch {number}: {seconds:.1f} s, services {serving:.1f} s, {files} files")
        yield sample


def deliver(settings: Settings, number: int, batches: int) -> None:
    """Let the generator land batch ``number`` of a day of so many."""
    first = {
        "total_events": batches * EVENTS,
        "start": format_clock(START),
        "end": format_clock(START + batches * BATCH),
    }
    run_job(None, settings, "generate", START, events=EVENTS, **({"resume": True} if number else first))


def _written_since(timelines: Sequence[Timeline], seen: dict[str, Instant]) -> Mapping[str, int]:
    """Bytes of each table's commits that came since the last look, which ``seen`` remembers."""
    written = {}
    for timeline in timelines:
        window = InstantRange(after=seen[timeline.table], up_to=timeline.newest or seen[timeline.table])
        written[timeline.table] = sum(map(timeline.bytes_written, timeline.writes_in(window)))
        seen[timeline.table] = window.up_to
    return written


def _layouts(settings: Settings) -> list[TableLayout]:
    """Of the tables that were made."""
    layouts = all_layouts(load_lake_spec(settings.lake_spec))
    return [layout for layout in layouts if Timeline(table=layout.name, path=settings.table_path(layout.name)).writes]


def _cost(spark: SparkSession, settings: Settings, layout: TableLayout, written: int) -> TableCost:
    path = settings.table_path(layout.name)
    opened = sum(TableState.look(layout, path).read_bytes().values())
    alone = f"{settings.base_path}/.alone/{layout.name}"
    read_snapshot(spark, path).coalesce(1).write.parquet(alone)
    rows = sum(file.stat().st_size for file in Path(alone).glob("*.parquet"))
    return TableCost(table=layout.name, written=written, opened=opened, rows=rows)


def data_files(base: Path, tables: Sequence[str]) -> tuple[int, int]:
    """Data files of all tables, those of past states too, and their bytes."""
    below = [file for table in tables for file in (base / table).rglob("*") if ".hoodie" not in file.parts]
    found = [file for file in below if file.suffix == ".parquet" or ".log." in file.name]
    return len(found), sum(file.stat().st_size for file in found)


def _query(spark: SparkSession, settings: Settings) -> float:
    began = time.perf_counter()
    read_snapshot(spark, settings.table_path("sales")).createOrReplaceTempView("day_sales")
    spark.sql(QUERY.format(sales="day_sales")).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began
