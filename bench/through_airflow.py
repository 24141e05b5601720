"""An arrival through Airflow until the fast and the stitch layer are current, against the jobs alone in a session."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.lake import run_job, stage
from bench.race import say
from bench.report import Race
from bench.session import CORES, open_bench_session
from local_stack.demos.chain import Chain
from local_stack.servers.airflow_api import DagRun
from local_stack.servers.ports import free_port
from local_stack.servers.stack import Stack
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, table_checkpoint
from spark_jobs.storage.timeline import Timeline

EVENTS = 12_500
AIM = 1.5
AIRFLOW, ALONE = "through Airflow", "the jobs alone"
LAYERS = ("fast", "stitch")
_NEVER = "0 0 1 1 *"
"""A cron by which nothing is ingested meanwhile: rounds trigger the DAG."""
_LIMIT_SECONDS, _LOOK_SECONDS = 600.0, 0.2

_METHOD = f"""\
Arrivals of {EVENTS:,} generated events of the last day, with the generator's usual share of late, partial, repeated,
corrected and broken ones, in two lakes with the same events.

* through Airflow: scheduler, DAG processor, API server and Spark Connect server as `make up` starts them, on {CORES}
  cores. A round is from the trigger of `ingest_sales` until the log is split and each mart of the fast and the stitch
  layer has read what it reads, by timelines and checkpoints. What follows (serving, quality, catalogs) ends before the
  next round.
* the jobs alone: `ingest`, `split`, `mart --layer fast` and `mart --layer stitch`, one after another in one warm
  session, before Airflow is started."""


def measure_through_airflow(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Race:
    """Seconds of a round by both; the lakes are as old as the machine's clock, which the scheduler goes by."""
    now = datetime.now(UTC)
    seconds = {
        ALONE: list(_jobs_alone(_Arrivals(settings, folder / "alone", now, warm_ups + rounds), folder)),
        AIRFLOW: list(_through_airflow(_Arrivals(settings, folder / "airflow", now, warm_ups + rounds), folder)),
    }
    return Race(
        title=f"An arrival of {EVENTS:,} events through Airflow",
        method=_METHOD,
        subject=AIRFLOW,
        aims={ALONE: AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds={name: found[warm_ups:] for name, found in seconds.items()},
        differing_tables={},
    )


@dataclass(frozen=True)
class _Arrivals:
    """A lake below ``home`` and what lands for it, in ``count`` arrivals of one life that ends ``now``."""

    given: Settings
    home: Path
    now: datetime
    count: int

    @property
    def settings(self) -> Settings:
        return replace(self.given, base_path=str(self.home / "lake"), landing_path=str(self.home / "landing"))

    def land(self, number: int) -> None:
        """Arrival ``number``, from 0."""
        first = {
            "total_events": self.count * EVENTS,
            "start": format_clock(self.now - timedelta(days=1)),
            "end": format_clock(self.now),
        }
        run_job(None, self.settings, "generate", self.now, events=EVENTS, **({"resume": True} if number else first))


def _jobs_alone(arrivals: _Arrivals, folder: Path) -> Iterator[float]:
    spark = open_bench_session(arrivals.settings, folder=folder, with_peers=False)
    for number in range(arrivals.count):
        arrivals.land(number)
        began = time.perf_counter()
        for job in ("ingest", "split"):
            run_job(spark, arrivals.settings, job, arrivals.now)
        for layer in LAYERS:
            run_job(spark, arrivals.settings, "mart", arrivals.now, layer=layer)
        taken = time.perf_counter() - began
        say(f"round {number}: {ALONE} {taken:.1f} s")
        yield taken
    spark.stop()


def _through_airflow(arrivals: _Arrivals, folder: Path) -> Iterator[float]:
    settings, spec = arrivals.settings, load_lake_spec(arrivals.settings.lake_spec)
    environ = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    environ |= {
        "LAKEHOUSE_LAKE_SPEC": settings.lake_spec,
        "LAKEHOUSE_BASE_PATH": settings.base_path,
        "LAKEHOUSE_LANDING_PATH": settings.landing_path,
        "LAKEHOUSE_UI_PORT": str(free_port()),
    }
    stack = Stack(folder / "run", environ=environ)
    with stack.folder.stopping():
        with stage("starting Airflow and the Spark Connect server"):
            stack.start(ingest_cron=_NEVER)
            chain = Chain(stack.airflow.api, report=_say_run)
            chain.wait_for_first()
        for number in range(arrivals.count):
            arrivals.land(number)
            before = Timeline(table=spec.log, path=settings.table_path(spec.log)).newest
            began = time.perf_counter()
            stack.airflow.api.trigger(DAG_IDS[0])
            _wait_until_current(spec, settings, before)
            taken = time.perf_counter() - began
            say(f"round {number}: {AIRFLOW} {taken:.1f} s")
            yield taken
            chain.wait()


def _wait_until_current(spec: LakeSpec, settings: Settings, before: str | None) -> None:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not _is_current(spec, settings, before):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the layers were not current in {_LIMIT_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)


def _is_current(spec: LakeSpec, settings: Settings, before: str | None) -> bool:
    """True when the log has a commit after ``before``, all tables have it, and all marts what they read.

    Not caches: the marts that read them take the rest from the tables.
    """
    timelines = {name: Timeline(table=name, path=settings.table_path(name)) for name in spec.table_names}
    newest, registry = timelines[spec.log].newest, ConsumerRegistry(settings.base_path)
    if newest is None or newest == before or registry.read(SPLIT).checkpoints.get(spec.log) != newest:
        return False
    for mart in (mart for mart in spec.marts if mart.layer in LAYERS and mart.name not in spec.caches):
        state = registry.read(mart.name)
        for read in mart.reads:
            source = timelines[spec.stored_name(read.table)]
            # Not its newest commit: a compaction meanwhile changes nothing that a mart would read.
            if source.last and table_checkpoint(state, timelines[mart.name], source.table) < source.last:
                return False
    return True


def _say_run(run: DagRun) -> None:
    say(f"{run.dag_id} {run.state} in {run.seconds:.1f} s")
