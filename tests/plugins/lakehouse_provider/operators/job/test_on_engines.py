"""The same jobs through a connection of either type: the same tables, and nothing left behind by a SIGKILL.

The landing zone holds 60 seeded events with their truth beside them.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
from pyarrow import csv, parquet

from lakehouse_provider.launch.engines import INTERRUPT
from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.launch.job_process import JobProcess
from local_stack.demos.demo_data import TOPIC, generate
from local_stack.demos.truth_check import Truth, check_table
from local_stack.servers.cluster import start_cluster
from local_stack.servers.connect_server import start_connect_server, wait_for_connect_server
from local_stack.servers.services import RunFolder, Service
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.canaries import canaries_in, new_canary, search_files, watching_command_lines
from tests.support.commands import init
from tests.support.operators import run_operator
from tests.support.processes import (
    LIMIT_SECONDS,
    command_line,
    descendants,
    find_children,
    find_descendants,
    has_running_thread,
    read_processes,
    wait_until,
    wait_until_gone,
)

pytestmark = [pytest.mark.services, pytest.mark.hudi]
EVENTS = 60
EXECUTOR_THREAD = "Executor task l"
"""Linux keeps 15 characters of the name "Executor task launch worker"."""
FOREVER = """
import os, sys, threading
from pyspark.sql import SparkSession
from spark_jobs.contracts.connect_sessions import sessions_of
query = "SELECT sum(pmod(a.id * b.id, 7)) FROM range(0, 1000000000, 1, 64) a, range(100000) b"
addresses = list(sessions_of(os.environ["LAKEHOUSE_SPARK_REMOTE"], 3))
for address in addresses[int(sys.argv[1]):]:
    spark = SparkSession.builder.remote(address).create()
    threading.Thread(target=spark.sql(query).collect).start()
print("connected", file=sys.stderr, flush=True)
"""
"""Works in a run's own session and in two beside it, or in these two alone."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = RunFolder(tmp_path_factory.mktemp("connect"))
    environ = {**os.environ, "LAKEHOUSE_DRIVER_MEMORY": "1g", "LAKEHOUSE_SPARK_MASTER": "local[2]"}
    with folder.stopping():
        started = start_connect_server(folder, environ=environ)
        wait_for_connect_server(started)
        yield started


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environ |= {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "PYTHONPATH": f"{PROJECT_ROOT}:{PROJECT_ROOT / 'plugins'}",
        "LAKEHOUSE_BASE_PATH": str(tmp_path / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "1g",
    }
    generate(["--events", f"{EVENTS}", "--seed", "5", "--topic", TOPIC, "--end", "2026-02-28T12:00:00Z"], environ)
    init(environ)
    return environ


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster: a master and two workers with a processor each."""
    folder = RunFolder(tmp_path_factory.mktemp("cluster"))
    with folder.stopping():
        yield start_cluster(folder)


@pytest.fixture
def server_on_cluster(master: str, tmp_path: Path) -> Iterator[Service]:
    folder = RunFolder(tmp_path / "connect")
    environ = {**os.environ, "LAKEHOUSE_DRIVER_MEMORY": "1g", "LAKEHOUSE_SPARK_MASTER": master}
    with folder.stopping():
        started = start_connect_server(folder, environ=environ)
        wait_for_connect_server(started)
        yield started


def connection(kind: str, server: Service) -> str:
    facts = {"host": "127.0.0.1", "port": server.port} if kind == "spark_connect" else {"host": "local[2]"}
    return json.dumps({"conn_type": kind, **facts})


@pytest.mark.slice(name="clusters")
def test_the_jobs_give_the_truth_by_spark_connect(server: Service, environment: dict[str, str], tmp_path: Path) -> None:
    check_truth(connection("spark_connect", server), environment)
    check_exports({**environment, "LAKEHOUSE_SPARK_REMOTE": f"sc://127.0.0.1:{server.port}"}, tmp_path)
    landing = Path(environment["LAKEHOUSE_LANDING_PATH"]) / TOPIC
    lines = sorted({line for file in landing.glob("*.jsonl") for line in file.read_bytes().splitlines() if line})
    (landing / "again.jsonl").write_bytes(b"\n".join([*lines, b"no record", b"no record"]) + b"\n")
    before = python_starters(server)
    output, _ = run_operator(environment, "ingest").communicate(timeout=600)
    assert python_starters(server) == before, "one for each run would stay until the server ends"
    counters = json.loads(output.splitlines()[-1])["counters"]
    assert len(lines) > 50
    assert (counters["events_new"], counters["records_quarantined"]) == (0, 1)
    assert counters["records_duplicate"] == len(lines) + 1


@pytest.mark.slice(name="cloud")
def test_by_spark_submit_no_secret_is_shown(environment: dict[str, str], tmp_path: Path) -> None:
    """Secrets in the connection's conf and in the environment: in no command line, log, event log, table or folder."""
    canaries = {name: new_canary() for name in ("conf", "key", "token", "password")}
    (tmp_path / "events").mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{tmp_path}/events",
        "spark.hadoop.fs.s3a.bucket.other.secret.key": canaries["conf"],
    }
    environment |= {
        "AWS_ACCESS_KEY_ID": "known-to-all",
        "AWS_SECRET_ACCESS_KEY": canaries["key"],
        "AWS_SESSION_TOKEN": canaries["token"],
        "LAKEHOUSE_SERVING_URL": f"postgresql://me:{quote(canaries['password'], safe='')}@127.0.0.1/db",
        "TMPDIR": str(tmp_path),
    }
    facts = {"conn_type": "spark", "host": "local[2]", "password": canaries["conf"], "extra": {"conf": conf}}
    environment["AIRFLOW_CONN_LAKEHOUSE_SPARK"] = json.dumps(facts)
    with watching_command_lines() as seen:
        output, errors = run_operator(environment, "ingest", errors=subprocess.PIPE).communicate(timeout=600)
    shown, result = output + errors, json.loads(output.splitlines()[-1])
    assert (result["status"], result["counters"]["events_new"]) == ("done", EVENTS), shown
    assert search_files(tmp_path, canaries) == {}
    assert canaries_in("\n".join(seen).encode(), canaries) == []
    assert canaries_in(shown.encode(), canaries) == []
    events = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "events").iterdir())
    for hidden in ("bucket.other.secret.key", "fs.s3a.secret.key", "fs.s3a.session.token"):
        assert f'{hidden}":"*********(redacted)"' in events, f"{hidden} was there, and hidden"
    assert any("--properties-file" in line for line in seen)
    assert "running " in shown


@pytest.mark.slice(name="clusters")
def test_and_on_a_cluster_by_spark_submit(master: str, environment: dict[str, str]) -> None:
    small = {"spark.executor.cores": 1, "spark.executor.memory": "768m", "spark.sql.shuffle.partitions": 2}
    facts = {"host": master, "extra": {"engine": "standalone", "conf": small}}
    check_truth(json.dumps({"conn_type": "spark", **facts}), environment)


@pytest.mark.slice(name="clusters")
def test_and_on_a_cluster_by_spark_connect(server_on_cluster: Service, environment: dict[str, str]) -> None:
    check_truth(connection("spark_connect", server_on_cluster), environment)


def check_exports(environment: dict[str, str], folder: Path) -> None:
    """Every unit, in order, in each form of file."""
    from hudi import HudiTableBuilder

    path = Settings.from_environment(environment).table_path("units")
    batches = HudiTableBuilder.from_base_uri(path).build().read()
    units = sorted(row["unit_id"] for batch in batches for row in batch.to_pylist())
    query = [sys.executable, "-m", "spark_jobs.entrypoint", "query", "--sql", "SELECT unit_id FROM units ORDER BY 1"]
    for name, read in (("u.parquet", parquet.read_table), ("u.csv", csv.read_csv), ("u.csv.gz", csv.read_csv)):
        done = subprocess.run(
            [*query, "--output", f"{folder}/{name}"], env=environment, stdout=subprocess.PIPE, check=True, timeout=300
        )
        assert json.loads(done.stdout.splitlines()[-1])["counters"]["rows"] == len(units)
        assert [row["unit_id"] for row in read(folder / name).to_pylist()] == units


def check_truth(conn: str, environment: dict[str, str]) -> None:
    """Run ingest and split as tasks with this connection; every table must be the generator's truth."""
    from hudi import HudiTableBuilder

    environment["AIRFLOW_CONN_LAKEHOUSE_SPARK"] = conn
    output, _ = run_operator(environment, "ingest", "split").communicate(timeout=600)
    results: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert [(result["job"], result["status"]) for result in results] == [("ingest", "done"), ("split", "done")]
    settings = Settings.from_environment(environment)
    spec, truth = load_lake_spec(settings.lake_spec), Truth.load(settings.landing_path, TOPIC)
    for table in spec.tables:
        batches = HudiTableBuilder.from_base_uri(settings.table_path(table.name)).build().read()
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert check_table(table, rows, truth, spec, reader="the Rust reader") == []


@pytest.mark.parametrize(("kind", "drivers"), [("spark_connect", {"python"}), ("spark", {"python", "java"})])
def test_a_killed_task_leaves_no_driver(
    kind: str, drivers: set[str], server: Service, environment: dict[str, str]
) -> None:
    environment["AIRFLOW_CONN_LAKEHOUSE_SPARK"] = connection(kind, server)
    task = run_operator(environment, "ingest")
    family = wait_for_family(task.pid, drivers)
    task.kill()
    task.wait()
    wait_until_gone(family)


@pytest.mark.parametrize("first", [0, 1])
def test_a_killed_client_leaves_nothing_running_on_the_server(server: Service, first: int) -> None:
    remote = f"sc://127.0.0.1:{server.port}/;session_id=11111111-2222-4333-8444-555555555555"
    command = JobCommand(
        arguments=(sys.executable, "-c", FOREVER, str(first)),
        environment={**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "LAKEHOUSE_SPARK_REMOTE": remote},
        afterwards=(sys.executable, "-c", INTERRUPT),
    )
    logged: list[str] = []
    process = JobProcess(command, log=logged.append)
    thread = Thread(target=process.run)
    thread.start()
    wait_until(lambda: "connected" in logged, "the client is connected")
    wait_until(lambda: has_running_thread(server.pid, EXECUTOR_THREAD), "the server works for the client")
    process.stop()
    thread.join(LIMIT_SECONDS)
    wait_until(lambda: not has_running_thread(server.pid, EXECUTOR_THREAD), "the server rests")


def python_starters(server: Service) -> set[int]:
    """Processes that start the server's workers of Python, which Spark never ends."""
    stats = read_processes()
    workers = {
        pid for pid in find_descendants(server.pid, find_children(stats)) if "pyspark.daemon" in command_line(pid)
    }
    return {pid for pid in workers if int(stats[pid][1]) not in workers}


def wait_for_family(pid: int, drivers: set[str]) -> list[int]:
    """Descendants of the task as soon as a driver of each kind is among them."""

    def kinds() -> set[str]:
        lines = [command_line(below) for below in descendants(pid)]
        entries = [line.split()[0] for line in lines if "entrypoint" in line and "launcher.py" not in line]
        return {"java" if program.endswith("java") else "python" for program in entries}

    wait_until(lambda: kinds() >= drivers, f"{sorted(drivers)} run")
    return descendants(pid)


def test_the_server_refuses_other_machines(server: Service) -> None:
    """The machine's own outside address serves as one: its calls do not come from the loopback interface."""
    import grpc
    from pyspark.sql.connect.proto import AnalyzePlanRequest
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

    request = AnalyzePlanRequest(session_id="11111111-2222-4333-8444-555555555556")
    request.spark_version.SetInParent()
    answers = {}
    for host in ("127.0.0.1", outside_address()):
        with grpc.insecure_channel(f"{host}:{server.port}") as channel:
            try:
                answers[host] = SparkConnectServiceStub(channel).AnalyzePlan(request, timeout=30).spark_version.version
            except grpc.RpcError as error:
                answers[host] = error.code()
    assert answers.pop("127.0.0.1") == "3.5.7"
    assert list(answers.values()) == [grpc.StatusCode.PERMISSION_DENIED]


def outside_address() -> str:
    """The address with which this machine would speak to others; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address
