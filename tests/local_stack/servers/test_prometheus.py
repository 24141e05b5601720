"""A real Prometheus scrapes a running exporter, and its own tool checks the rules and what is printed.

The lake is that of tests/support/seen_lakes.py, with the times of now: its customers are held.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.ports import free_port
from local_stack.servers.prometheus import Prometheus, run_promtool, start_prometheus
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.metric_names import LAKE_METRICS
from spark_jobs.storage.lake_names import make_lake
from tests.support.seen_lakes import SPEC, SeenLake, seen_lake

pytestmark = pytest.mark.services
RULES = PROJECT_ROOT / "include" / "observability" / "prometheus-rules.yaml"
_MOST_SECONDS = 120.0


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    lake = seen_lake(tmp_path)
    Path(lake.settings.landing_path).mkdir()
    make_lake(SPEC.lake, lake.settings, may_adopt=True)
    return lake


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    folder = RunFolder(tmp_path / "run")
    try:
        yield folder
    finally:
        for name in ("prometheus", "exporter"):
            if service := folder.find(name):
                service.stop()


def environment_of(lake: SeenLake) -> dict[str, str]:
    variables = {"LAKEHOUSE_BASE_PATH": lake.settings.base_path, "LAKEHOUSE_LANDING_PATH": lake.settings.landing_path}
    return {**os.environ, **variables}


def eventually(is_there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    while not is_there():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def series_of(server: Prometheus, expression: str) -> dict[str, float]:
    return {each["metric"].get("table", ""): float(each["value"][1]) for each in server.query(expression)}


def test_prometheus_scrapes_a_running_exporter(lake: SeenLake, folder: RunFolder) -> None:
    port = free_port()
    command = [sys.executable, "-m", "spark_jobs.entrypoint", "metrics", "--listen", f"127.0.0.1:{port}"]
    exporter = folder.start("exporter", command, environment=environment_of(lake), port=port, cwd=PROJECT_ROOT)
    server = start_prometheus(folder, free_port(), targets=[f"127.0.0.1:{port}"], rules=RULES)
    eventually(lambda: bool(server.query("lakehouse_timeline_commits")), exporter.tail())
    assert series_of(server, "lakehouse_timeline_commits{lake='sales'}")["units"] == 2
    scraped = {each["metric"]["__name__"] for each in server.query("{__name__=~'lakehouse_.+'}")}
    # The quarantine was never made: it has no open records, of any reason.
    assert {metric.name for metric in LAKE_METRICS} - scraped == {"lakehouse_quarantine_open_records"}

    lake.write("sales", 9, action="deltacommit", rows=7)
    eventually(lambda: series_of(server, "lakehouse_rows_total{outcome='added'}")["sales"] == 7, "the rows are counted")
    assert series_of(server, "increase(lakehouse_rows_total{outcome='added'}[1m]) > 0").keys() == {"sales"}

    firing = {"LakehouseTableHeld", "LakehouseConsumerLost", "LakehouseStuckInstant"}
    eventually(
        lambda: firing <= {each["labels"]["alertname"] for each in server.alerts() if each["state"] == "firing"},
        "what is wrong with the lake fires",
    )
    exporter.stop()
    assert '"job":"metrics","status":"done"' in exporter.tail(), "asked to end, it ends in order"


def test_promtool_accepts_the_rules_and_their_tests() -> None:
    assert "12 rules found" in run_promtool("check", "rules", RULES.name, folder=RULES.parent)
    assert "SUCCESS" in run_promtool("test", "rules", "prometheus-rules-test.yaml", folder=RULES.parent)


def test_promtool_refuses_a_rule_that_makes_no_sense(tmp_path: Path) -> None:
    broken = tmp_path / "rules.yaml"
    broken.write_text(RULES.read_text().replace("lakehouse_table_held == 1", "lakehouse_table_held === 1"))
    with pytest.raises(SetupError, match="could not parse expression"):
        run_promtool("check", "rules", broken.name, folder=tmp_path)


def test_promtool_accepts_what_is_printed(lake: SeenLake) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spark_jobs.entrypoint", "metrics", "--once"],
        cwd=PROJECT_ROOT,
        env=environment_of(lake),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *lines, result = done.stdout.splitlines()
    assert result.startswith('{"job":"metrics"')
    assert run_promtool("check", "metrics", folder=PROJECT_ROOT, text="\n".join([*lines, ""])) == ""
