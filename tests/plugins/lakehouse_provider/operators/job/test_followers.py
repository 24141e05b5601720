"""Tasks after a job that have nothing to do by what it found: skipped with its end, without a process of their own.

The job is `spark-submit` as a script that prints a result.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException, DownstreamTasksSkipped

from lakehouse_provider.operators.job import LakehouseJobOperator
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult

CLOCK = datetime(2026, 3, 1, 12, tzinfo=UTC)
FOLLOWERS = {"quality": "tables_to_check", "other": "others"}


class Task:
    """Run with a job that ends with a status and counters; ``pushed`` is what later tasks are given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.script, self.pushed = folder / "submit", dict[str, Any]()
        extra = {"spark-binary": str(self.script), "jars": "provided"}
        connection = {"conn_type": "spark", "host": "local[1]", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
        monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(folder / "base"))

    def run(self, *, status: str = DONE, **counters: int) -> dict[str, Any]:
        result = JobResult(job="ingest", status=status, clock="2026-03-01T12:00:00Z", counters=counters)
        self.script.write_text(f"#!/bin/sh\necho '{result.to_json()}'\n", encoding="utf-8")
        self.script.chmod(0o755)
        run = SimpleNamespace(run_type="manual", start_date=CLOCK, logical_date=None)
        ti = SimpleNamespace(
            id="1", try_number=1, xcom_push=lambda key, value: self.pushed.update({key: json.loads(json.dumps(value))})
        )
        context: Any = {"dag_run": run, "params": {}, "run_id": "r", "outlet_events": {}, "ti": ti}
        task = LakehouseJobOperator(task_id="job", job="ingest", idle_followers=FOLLOWERS)
        return task.execute(context)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    return Task(tmp_path, monkeypatch)


def test_a_follower_without_work_is_skipped_and_the_result_is_handed_on(task: Task) -> None:
    with pytest.raises(DownstreamTasksSkipped) as raised:
        task.run(tables_to_check=0, others=1, events=3)
    assert raised.value.tasks == ["quality"]
    assert task.pushed["return_value"]["counters"] == {"tables_to_check": 0, "others": 1, "events": 3}


@pytest.mark.parametrize("counters", [{"tables_to_check": 2, "others": 1}, {}], ids=["with work", "not known"])
def test_a_follower_runs_when_there_is_work_or_the_job_does_not_say(task: Task, counters: dict[str, Any]) -> None:
    assert task.run(**counters)["counters"] == counters
    assert task.pushed == {}, "Airflow hands on what a task returns"


def test_after_a_job_that_had_nothing_to_do_all_are_skipped_by_their_rule(task: Task) -> None:
    with pytest.raises(AirflowSkipException):
        task.run(status=NOTHING_TO_DO, tables_to_check=0)
