"""Follows the scheduler: starts a DAG and waits until everything that it set off has come to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from local_stack.servers.airflow_api import AirflowApi, DagRun
from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.errors import TransientError

POLL_SECONDS = 1.0
_LOOKERS = frozenset({"freshness"})
"""They run by their clock alone, and are of no flow: what they find is no failure of it."""
LIMIT_SECONDS = 1200.0


class ChainError(TransientError):
    """A run of the chain failed or did not end."""


class Chain:
    """The DAGs in the order in which data flows: ingest, split, then the fast and the stitch layer side by side.

    Assets start the later ones; this only looks. The slow layer is started once, when a new lake has its first tables;
    then it waits for its clock, and ``recompute`` for a person.
    """

    def __init__(self, api: AirflowApi, *, report: Callable[[DagRun], None]) -> None:
        self._api = api
        self._report = report
        self._reported: set[tuple[str, str]] = set()
        self._ids: tuple[str, ...] = ()

    def wait_for_first(self, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait for the run that the scheduler starts by its clock, as it does for a new DAG, and for what follows."""
        deadline = time.monotonic() + limit_seconds
        while not self._api.runs(DAG_IDS[0]):
            if time.monotonic() > deadline:
                raise ChainError(f"the scheduler started no {DAG_IDS[0]} in {limit_seconds:.0f} s; look at the logs")
            time.sleep(POLL_SECONDS)
        self.wait(limit_seconds)

    def run_once(
        self, dag_id: str = DAG_IDS[0], conf: Mapping[str, Any] | None = None, *, limit_seconds: float = LIMIT_SECONDS
    ) -> str:
        """Trigger a DAG and wait for the end of its run and of what follows; gives the run's id."""
        run_id = self._api.trigger(dag_id, conf)
        self.wait(limit_seconds)
        return run_id

    def wait(self, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Wait until nothing runs and nothing is queued. ChainError when a run failed or the limit is over."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            if not self._is_active():
                return
            time.sleep(POLL_SECONDS)
        raise ChainError(f"the DAGs still ran after {limit_seconds:.0f} s; look at Airflow's pages or the logs")

    def _is_active(self) -> bool:
        """One request while a run goes on; when none does, each DAG's queue and runs, so that nothing is overlooked.

        Those are requested in the order of the flow, and queue before runs: no run is missed between two requests.
        """
        newest = [run for run in self._api.runs() if run.dag_id not in _LOOKERS]
        for run in reversed(newest):
            self._look(run)
        if not self._ids:  # a lake has no DAG for a layer without marts
            known = self._api.dag_ids()
            self._ids = tuple(dag_id for dag_id in DAG_IDS if dag_id in known)
        return any(run.is_active for run in newest) or any(map(self._has_work, self._ids))

    def _has_work(self, dag_id: str) -> bool:
        if dag_id in _LOOKERS:
            return False
        if self._api.has_queued_events(dag_id):
            return True
        runs = self._api.runs(dag_id)
        for run in reversed(runs):
            self._look(run)
        return any(run.is_active for run in runs)

    def _look(self, run: DagRun) -> None:
        if run.is_active or (run.dag_id, run.run_id) in self._reported:
            return
        self._reported.add((run.dag_id, run.run_id))
        self._report(run)
        if run.state != "success":
            raise ChainError(f"{run.dag_id} {run.run_id} ended as {run.state}: {self._reason(run)}")

    def _reason(self, run: DagRun) -> str:
        tasks = self._api.tasks(run.dag_id, run.run_id)
        for task in sorted(tasks, key=lambda task: task["state"] != "failed"):
            lines = self._api.task_log(run.dag_id, run.run_id, task["task_id"], task["try_number"])
            return " | ".join(line for line in lines[-12:] if line.strip())[-800:]
        return "it has no task"
