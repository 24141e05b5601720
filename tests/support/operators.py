"""The job operator in a process of its own, as a worker of Airflow has it: so that it can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

OPERATOR = """
import sys
from datetime import datetime, UTC
from types import SimpleNamespace
from lakehouse_provider.operators.job import LakehouseJobOperator
run = SimpleNamespace(run_type="manual", start_date=datetime(2026, 3, 1, tzinfo=UTC), logical_date=None)
context = {"dag_run": run, "params": {}, "run_id": "r", "outlet_events": {}, "triggering_asset_events": {}}
import json
for job in sys.argv[1:]:
    print(json.dumps(LakehouseJobOperator(task_id="job", job=job).execute(context)), flush=True)
"""


def run_operator(environment: Mapping[str, str], *jobs: str, errors: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start it: one job after the other, each result a line of JSON on standard output; ``errors`` gets its log."""
    line = [sys.executable, "-c", OPERATOR, *jobs]
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
