"""Which task of Airflow a process works for, by the variables that Airflow sets for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

TASK_VARIABLES = {
    "dag_id": "AIRFLOW_CTX_DAG_ID",
    "run_id": "AIRFLOW_CTX_DAG_RUN_ID",
    "task_id": "AIRFLOW_CTX_TASK_ID",
}
_LONGEST = 250
"""Of an id, as Airflow has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """A task of a run of a DAG: names alone, no parameter and no user."""

    dag_id: str
    run_id: str
    task_id: str

    @property
    def as_json(self) -> str:
        """As commits keep it."""
        return json.dumps(asdict(self))


def current_task(environ: Mapping[str, str] = os.environ) -> TaskRun | None:
    """The task that this process works for; None in a shell."""
    return _task({name: environ.get(variable, "") for name, variable in TASK_VARIABLES.items()})


def parse_task(text: str | None) -> TaskRun | None:
    """What a commit says of it; None when that is nothing, or nothing that this library writes."""
    try:
        found = json.loads(text or "null")
    except ValueError:
        return None
    return _task(found) if isinstance(found, dict) else None


def _task(found: Mapping[str, object]) -> TaskRun | None:
    names = [found.get(name) for name in TASK_VARIABLES]
    if not all(isinstance(each, str) and 0 < len(each) <= _LONGEST for each in names):
        return None
    dag_id, run_id, task_id = map(str, names)
    return TaskRun(dag_id=dag_id, run_id=run_id, task_id=task_id)
