"""`cloud` takes the whole chain through an S3 server, a metastore, Trino and Athena's client, and all readers agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.databases import Server
from local_stack.servers.ports import free_port
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.aws import right_for
from tests.support.processes import belong_to

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500), pytest.mark.slice(name="cloud")]
_REQUEST = re.compile(r'"(?P<method>[A-Z]+) /lakehouse(?P<key>/[^?\s"]+)?/?(?:\?(?P<query>\S*))? HTTP')
_QUERY = re.compile(r"^(?P<reader>Trino|Athena's client): SELECT .+\n(?P<table>(?:  .+\n)+)", re.MULTILINE)


def test_every_reader_agrees_on_the_lake_on_s3(postgresql: Server, tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LAKEHOUSE_SPARK_"))}
    environ |= {
        "LAKEHOUSE_RUN_PATH": str(tmp_path / "run"),
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
        DATABASE_VARIABLE: postgresql.url(postgresql.new_database()),
    }
    line = [sys.executable, "-m", "local_stack", "cloud", "--events", "600", "--arrivals", "1"]
    done = subprocess.run(line, env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=1400)
    assert done.returncode == 0, done.stderr[-3000:]
    output = done.stdout + done.stderr
    assert "done: every table is the generator's truth, in Spark, in the Rust reader and in Trino" in output
    assert re.search(r"catalog_sync +\w+ +success", output), "the scheduler kept the metastore"
    answers = {found["reader"]: found["table"] for found in _QUERY.finditer(done.stdout)}
    assert set(answers) == {"Trino", "Athena's client"}
    assert answers["Trino"] == answers["Athena's client"]
    assert answers["Trino"].count("\n") > 3
    assert belong_to(tmp_path / "run" / "cloud") == []
    check_rights(tmp_path / "run" / "cloud" / "logs" / "aws.log")


def check_rights(file: Path) -> None:
    """What was requested is what the policy of a role for ingest allows, and no more."""
    log = file.read_text(encoding="utf-8", errors="replace")
    requested = (found.groupdict(default="") for found in _REQUEST.finditer(log))
    used = {right_for(**each) for each in requested} - {"s3:CreateBucket"}
    allowed = json.loads((PROJECT_ROOT / "include" / "aws" / "iam-ingest.json").read_text(encoding="utf-8"))
    assert {"s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject"} <= used
    assert used <= {action for statement in allowed["Statement"] for action in statement["Action"]}
