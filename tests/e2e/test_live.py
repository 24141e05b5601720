"""`live` follows SQL statements from a real database through Debezium, Kafka and Airflow to readers of the lake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.airflow_home import DATABASE_VARIABLE
from local_stack.databases import Server
from local_stack.ports import free_port
from local_stack.services import RunFolder
from spark_jobs.contracts.settings import PROJECT_ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500), pytest.mark.slice(name="live")]


def test_what_is_done_at_the_source_reaches_the_lake(postgresql: Server, tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LAKEHOUSE_")}
    environ |= {name: value for name, value in os.environ.items() if name == "LAKEHOUSE_JARS_PATH"}
    environ |= {
        "LAKEHOUSE_RUN_PATH": str(tmp_path / "run"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
        DATABASE_VARIABLE: postgresql.url(postgresql.new_database()),
    }
    line = [sys.executable, "-m", "local_stack", "live", "--database", "mariadb"]
    done = subprocess.run(line, env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=1400)
    assert done.returncode == 0, done.stderr[-3000:]
    took = re.findall(
        r"^  (a sale is entered|it is signed|another sale is deleted) +([0-9.]+)$", done.stdout, re.MULTILINE
    )
    assert len(took) == 3
    assert re.search(r"^ +900,001 +77 +4 +250,000\.5000 +no$", done.stdout, re.MULTILINE)
    assert "correct horse" not in done.stdout + done.stderr
    assert RunFolder(tmp_path / "run" / "live").running() == []
