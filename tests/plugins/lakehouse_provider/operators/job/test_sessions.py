"""In which session of a Spark Connect server a task's job runs: in its last run's, when that ended well.

The job is a script in place of the client; the id is the one in its environment.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.operators.job import LakehouseJobOperator
from spark_jobs.contracts.results import DONE, JobResult

RESULT = JobResult(job="any", status=DONE, clock="2026-03-01T12:00:00Z").to_json()


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The addresses of the runs so far, the newest last."""
    addresses: list[str] = []

    def build(*arguments: Any, **options: Any) -> JobCommand:
        command = build_job_command(*arguments, **options)
        addresses.append(command.environment["LAKEHOUSE_SPARK_REMOTE"])
        code = f"import sys; print({RESULT!r}); sys.exit({int(any('fails' in word for word in arguments[1]))})"
        return replace(command, arguments=(sys.executable, "-c", code))

    monkeypatch.setattr("lakehouse_provider.operators.job.build_job_command", build)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "base"))
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps({"conn_type": "spark_connect", "host": "h"}))
    return addresses


def run(tried: list[str], job: str, **arguments: Any) -> str:
    """The session of one more run."""
    dag_run = SimpleNamespace(run_type="manual", start_date=datetime(2026, 3, 1, 12, tzinfo=UTC), logical_date=None)
    context: Any = {"dag_run": dag_run, "params": {}, "run_id": "r", "outlet_events": {}}
    task = LakehouseJobOperator(task_id="job", job=job, arguments=arguments)
    if "fails" in arguments.values():
        with pytest.raises(AirflowException, match="ended with exit code 1"):
            task.execute(context)
    else:
        task.execute(context)
    return tried[-1].partition("session_id=")[2]


@pytest.mark.parametrize(
    ("job", "arguments", "failing"),
    [("split", {}, {"tables": "fails"}), ("mart", {"layer": "fast"}, {"layer": "fast", "mart": "fails"})],
)
def test_a_run_goes_on_with_the_session_of_the_last_one_unless_that_failed(
    tried: list[str], job: str, arguments: dict[str, str], failing: dict[str, str]
) -> None:
    first = run(tried, job, **arguments)
    assert run(tried, job, **arguments) == first
    assert run(tried, job, **failing) == first
    assert run(tried, job, **arguments) != first, "what the failed one began may still be at work in it"


def test_a_job_that_may_leave_something_in_its_session_has_a_new_one_each_time(tried: list[str]) -> None:
    assert run(tried, "validate") != run(tried, "validate")
