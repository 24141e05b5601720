"""Backfills of a running Airflow, by its own command line and its API."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from local_stack.servers.airflow_api import AirflowApi
from local_stack.servers.stack import Stack
from spark_jobs.contracts.arguments import parse_clock
from tests.support.processes import wait_until


def create_backfill(
    stack: Stack, dag_id: str, *, first: str, last: str, max_active_runs: int = 4, conf: Mapping[str, Any] | None = None
) -> None:
    """Backfill every date from ``first`` to ``last``.

    Airflow's SQLite may say that it is locked, after some of the dates were created. Then, as docs/backfill.md says,
    the same command is given again when these are done; it leaves them out.
    """
    line = ["--dag-id", dag_id, "--from-date", first, "--to-date", last, "--max-active-runs", str(max_active_runs)]
    more = ["--dag-run-conf", json.dumps(conf)] if conf else []
    for _ in range(5):
        wait_until(lambda: not _is_active(stack.airflow.api, dag_id), "earlier ones are done", limit_seconds=900)
        done = subprocess.run(
            [sys.executable, "-m", "airflow", "backfill", "create", *line, *more],
            env=stack.airflow.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return
        assert "database is locked" in done.stderr, done.stderr[-2000:]
    raise AssertionError(f"the backfill of {dag_id} could not be created: {done.stderr[-500:]}")


def _is_active(api: AirflowApi, dag_id: str) -> bool:
    return any(
        backfill["completed_at"] is None for backfill in api.get("/api/v2/backfills", dag_id=dag_id)["backfills"]
    )


def backfill_states(api: AirflowApi, dag_id: str) -> list[str]:
    """States of the runs of all backfills of a DAG."""
    return [run.state for run in api.runs(dag_id) if run.run_type == "backfill"]


def assert_one_at_a_time(api: AirflowApi, dag_id: str) -> None:
    """No two runs of a DAG, whoever started them, ever had the same task at work at a time.

    A task that the scheduler skips with those before it is never at work: it begins and ends at one moment, whenever.
    """
    spans: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for run in api.runs(dag_id):
        for task in api.tasks(dag_id, run.run_id):
            if task["start_date"] and task["end_date"] and task["start_date"] != task["end_date"]:
                spans[task["task_id"]].append((parse_clock(task["start_date"]), parse_clock(task["end_date"])))
    assert spans
    for task_id, of_task in spans.items():
        for earlier, later in pairwise(sorted(of_task)):
            assert earlier[1] <= later[0], f"two {task_id} of {dag_id} at a time"
