"""The company's demo as people run it: every step gives what it must, and nothing is left running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.databases import Server
from local_stack.servers.ports import free_port
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.processes import belong_to

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500), pytest.mark.slice(name="company")]


def test_every_step_is_the_truth(postgresql: Server, tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LAKEHOUSE_")}
    environ |= {name: value for name, value in os.environ.items() if name == "LAKEHOUSE_JARS_PATH"}
    environ |= {
        "LAKEHOUSE_RUN_PATH": str(tmp_path / "run"),
        "LAKEHOUSE_BASE_PATH": str(tmp_path / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
        DATABASE_VARIABLE: postgresql.url(postgresql.new_database()),
    }
    line = [sys.executable, "-m", "local_stack", "company", "--size", "2"]
    done = subprocess.run(line, env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=1400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("daily_revenue_in_euro") == 7
    assert "returns" in done.stdout
    assert "done: every step gave what it must" in done.stderr
    assert belong_to(tmp_path / "run" / "company") == []
