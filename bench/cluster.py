"""The same batch split by standalone clusters of two workers and of one, and in local mode, side by side."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

from pyspark.sql import SparkSession

from bench.contenders import fingerprint
from bench.history import END, History
from bench.lake import HistoryLake, run_job
from bench.race import differing, say
from bench.report import Race
from bench.session import CORES, open_bench_session
from local_stack.servers.cluster import start_cluster
from local_stack.servers.services import LOOPBACK, RunFolder
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.reader import read_stored
from spark_jobs.transforms.column_orders import table_columns

CLUSTER_EVENTS = 10_000_000
TWO, ONE, LOCAL = "standalone, two workers", "standalone, one worker", f"local[{CORES}]"
_WORKERS = {TWO: 2, ONE: 1}
AIM = 1.6
"""Of the rate of two workers by that of one, at least."""
WORKER_MEMORY = "3g"
_CLOCK = END + timedelta(hours=1)

_METHOD = """\
The log of {events:,} events of the history of two years, which the job `split` folds into all tables of a lake
that has none yet, from its leases to the last commit. Each contender has a warm session in a process of its own; a
round is one split by each, one after the other, of the same log into a lake of its own; who begins changes from
round to round. A cluster is a master and workers with a core and {memory} each, on the same machine as the driver: on
{cores} cores the driver's own work is taken from the second worker. Local mode has as many cores as two workers, and no
process between. Settings are those that are shipped."""


def measure_cluster(settings: Settings, folder: Path, *, events: int, warm_ups: int, rounds: int) -> Race:
    """Median seconds of a split by each."""
    runs = {name: RunFolder(folder / f"run-{workers}") for name, workers in _WORKERS.items()}
    home = replace(settings, base_path=str(folder / "log"), max_pull_mb=1024 * 1024)
    log = load_lake_spec(settings.lake_spec).log
    with ExitStack() as stack:
        masters = {}
        for name, run in runs.items():
            stack.enter_context(run.stopping())
            masters[name] = start_cluster(run, workers=_WORKERS[name], memory=WORKER_MEMORY)
        masters[LOCAL] = LOCAL
        sessions = {name: stack.enter_context(_process()) for name in masters}
        for name, master in masters.items():
            sessions[name].submit(_open, home, folder, master).result()
        sessions[LOCAL].submit(_make_log, home, events).result()
        timed: list[dict[str, float]] = []
        places: dict[str, Settings] = {}
        for number in range(warm_ups + rounds):
            for at, name in enumerate(masters):
                places[name] = replace(home, base_path=str(folder / f"lake-{number}-{at}"))
                _with_log(places[name], home.table_path(log), log)
            order = list(masters)[:: 1 if number % 2 else -1]
            timed.append({name: sessions[name].submit(_split, places[name]).result() for name in order})
            say(f"round {number}: " + ", ".join(f"{name} {timed[-1][name]:.1f} s" for name in masters))
        prints = {name: sessions[LOCAL].submit(_fingerprints, place).result() for name, place in places.items()}
        for process in sessions.values():
            process.submit(_close).result()
    return Race(
        title=f"A batch of {events:,} events on a cluster",
        method=_METHOD.format(events=events, memory=WORKER_MEMORY, cores=CORES),
        subject=TWO,
        aims={ONE: 1 / AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds={name: [seconds[name] for seconds in timed[warm_ups:]] for name in masters},
        differing_tables=differing((name, *each) for name, found in prints.items() for each in found),
    )


_opened: list[SparkSession] = []
"""The session of this process, once it has one."""


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def _open(settings: Settings, folder: Path, master: str) -> None:
    options: Mapping[str, str] = {}
    if master != LOCAL:
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
        memory = f"{int(WORKER_MEMORY.removesuffix('g')) * 1024 - 512}m"  # of the worker's; the rest is not heap
        options = {"spark.executor.memory": memory, "spark.driver.host": LOOPBACK, "spark.executor.cores": "1"}
    _opened.append(open_bench_session(settings, folder=folder, with_peers=False, master=master, extra=options))


def _close() -> None:
    _opened.pop().stop()


def _history(settings: Settings, events: int) -> History:
    return History(spec=load_lake_spec(settings.lake_spec), events=events)


def _make_log(settings: Settings, events: int) -> None:
    lake = HistoryLake(spark=_opened[0], history=_history(settings, events), settings=settings)
    lake.make(with_tables=False)


def _with_log(settings: Settings, log_path: str, log: str) -> None:
    """A lake without tables that has the log in common with others."""
    Path(settings.base_path).mkdir()
    Path(settings.table_path(log)).symlink_to(log_path)


def _split(settings: Settings) -> float:
    began = time.perf_counter()
    run_job(_opened[0], settings, "split", _CLOCK)
    return time.perf_counter() - began


def _fingerprints(settings: Settings) -> Sequence[tuple[str, tuple[int, int]]]:
    """Of every table."""
    tables = load_lake_spec(settings.lake_spec).tables
    return [
        (table.name, fingerprint(read_stored(_opened[0], settings.table_path(table.name)), table_columns(table)))
        for table in tables
        if Path(settings.table_path(table.name)).exists()
    ]
