"""`up` leaves Airflow's pages running and says how to get in; again it says the same; `down` stops everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from local_stack.servers.airflow_api import AirflowApi
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.processes import belong_to, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.slice(name="airflow")]
LOGIN = re.compile(r"at (?P<url>http://\S+)\n\s+user (?P<user>\S+), password (?P<password>\S+)")


def command(direction: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "local_stack", direction]
    return subprocess.run(line, env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=400)


def test_up_up_down_down(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    for name in ("RUN", "BASE", "LANDING"):
        environ[f"LAKEHOUSE_{name}_PATH"] = str(tmp_path / name.lower())
    environ |= {"LAKEHOUSE_DRIVER_MEMORY": "1g", "LAKEHOUSE_UI_PORT": str(free_port())}
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a-persons-own-file").touch()
    try:
        first, second = command("up", environ), command("up", environ)
        assert (first.returncode, second.returncode) == (0, 0), first.stderr
        login, again = LOGIN.search(first.stdout), LOGIN.search(second.stdout)
        assert login is not None
        assert again is not None
        assert login.groupdict() == again.groupdict()
        assert login["password"] not in first.stderr
        api = AirflowApi(login["url"], user=login["user"], password=login["password"])
        assert api.dag_ids() == set(DAG_IDS)
        assert [backfilled_dates(dag_id, environ) for dag_id in ("split_sales", "recompute")] == [3, 1]
        with urllib.request.urlopen(login["url"], timeout=30) as page:
            assert page.status == 200
        pids = [service.pid for service in RunFolder(tmp_path / "run" / "up").running()]
        assert len(pids) == 5
    finally:
        stopped = command("down", environ)
    assert "down: stopped" in stopped.stderr
    wait_until_gone(pids)
    assert belong_to(tmp_path / "run" / "up") == []
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(login["url"], timeout=5)
    nothing = command("down", environ)
    assert (nothing.returncode, nothing.stderr) == (0, "down: nothing was running\n")
    logs = "".join(file.read_text(errors="replace") for file in (tmp_path / "run" / "up" / "logs").iterdir())
    assert login["password"] not in logs


def backfilled_dates(dag_id: str, environ: dict[str, str]) -> int:
    """How many dates Airflow's own command line would backfill from 28 February to 2 March 2026."""
    line = [sys.executable, "-m", "local_stack", "airflow", "backfill", "create", "--dry-run", "--dag-id", dag_id]
    dates = ["--from-date", "2026-02-28", "--to-date", "2026-03-02"]
    done = subprocess.run([*line, *dates], env=environ, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return len(re.findall(r"^\| 2026-", done.stdout, re.MULTILINE))
