"""One real stack for all end-to-end tests: Spark Connect, Airflow's scheduler, DAG processor and API server."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from local_stack.demos.chain import Chain
from local_stack.demos.demo_data import TOPIC, generate
from local_stack.demos.lake_view import TableView, read_with_rust, view_lake
from local_stack.demos.truth_check import Truth
from local_stack.servers.airflow_api import DagRun
from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.databases import PASSWORD, Server
from local_stack.servers.ports import free_port
from local_stack.servers.stack import Stack
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.timeline import Timeline
from tests.support.canaries import new_canary, watching_command_lines
from tests.support.layer_checks import differing_marts

SERVING_USER = "dashboards"


@dataclass(frozen=True, kw_only=True)
class Running:
    """The stack with the events that it took in."""

    stack: Stack
    settings: Settings
    spec: LakeSpec
    environ: dict[str, str]
    chain: Chain
    runs: list[DagRun]  # every run that ended, as the chain reported it
    serving_url: str
    canaries: dict[str, str]  # every secret that the stack was given or made, by what it opens
    command_lines: set[str]  # of every process on the machine, as they were seen since before the start

    def view(self) -> dict[str, TableView]:
        return view_lake(self.spec, replace(self.settings, spark_remote=self.stack.spark_remote))

    def truth(self) -> Truth:
        return Truth.load(self.settings.landing_path, TOPIC)

    def snapshot(self) -> dict[str, object]:
        """Instant and rows of every table but the marts with a window: they move with the clock, as the oracles say."""
        moving = {mart.name for mart in self.spec.marts if mart.window}
        paths = {name: self.settings.table_path(name) for name in self.spec.table_names if name not in moving}
        return {
            name: (Timeline(table=name, path=path).last, sorted(map(repr, read_with_rust(path))))
            for name, path in paths.items()
        }

    def differing_marts(self, overrides: Mapping[str, str] | None = None) -> dict[str, list[Any]]:
        """Marts that are not what the oracles say, as of the clock that their last event carried."""
        marts = [mart.name for mart in self.spec.marts]
        events = {name: self.stack.airflow.api.asset_events(f"{self.spec.lake}/{name}") for name in marts}
        clocks = {name: parse_clock(own[-1]["extra"]["clock"]) for name, own in events.items() if own}
        return differing_marts(self.spec, self.settings, clocks, overrides)


STARTED = pytest.StashKey[ExitStack]()


@pytest.fixture(scope="session")
def running(
    postgresql: Server, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Running]:
    """2,000 events, followed by the scheduler to the end of the chain, with the slow layer of a new lake."""
    folder: Path = tmp_path_factory.mktemp("stack")
    environ = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    for name in ("lakes", "marts", "expectations"):  # as shipped, and free to be edited
        shutil.copytree(PROJECT_ROOT / "include" / name, folder / "include" / name)
    environ |= {
        "LAKEHOUSE_LAKE_SPEC": str(folder / "include" / "lakes" / "sales.yaml"),
        "LAKEHOUSE_BASE_PATH": str(folder / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
    }
    settings = Settings.from_environment(environ)
    environ[DATABASE_VARIABLE] = postgresql.url(postgresql.new_database())
    given = {name: new_canary() for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
    environ |= {**given, "AWS_ACCESS_KEY_ID": "known-to-all"}
    canaries = {**given, "lakehouse_serving": new_canary(), "lakehouse_athena": new_canary(), "metadata": PASSWORD}
    stack = Stack(folder / "run", environ=environ)
    # No test changes a DAG; to read all of their files again takes eight processor seconds each time.
    stack.airflow.environment["AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL"] = "3600"
    canaries |= {name: getattr(stack.airflow.secrets, name) for name in ("password", "jwt", "api", "fernet")}
    runs: list[DagRun] = []
    # As many broken records as never to be none, whatever today's events are.
    events = ["--events", "2000", "--seed", "11", "--broken-rate", "0.01", "--topic", TOPIC]
    with ExitStack() as started:
        pytestconfig.stash[STARTED] = started
        started.enter_context(stack.folder.stopping())
        command_lines = started.enter_context(watching_command_lines())
        generate(events, environ)
        stack.start(ingest_cron="0 0 * * *")
        serving_url = make_connections(stack, postgresql, canaries)
        chain = Chain(stack.airflow.api, report=runs.append)
        chain.wait_for_first()
        spec = load_lake_spec(settings.lake_spec)
        yield Running(
            stack=stack,
            settings=settings,
            spec=spec,
            environ=environ,
            chain=chain,
            runs=runs,
            serving_url=serving_url,
            canaries=canaries,
            command_lines=command_lines,
        )


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the stack after the last test of this folder: an idle Airflow takes a third of a core from other tests."""
    is_last = nextitem is None or nextitem.path.parent != item.path.parent
    if is_last and (started := item.config.stash.get(STARTED, None)):
        started.close()


def make_connections(stack: Stack, postgresql: Server, canaries: Mapping[str, str]) -> str:
    """Connections with passwords that are used nowhere else, as a person makes them; gives the serving store's URL."""
    name, password = postgresql.new_database(), canaries["lakehouse_serving"]
    postgresql.admin(f"CREATE USER {SERVING_USER} SUPERUSER PASSWORD '{password}'")
    store = {
        "conn_type": "postgres",
        "login": SERVING_USER,
        "password": password,
        "schema": name,
        "port": postgresql.port,
    }
    extra = json.dumps({"host": str(postgresql.folder)})
    stack.airflow.api.make_connection("lakehouse_serving", {**store, "extra": extra})
    athena = {"conn_type": "generic", "login": "known-to-all", "password": canaries["lakehouse_athena"]}
    stack.airflow.api.make_connection("lakehouse_athena", athena)
    return postgresql.url(name)
