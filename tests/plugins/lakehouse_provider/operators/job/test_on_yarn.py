"""Drivers that YARN starts (deploy-mode cluster), on a resource manager and a node of the tests' own.

The landing zone holds 60 seeded events. A first ingest is killed with its task, by SIGKILL, while it waits for an
executor that the node has no room for: YARN's application ends with it. The second one takes all events in. Its driver
starts in an empty folder with the zip and the jars, and has no other file of the project: where Python looks for
modules is not handed on, and the lake's files come out of the zip.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack.demos.demo_data import TOPIC, generate
from local_stack.servers.connect_server import spark_home
from local_stack.servers.services import RunFolder
from local_stack.servers.yarn import Yarn, start_yarn
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.commands import init
from tests.support.operators import run_operator
from tests.support.processes import wait_until

pytestmark = [pytest.mark.services, pytest.mark.hudi, pytest.mark.slice(name="clusters")]
CONF = {
    "spark.yarn.jars": f"local:{spark_home()}/jars/*",  # else all of Spark is packed and unpacked for each job
    "spark.pyspark.python": sys.executable,
    "spark.executor.cores": 1,
    "spark.executor.memory": "768m",
    "spark.executor.memoryOverhead": "384m",
    "spark.driver.memoryOverhead": "512m",
    "spark.dynamicAllocation.maxExecutors": 1,
    "spark.sql.shuffle.partitions": 4,
}


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Yarn]:
    folder = RunFolder(tmp_path / "yarn")
    with folder.stopping():
        yield start_yarn(folder)


def connection(conf: dict[str, object]) -> str:
    extra = {"engine": "yarn", "deploy-mode": "cluster", "conf": conf}
    return json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra})


def test_a_driver_on_yarn_ends_with_its_task_and_hands_its_result_back(yarn: Yarn, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")} | {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW_CONN_LAKEHOUSE_SPARK": connection(CONF),
        "PYTHONPATH": f"{PROJECT_ROOT}:{PROJECT_ROOT / 'plugins'}",
        "HADOOP_CONF_DIR": str(yarn.conf),
        "LAKEHOUSE_BASE_PATH": str(tmp_path / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "1g",
    }
    generate(["--events", "60", "--seed", "5", "--topic", TOPIC, "--end", "2026-02-28T12:00:00Z"], environment)
    init(environment)

    waiting = {"AIRFLOW_CONN_LAKEHOUSE_SPARK": connection({**CONF, "spark.executor.memory": "5g"})}
    ended = {"appsKilled", "appsFailed", "appsCompleted"}
    killed = run_operator({**environment, **waiting}, "ingest")
    wait_until(lambda: yarn.counts().get("appsRunning", 0) == 1, "a driver runs")
    killed.kill()
    killed.wait()
    wait_until(lambda: ended & yarn.counts().keys() != set(), "its driver ends too", limit_seconds=300)
    assert "appsKilled" in yarn.counts(), f"it ended by itself: {yarn.counts()}"

    output, _ = run_operator(environment, "ingest").communicate(timeout=600)
    (result,) = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert (result["status"], result["counters"]["events_new"]) == ("done", 60)
    assert yarn.counts() == {"activeNodes": 1, "appsSubmitted": 2, "appsKilled": 1, "appsCompleted": 1}
    assert list((tmp_path / "lake" / ".results").iterdir()) == []
