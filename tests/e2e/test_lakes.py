"""Two lakes in one running Airflow: each takes in its own events, each is backfilled from the shell, one more is added.

`sales` and `branch` have the tables of the shipped lake, no marts, and events of different seeds. While Airflow runs,
`spare` is added to the folder, and `torn`, which is broken in its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from local_stack.demos.demo_data import TOPIC, generate
from local_stack.demos.lake_view import check_lake, read_with_rust, view_lake
from local_stack.demos.truth_check import Truth
from local_stack.servers.airflow_api import AirflowApi
from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.databases import Server
from local_stack.servers.ports import free_port
from local_stack.servers.stack import Stack
from spark_jobs.contracts.lakes import lake_environment
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.backfills import assert_one_at_a_time, backfill_states, create_backfill
from tests.support.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1800), pytest.mark.slice(name="airflow")]
SEEDS = {"sales": "11", "branch": "12"}
SPLITS = {"sales": "split_sales", "branch": "branch_split"}
LIMIT_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class Lakes:
    stack: Stack
    folder: Path
    environ: Mapping[str, str]

    @property
    def api(self) -> AirflowApi:
        return self.stack.airflow.api

    def settings(self, lake: str) -> Settings:
        return Settings.from_environment(lake_environment(self.environ, lake))

    def differences(self, lake: str) -> list[str]:
        """What is not as the generator says in the tables of a lake."""
        settings = self.settings(lake)
        spec = load_lake_spec(settings.lake_spec)
        views = view_lake(spec, replace(settings, spark_remote=self.stack.spark_remote))
        return check_lake(views, Truth.load(settings.landing_path, TOPIC), spec)

    def rows(self, lake: str) -> dict[str, list[str]]:
        """The rows of every table of a lake that split writes."""
        settings = self.settings(lake)
        tables = [table.name for table in load_lake_spec(settings.lake_spec).tables]
        return {name: sorted(map(repr, read_with_rust(settings.table_path(name)))) for name in tables}

    def state(self, dag_id: str, run_id: str) -> str:
        """The state of one run."""
        return next(run.state for run in self.api.runs(dag_id) if run.run_id == run_id)

    def runs(self, dag_id: str, run_type: str) -> list[str]:
        """The states of the DAG's runs of a kind."""
        return [run.state for run in self.api.runs(dag_id) if run.run_type == run_type]


def write_spec(folder: Path, lake: str) -> None:
    """The shipped lake under another name, without its marts and expectations."""
    text = (PROJECT_ROOT / "include" / "lakes" / "sales.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^(marts|expectations):.*\n", "", text, flags=re.MULTILINE)
    (folder / f"{lake}.yaml").write_text(text.replace("lake: sales\n", f"lake: {lake}\n", 1), encoding="utf-8")


@pytest.fixture(scope="module")
def lakes(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakes]:
    """Both with their events, and an Airflow that looks at the folder often."""
    folder = tmp_path_factory.mktemp("lakes")
    specs = folder / "specs"
    specs.mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    environ |= {
        "LAKEHOUSE_LAKES": str(specs),
        "LAKEHOUSE_BASE_PATH": str(folder / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
    }
    environ[DATABASE_VARIABLE] = postgresql.url(postgresql.new_database())
    for lake, seed in SEEDS.items():
        write_spec(specs, lake)
        generate(["--events", "400", "--seed", seed, "--topic", TOPIC], {**environ, "LAKEHOUSE_LAKE": lake})
    stack = Stack(folder / "run", environ=environ)
    stack.airflow.environment["AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL"] = "15"
    with stack.folder.stopping():
        stack.start(ingest_cron="0 0 * * *")
        yield Lakes(stack=stack, folder=specs, environ=environ)


def test_each_lake_takes_in_its_own_events_and_no_others(lakes: Lakes) -> None:
    wait_until(
        lambda: all("success" in lakes.runs(dag_id, "asset_triggered") for dag_id in SPLITS.values()),
        "both follow their ingest",
        limit_seconds=LIMIT_SECONDS,
    )
    assert {lake: lakes.differences(lake) for lake in SEEDS} == {"sales": [], "branch": []}
    truths = [Truth.load(lakes.settings(lake).landing_path, TOPIC) for lake in SEEDS]
    assert truths[0].tables != truths[1].tables, "two lakes with the same rows would show nothing"
    for lake in SEEDS:
        events = lakes.api.asset_events(f"{lake}/sales_log")
        assert {event["source_dag_id"] for event in events} == {SPLITS[lake].replace("split", "ingest")}


def test_each_lake_is_backfilled_from_the_shell(lakes: Lakes) -> None:
    before = {lake: lakes.rows(lake) for lake in SEEDS}
    days = {}
    for lake, dag_id in SPLITS.items():
        log = read_with_rust(lakes.settings(lake).table_path("sales_log"))
        days[lake] = max(row["event_time"] for row in log).date() - timedelta(days=1)
        create_backfill(lakes.stack, dag_id, first=days[lake].isoformat(), last=days[lake].isoformat())
    wait_until(
        lambda: all(backfill_states(lakes.api, dag_id) == ["success"] for dag_id in SPLITS.values()),
        "both backfills succeed",
        limit_seconds=LIMIT_SECONDS,
    )
    for lake, dag_id in SPLITS.items():
        assert_one_at_a_time(lakes.api, dag_id)
        (run,) = [run for run in lakes.api.runs(dag_id) if run.run_type == "backfill"]
        logged = lakes.api.task_log(dag_id, run.run_id, "split", 1)
        assert any(f"--interval-start={days[lake]}T00:00:00Z" in line for line in logged)
    assert {lake: lakes.rows(lake) for lake in SEEDS} == before
    assert {lake: lakes.differences(lake) for lake in SEEDS} == {"sales": [], "branch": []}


def test_a_lake_more_is_a_file_more_and_a_broken_one_takes_none_down(lakes: Lakes) -> None:
    known = lakes.api.dag_ids()
    assert {"ingest_sales", "split_sales", "branch_ingest", "branch_split"} <= known
    (lakes.folder / "torn.yaml").write_text("lake: 7\n", encoding="utf-8")
    write_spec(lakes.folder, "spare")
    spare = {dag_id.replace("branch_", "spare_", 1) for dag_id in known if dag_id.startswith("branch_")}
    wait_until(lambda: lakes.api.dag_ids() >= spare, "the new lake has its DAGs", limit_seconds=LIMIT_SECONDS)
    wait_until(lambda: bool(lakes.api.import_errors()), "the broken one is shown", limit_seconds=LIMIT_SECONDS)
    (error,) = lakes.api.import_errors()
    assert "torn.yaml:1" in error
    run_id = lakes.api.trigger("lakes")
    wait_until(lambda: lakes.state("lakes", run_id) in ("failed", "success"), "it ends", limit_seconds=LIMIT_SECONDS)
    assert lakes.state("lakes", run_id) == "failed", "its alert is the only one of a lake that has no DAGs"
    assert lakes.api.dag_ids() == known | spare
