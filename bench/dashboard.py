"""A dashboard's queries in Trino over a lake after a day of micro-batches, beside the same data written in bulk."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench.day import EVENTS, JOBS, data_files, deliver
from bench.day_services import BATCH, SERVICES_EVERY, START, run_services, service_clock
from bench.lake import run_job, stage
from bench.race import say
from bench.report import Race
from bench.session import open_bench_session
from local_stack.demos.engines import TrinoLake
from local_stack.install.trino_install import install_trino
from local_stack.servers.metastore import start_metastore, wait_for_metastore
from local_stack.servers.services import RunFolder
from local_stack.servers.trino_server import start_trino, wait_for_trino
from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline

DASHBOARD_BATCHES = 96
AIM = 1.5
DAY, BULK = "a day of micro-batches", "in bulk"
QUERIES: Mapping[str, str] = {
    "sales by project and status": (
        "SELECT project_name, status_name, count(*) AS sales, sum(contract_subtotal) AS total FROM sales_wide "
        "GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    "events by hour and kind": (
        "SELECT date_trunc('hour', event_time) AS hour, op, count(*) AS events, count(DISTINCT sale_id) AS sales "
        'FROM "{tables}".sales_log GROUP BY 1, 2 ORDER BY 1, 2'
    ),
    "contracts of agents": "SELECT * FROM agent_contracts ORDER BY contract_total DESC NULLS LAST, agent_name LIMIT 10",
}

_METHOD = """\
{batches} batches of {events:,} generated events, five minutes apart, each brought through `ingest`, `split`,
`mart --layer fast` and `mart --layer stitch`, with `services run` after every sixth batch as it is due by the shipped
targets and by a clock that goes as the batches would. At the end the entity tables are compacted once more,
as Trino knows base files alone. The other lake has the same landing files, ingested by one run of each job. Both are in
one Hive metastore. In every round Trino runs the dashboard's three queries in each lake: {queries};
who begins changes from round to round, and all answers are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueriedLake:
    """A lake as Trino sees it, with the views' schema."""

    lake: TrinoLake
    schema: str

    def query(self, name: str) -> tuple[float, list[Mapping[str, object]]]:
        """Seconds and rows of a query."""
        sql = QUERIES[name].format(tables=self.lake.database)
        began = time.perf_counter()
        rows = self.lake.query(sql, schema=self.schema)
        return time.perf_counter() - began, list(rows)


def measure_dashboard(settings: Settings, folder: Path, *, batches: int, warm_ups: int, rounds: int) -> Race:
    """Median seconds of all queries of the dashboard, in both lakes."""
    run = RunFolder(folder / "run")
    installed, environ = install_trino(), {**os.environ, "LAKEHOUSE_JARS_PATH": settings.jars_path}
    places = {name: _place(settings, folder, base) for name, base in ((DAY, "day"), (BULK, "bulk"))}
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    with run.stopping():
        _fill(spark, places, batches)
        metastore = wait_for_metastore(start_metastore(run, environ=environ))
        for name, place in places.items():
            places[name] = replace(place, catalog=metastore, catalog_database=Path(place.base_path).name)
            run_job(spark, places[name], "sync", START, action="apply")
        spark.stop()
        trino = wait_for_trino(start_trino(run, installed, metastore=metastore, environ=environ))
        lakes = {name: _open(trino, place) for name, place in places.items()}
        timed = [_one_round(lakes, number) for number in range(warm_ups + rounds)][warm_ups:]
        answers = {name: {query: lake.query(query)[1] for query in QUERIES} for name, lake in lakes.items()}
    return Race(
        title=f"A dashboard in Trino after {batches} micro-batches",
        method=_METHOD.format(batches=batches, events=EVENTS, queries=", ".join(QUERIES)),
        subject=DAY,
        aims={BULK: AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds={name: [sum(seconds[name].values()) for seconds in timed] for name in lakes},
        differing_tables={
            name: [query for query, rows in found.items() if rows != answers[DAY][query]]
            for name, found in answers.items()
        },
        notes=[*_by_query(timed), *_by_files(places)],
    )


def _place(settings: Settings, folder: Path, base: str) -> Settings:
    return replace(settings, base_path=str(folder / base), landing_path=str(folder / "landing"))


def _fill(spark: SparkSession, places: Mapping[str, Settings], batches: int) -> None:
    day, clock = places[DAY], START + batches * BATCH
    tables, instants = load_lake_spec(day.lake_spec).table_names, []
    for number in range(batches):
        began = time.perf_counter()
        deliver(day, number, batches)
        _take_in(spark, day, START + (number + 1) * BATCH)
        newest = (Timeline(table=table, path=day.table_path(table)).newest for table in tables)
        instants.append(max(each or NO_INSTANT for each in newest))
        if number % SERVICES_EVERY == SERVICES_EVERY - 1:
            run_services(spark, day, instants)
        if number % 12 == 0:
            say(f"batch {number}: {time.perf_counter() - began:.1f} s")
    with stage("the last compaction"):
        service = Service.COMPACTION.value
        run_job(spark, day, "services", service_clock(instants), action="run", service=service, all=True)
    with stage("the same in bulk"):
        _take_in(spark, replace(places[BULK], max_events=2 * batches * EVENTS), clock)


def _take_in(spark: SparkSession, settings: Settings, clock: datetime) -> None:
    for job, options in JOBS:
        run_job(spark, settings, job, clock, **options)


def _open(trino: str, settings: Settings) -> _QueriedLake:
    spec = load_lake_spec(settings.lake_spec)
    lake = TrinoLake(address=trino, database=settings.catalog_database, spec=spec, settings=settings)
    return _QueriedLake(lake=lake, schema=lake.make_views().database)


def _one_round(lakes: Mapping[str, _QueriedLake], number: int) -> dict[str, dict[str, float]]:
    """Seconds by lake and query."""
    order = list(lakes)[:: 1 if number % 2 else -1]
    seconds = {name: {query: lakes[name].query(query)[0] for query in QUERIES} for name in order}
    say(f"round {number}: " + ", ".join(f"{name} {sum(seconds[name].values()):.2f} s" for name in lakes))
    return seconds


def _by_query(timed: Sequence[Mapping[str, Mapping[str, float]]]) -> list[str]:
    lines = []
    for query in QUERIES:
        day, bulk = (median(seconds[name][query] for seconds in timed) for name in (DAY, BULK))
        lines.append(f"{query}: {day:.2f} s after {DAY}, {bulk:.2f} s {BULK}, {day / bulk:.2f} times.")
    return lines


def _by_files(places: Mapping[str, Settings]) -> list[str]:
    found = {}
    for name, place in places.items():
        files, size = data_files(Path(place.base_path), load_lake_spec(place.lake_spec).table_names)
        found[name] = f"{files:,} files, {size / 1e6:.0f} MB"
    return [f"Data files of all tables, older states too: {found[DAY]} after {DAY}; {found[BULK]} {BULK}."]
