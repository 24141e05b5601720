"""The parts of the benchmark, each measured by a process of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.catalogs import measure_catalogs
from bench.cluster import CLUSTER_EVENTS, measure_cluster
from bench.contenders import (
    Contender,
    DefaultHudi,
    Delta,
    DeltaDeletionVectors,
    Iceberg,
    IcebergMergeOnRead,
    Ours,
    OursCopyOnWrite,
    ParquetFloor,
)
from bench.dag_parse import measure_dag_parse
from bench.dashboard import DASHBOARD_BATCHES, measure_dashboard
from bench.day import BATCHES, measure_day
from bench.day_beside import METHOD, measure_beside
from bench.day_report import PICTURE, Day
from bench.first_load import FIRST_EVENTS, measure_first_load
from bench.found import SIZES, measure_found
from bench.gate import measure_gate
from bench.growth import BATCH_EVENTS, measure_batches, measure_growth
from bench.kafka import KAFKA_EVENTS, measure_kafka
from bench.landing import measure_landing
from bench.memory import MEMORY_EVENTS, measure_memory
from bench.mirrors import CHANGES, TABLES, measure_mirrors
from bench.overview import measure_overview
from bench.race import compare, load, run_rounds
from bench.report import Figures, Found, Race, Races, verdict
from bench.safety import measure_safety
from bench.session import CORES, PEER_JARS, open_bench_session
from bench.sizes import SIZED_EVENTS, measure_sizes
from bench.sizes_report import Sizes
from bench.slow import measure_slow
from bench.stitch import measure_stitch
from bench.suites import measure_suites
from bench.through_airflow import measure_through_airflow
from bench.workload import SLOWEST_AIM, W1_AIMS, Workload
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

CONTENDERS: Mapping[str, tuple[str, type[Contender]]] = {
    "ours": ("ours", Ours),
    "cow": ("ours, copy-on-write", OursCopyOnWrite),
    "iceberg-mor": ("Iceberg MERGE, merge-on-read", IcebergMergeOnRead),
    "delta-dv": ("Delta MERGE, deletion vectors", DeltaDeletionVectors),
    "iceberg": ("Iceberg MERGE", Iceberg),
    "delta": ("Delta MERGE", Delta),
    "hudi": ("Hudi, defaults", DefaultHudi),
    "parquet": ("Parquet append", ParquetFloor),
}
PEERS = frozenset({"iceberg", "iceberg-mor", "delta", "delta-dv"})
STITCH_EVENTS, SLOW_EVENTS = (1_000_000, 10_000_000, 30_000_000), (10_000_000,)
HISTORY_MEMORY = "8g"
_DUE_SECONDS = 0.1
"""Seconds from which on maintenance did something: to see that none is due takes some hundredths."""

_SIDE_BY_SIDE = f"""\
Six tables of the sales lake (units 50,000 rows, buildings 500, projects 50, statuses 12, agents 2,000 and sales
1,000,000), changed by 10,000 events a round: random sales, 4,000 units, a third of the other rows; one in twenty leaves
columns unknown, one in thirty comes late. One process with one warm Spark session on {CORES} cores. In every round each
contender brings its own copy of the tables up to the same events, already in memory, six tables side by side; who
begins changes from round to round.

* ours is the product's own code, from the events to the last commit read back and the row index written. Reading the
  log, leases, progress files and compaction are not in it. The service that merges folders of the row index runs after
  a round where it is due, and is timed apart.
* Iceberg and Delta fold the events the same way, then MERGE with the same rule for each column, each by writing files
  again and in its mode for changes.
* Hudi, defaults, joins the folded events with its snapshot and upserts.
* Parquet append writes the folded events and reads nothing stored: a floor, it keeps no rows."""


def side_by_side(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """W1: every contender on the same tables."""
    wants_peers = bool(PEERS & set(options.contenders))
    if wants_peers:
        _check_peers()
    spark = open_bench_session(settings, folder=folder, with_peers=wants_peers)
    workload = Workload(spec=load_lake_spec(settings.lake_spec), scale=options.rows_scale)
    contenders = []
    for option in options.contenders:
        name, contender = CONTENDERS[option]
        home = replace(settings, base_path=str(folder / option))
        contenders.append(contender(name=name, spark=spark, workload=workload, settings=home))
    load(contenders)
    measured = run_rounds(contenders, warm_ups=options.warm_ups, rounds=options.rounds)
    race = Race(
        title="Workload W1, side by side",
        method=_SIDE_BY_SIDE,
        subject="ours",
        aims=W1_AIMS,
        rows_scale=options.rows_scale,
        warm_ups=options.warm_ups,
        seconds=measured.seconds,
        upkeep=measured.upkeep,
        differing_tables=compare(contenders),
    )
    return replace(race, notes=[_slowest(race)]) if race.subject in race.seconds else race


def _slowest(race: Race) -> str:
    found, rounds = verdict(race.slowest, SLOWEST_AIM), race.seconds[race.subject]
    upkeep = [seconds for seconds in race.upkeep[race.subject] if seconds > _DUE_SECONDS]
    return (
        f"The slowest round of ours took {race.slowest:.2f} of the median (aim {SLOWEST_AIM}: {found}), with the merge "
        f"of the row index after it where one was due, and {max(rounds) / median(rounds):.2f} without. "
        f"There were {len(upkeep)} such merges, the longest of {max(upkeep, default=0.0):.2f} s."
    )


def growth(options: argparse.Namespace, settings: Settings, folder: Path) -> Races:
    """The same changes in tables ten and a hundred times as large."""
    return measure_growth(settings, folder, scale=options.rows_scale, warm_ups=options.warm_ups, rounds=options.rounds)


def batches(options: argparse.Namespace, settings: Settings, folder: Path) -> Figures:
    """Batches of a thousand to three million events."""
    sizes = options.events or BATCH_EVENTS
    return measure_batches(_roomy(settings), folder, sizes, scale=options.rows_scale, rounds=options.rounds)


def memory(options: argparse.Namespace, settings: Settings, folder: Path) -> Figures:
    """The most memory of an arrival, at ten and a hundred times the events."""
    return measure_memory(settings, folder, sizes=options.events or MEMORY_EVENTS)


def landing(options: argparse.Namespace, settings: Settings, folder: Path) -> Figures:
    """From landing files to committed tables: the share of task time, and Spark jobs."""
    return measure_landing(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def first_load(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """Compressed landing files to a new log, against Spark's parser writing Parquet."""
    events = options.events[0] if options.events else FIRST_EVENTS
    return measure_first_load(settings, folder, events=events, warm_ups=options.warm_ups, rounds=options.rounds)


def kafka(options: argparse.Namespace, settings: Settings, folder: Path) -> Races:
    """Kafka's messages to the log, against Spark writing them as Parquet."""
    _check_peers()
    events = options.events[0] if options.events else KAFKA_EVENTS
    return measure_kafka(settings, folder, events=events, warm_ups=options.warm_ups, rounds=options.rounds)


def mirrors(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """Many tables merged by one job, against a job for each."""
    tables = options.tables or TABLES
    changes = options.events[0] // tables if options.events else CHANGES
    alone = min(options.alone or tables, tables)
    rounds = {"warm_ups": options.warm_ups, "rounds": options.rounds}
    return measure_mirrors(settings, folder, tables=tables, changes=max(changes, 1), alone=alone, **rounds)


def found(options: argparse.Namespace, settings: Settings, folder: Path) -> Races:
    """A whole database whose tables a pattern finds, and changes in ten of them."""
    sizes = [options.tables] if options.tables else SIZES
    return measure_found(settings, folder, sizes=sizes, warm_ups=options.warm_ups, rounds=options.rounds)


def stitch(options: argparse.Namespace, settings: Settings, folder: Path) -> Races:
    """The stitch layer refreshed by new events, against a full refresh and other engines."""
    _check_peers()
    sizes = sorted(set(options.events or STITCH_EVENTS))
    spark = open_bench_session(_roomy(settings), folder=folder, with_peers=True)
    return measure_stitch(spark, settings, folder, sizes=sizes, warm_ups=options.warm_ups, rounds=options.rounds)


def slow(options: argparse.Namespace, settings: Settings, folder: Path) -> Races:
    """The slow layer after a correction of one month, against a full refresh."""
    sizes = sorted(set(options.events or SLOW_EVENTS))
    spark = open_bench_session(_roomy(settings), folder=folder, with_peers=False)
    return measure_slow(spark, settings, folder, sizes=sizes, warm_ups=options.warm_ups, rounds=options.rounds)


def day(options: argparse.Namespace, settings: Settings, folder: Path) -> Day:
    """A day of five-minute batches, with services and without, and beside Iceberg with its own maintenance."""
    _check_peers()
    results: Path = options.results_folder
    results.mkdir(parents=True, exist_ok=True)
    batches = options.batches or BATCHES
    found = measure_day(settings, folder, batches=batches, picture=results / PICTURE)
    beside = measure_beside(settings, folder, batches=batches)
    return replace(found, method=f"{found.method}\n\n{METHOD}", beside=beside)


def safety(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """What the safety of a commit costs."""
    return measure_safety(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def gate(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """Expectations of rows, checked in the write."""
    return measure_gate(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def suites(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """Great Expectations after a commit, of increments and of the whole table."""
    return measure_suites(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def catalogs(options: argparse.Namespace, settings: Settings, folder: Path) -> Figures:
    """The catalog after one of two hundred tables changed."""
    return measure_catalogs(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def cluster(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """A large batch by standalone clusters of two workers and of one, and in local mode."""
    events = options.events[0] if options.events else CLUSTER_EVENTS
    home = _roomy(settings)
    return measure_cluster(home, folder, events=events, warm_ups=options.warm_ups, rounds=options.rounds)


def dashboard(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """A dashboard in Trino after a day of micro-batches, against the same data in bulk."""
    batches = options.batches or DASHBOARD_BATCHES
    return measure_dashboard(settings, folder, batches=batches, warm_ups=options.warm_ups, rounds=options.rounds)


def sizes(options: argparse.Namespace, settings: Settings, folder: Path) -> Sizes:
    """What events and rows weigh, for docs/sizing.md."""
    return measure_sizes(settings, folder, events=options.events[0] if options.events else SIZED_EVENTS)


def airflow(options: argparse.Namespace, settings: Settings, folder: Path) -> Race:
    """An arrival through Airflow until the fast and the stitch layer are current, against the jobs alone."""
    return measure_through_airflow(settings, folder, warm_ups=options.warm_ups, rounds=options.rounds)


def dags(_options: argparse.Namespace, _settings: Settings, folder: Path) -> Figures:
    """Parsing the DAG files."""
    return measure_dag_parse(folder)


def overview(options: argparse.Namespace, settings: Settings, folder: Path) -> Figures:
    """Looking at a lake of two hundred tables, for its page."""
    return measure_overview(settings, folder, rounds=options.rounds)


def _check_peers() -> None:
    if not any(PEER_JARS.glob("*.jar")):
        raise SettingsError(f"no jars of the other engines in {PEER_JARS}; run: make bench")


def _roomy(settings: Settings) -> Settings:
    """Memory for work over all of a history, unless the settings say how much."""
    is_set = settings.driver_memory != Settings().driver_memory
    return settings if is_set else replace(settings, driver_memory=HISTORY_MEMORY)


PARTS: Mapping[str, Callable[[argparse.Namespace, Settings, Path], Found]] = {
    "w1": side_by_side,
    "growth": growth,
    "batches": batches,
    "memory": memory,
    "landing": landing,
    "first-load": first_load,
    "kafka": kafka,
    "mirrors": mirrors,
    "found": found,
    "stitch": stitch,
    "slow": slow,
    "day": day,
    "safety": safety,
    "gate": gate,
    "suites": suites,
    "sizes": sizes,
    "catalogs": catalogs,
    "dashboard": dashboard,
    "cluster": cluster,
    "airflow": airflow,
    "dags": dags,
    "overview": overview,
}
