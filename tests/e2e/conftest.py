"""One real stack for all end-to-end tests: Spark Connect, Airflow's scheduler, DAG processor and API server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from local_stack.airflow_api import DagRun
from local_stack.chain import Chain
from local_stack.demo_data import TOPIC, Arrivals
from local_stack.lake_view import TableView, view_lake
from local_stack.stack import Stack
from local_stack.truth_check import Truth
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import LakeSpec


@dataclass(frozen=True, kw_only=True)
class Running:
    """The stack with the arrivals it took in."""

    stack: Stack
    settings: Settings
    spec: LakeSpec
    environ: dict[str, str]
    runs: list[DagRun]

    def view(self) -> dict[str, TableView]:
        return view_lake(self.spec, replace(self.settings, spark_remote=self.stack.spark_remote))

    def truth(self) -> Truth:
        return Truth.load(self.settings.landing_path, TOPIC)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """2,000 events in two arrivals, each followed by the scheduler to the end of the chain."""
    folder: Path = tmp_path_factory.mktemp("stack")
    environ = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    environ |= {
        "LAKEHOUSE_BASE_PATH": str(folder / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
    }
    settings = Settings.from_environment(environ)
    stack = Stack(folder / "run", environ=environ)
    runs: list[DagRun] = []
    arrivals = Arrivals(events=2_000, count=2, seed=11)
    with stack.folder.stopping():
        arrivals.deliver(1, environ)
        stack.start(ingest_cron="0 0 * * *")
        chain = Chain(stack.airflow.api, tell=runs.append)
        chain.wait_for_first()
        arrivals.deliver(2, environ)
        chain.run_once()
        spec = load_lake_spec(settings.lake_spec)
        yield Running(stack=stack, settings=settings, spec=spec, environ=environ, runs=runs)
