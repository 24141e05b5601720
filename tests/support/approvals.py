"""Runs of DAGs that plan, wait for a person's approval and apply, in a real Airflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.e2e.stack.conftest import Running


def states(running: Running, dag_id: str, run_id: str) -> dict[str, str]:
    """The state of each task."""
    return {task["task_id"]: task["state"] for task in running.stack.airflow.api.tasks(dag_id, run_id)}


def run_to_approval(running: Running, dag_id: str, conf: Mapping[str, Any]) -> str:
    """Start a run and wait until it needs a person's approval."""
    run_id = running.stack.airflow.api.trigger(dag_id, conf)
    wait_until(
        lambda: states(running, dag_id, run_id).get("approve") == "awaiting_input",
        "it waits for a person",
        limit_seconds=600,
    )
    return run_id


def decide(running: Running, dag_id: str, run_id: str, option: str) -> None:
    """Answer, and see the run to its end.

    Not at once, as no person would: when the answer comes before Airflow 3.3's scheduler has noticed that the task
    waits, it takes the try for a lost one, and retries or fails the run.
    """
    log = running.stack.folder.log("scheduler")
    wait_until(lambda: _has_noticed(log, run_id), "the scheduler has noticed that the task waits", limit_seconds=300)
    api = running.stack.airflow.api

    def is_decided() -> bool:
        state = states(running, dag_id, run_id).get("approve")
        if state == "awaiting_input" and not api.question(dag_id, run_id, "approve")["response_received"]:
            api.answer(dag_id, run_id, "approve", option)
        return state in ("success", "failed", "skipped")

    wait_until(is_decided, "the answer is taken", limit_seconds=300)
    running.chain.wait()


def _has_noticed(scheduler_log: Path, run_id: str) -> bool:
    words = ("Received executor event with state success", "task_id='approve'", f"run_id='{run_id}'")
    with scheduler_log.open(encoding="utf-8", errors="replace") as lines:
        return any(all(word in line for word in words) for line in lines)
