"""The task that a process works for, and what commits keep of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.task_runs import TASK_VARIABLES, TaskRun, current_task, parse_task

IDS = st.text(min_size=1, max_size=250)


@given(dag=IDS, run=IDS, task=IDS)
def test_a_commit_says_what_airflow_said(dag: str, run: str, task: str) -> None:
    found = current_task(dict(zip(TASK_VARIABLES.values(), (dag, run, task), strict=True)))
    assert found == TaskRun(dag_id=dag, run_id=run, task_id=task)
    assert parse_task(found.as_json) == found


@pytest.mark.parametrize("missing", TASK_VARIABLES.values())
def test_a_part_of_it_is_nothing(missing: str) -> None:
    environ = dict.fromkeys(TASK_VARIABLES.values(), "x")
    assert current_task(environ) is not None
    assert current_task({**environ, missing: ""}) is None
    assert current_task({**environ, missing: "x" * 251}) is None


@pytest.mark.parametrize(
    "text", [None, "", "{", "7", "[]", '"x"', "{}", json.dumps({"dag_id": "a", "run_id": "b", "task_id": 7})]
)
def test_what_is_no_task_in_a_commit_is_none(text: str | None) -> None:
    assert parse_task(text) is None
