"""`live` follows SQL statements from a real database through Debezium, Kafka and Airflow to readers of the lake."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_stack.demos.live_failover import FIRST, LOST
from local_stack.demos.live_source import STATEMENTS
from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.databases import Server
from local_stack.servers.kafka_connect import NAME as KAFKA_CONNECT
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.processes import belong_to, descendants, wait_until, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500), pytest.mark.slice(name="live")]


def environment(folder: Path) -> dict[str, str]:
    """The variables of a run of its own below a folder."""
    kept = {n: value for n, value in os.environ.items() if not n.startswith("LAKEHOUSE_") or n == "LAKEHOUSE_JARS_PATH"}
    return {**kept, "LAKEHOUSE_RUN_PATH": str(folder / "run"), "LAKEHOUSE_DRIVER_MEMORY": "2g"}


def test_what_is_done_at_the_source_reaches_the_lake(postgresql: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path) | {
        "LAKEHOUSE_UI_PORT": str(free_port()),
        DATABASE_VARIABLE: postgresql.url(postgresql.new_database()),
    }
    before = belong_to(tmp_path / "run" / "live")
    assert before == []
    line = [sys.executable, "-m", "local_stack", "live", "--database", "mariadb"]
    done = subprocess.run(line, env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=1400)
    assert done.returncode == 0, done.stderr[-3000:]
    titles = "|".join(statement.title for statement in (*STATEMENTS, LOST, FIRST))
    took = re.findall(rf"^  ({titles}) +([0-9.]+)$", done.stdout, re.MULTILINE)
    assert len(took) == len(STATEMENTS) + 2
    assert re.search(r"^ +900,001 +77 +5 +4 +250,000\.5000 .* no$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +499 +4 +499 +4 +- +- +no$", done.stdout, re.MULTILINE)
    assert re.search(r"ingest stopped: .* have positions .* below .*: source new-epoch ", done.stdout + done.stderr)
    assert re.findall(r"^  \w+ +(kept|null)$", done.stdout, re.MULTILINE).count("null") == 1
    assert "the lake has each sale as the restored source has it" in done.stdout + done.stderr
    assert "correct horse" not in done.stdout + done.stderr
    assert belong_to(tmp_path / "run" / "live") == before


def test_nothing_is_left_when_it_is_interrupted_and_again_while_it_stops(tmp_path: Path) -> None:
    """As a person does it who presses Ctrl-C until the prompt is back; Kafka Connect is the slowest to end."""
    folder = tmp_path / "run" / "live"
    line = [sys.executable, "-m", "local_stack", "live", "--database", "mariadb"]
    environ = {**environment(tmp_path), "LAKEHOUSE_UI_PORT": str(free_port())}
    with (tmp_path / "log").open("wb") as log:
        live = subprocess.Popen(line, env=environ, cwd=PROJECT_ROOT, stdout=log, stderr=log, start_new_session=True)
    wait_until(lambda: RunFolder(folder).find(KAFKA_CONNECT) is not None, "Kafka Connect runs", limit_seconds=600)
    family = [*descendants(live.pid), *belong_to(folder)]
    assert len(belong_to(folder)) > 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        live.send_signal(number)
        time.sleep(0.5)
    assert live.wait(120) != 0
    wait_until_gone(family)
    assert belong_to(folder) == []
