"""A task in a process of its own, as a worker of Airflow has it: the job operator alone, or that of a DAG's form."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from spark_jobs.contracts.settings import PROJECT_ROOT

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

TASK = """
import json, sys
from datetime import datetime, UTC
from types import SimpleNamespace
from airflow.dag_processing.dagbag import DagBag
folder, dag_id, task_id, form = sys.argv[1:]
dag = DagBag(dag_folder=f"{folder}/{dag_id}.py").dags[dag_id]
task = dag.get_task(task_id).prepare_for_execution()
params = {**{name: param.value for name, param in dag.params.items() if param.has_value}, **json.loads(form)}
run = SimpleNamespace(run_type="manual", start_date=datetime(2026, 3, 1, tzinfo=UTC), logical_date=None)
task.outlets = []  # what was announced before is known to Airflow's supervisor alone
context = {"dag_run": run, "params": params, "run_id": "r", "outlet_events": {}, "triggering_asset_events": {}}
task.render_template_fields(context, task.get_template_env())
print(json.dumps(task.execute(context)), flush=True)
"""


def run_task(dag_id: str, task_id: str, form: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The result of a DAG's task, started by a person who filled in the form; it must end well."""
    line = [sys.executable, "-c", TASK, str(PROJECT_ROOT / "dags"), dag_id, task_id, json.dumps(form)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_operator(environment: Mapping[str, str], *jobs: str, errors: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start it: one job after the other, each result a line of JSON on standard output; ``errors`` gets its log."""
    line = [sys.executable, "-c", OPERATOR, *jobs]
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
