"""A small client of Airflow's REST API; standard library only."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.errors import TransientError

ACTIVE_STATES = ("queued", "running")


class ApiUnreachableError(TransientError):
    """Airflow does not answer (yet)."""


class ApiRefusedError(TransientError):
    """Airflow answered with a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagRun:
    """What is needed of a DAG run."""

    dag_id: str
    run_id: str
    run_type: str
    state: str
    seconds: float

    @property
    def is_active(self) -> bool:
        """True while it waits or runs."""
        return self.state in ACTIVE_STATES


class AirflowApi:
    """Signs in when it first speaks; every method is one question to Airflow."""

    def __init__(self, url: str, *, user: str, password: str) -> None:
        self._url = url
        self._login = {"username": user, "password": password}
        self._token = ""

    def is_healthy(self) -> bool:
        """True when the database, the scheduler and the DAG processor are well."""
        health = self._send("GET", "/api/v2/monitor/health", signed=False)
        return all(health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor"))

    def dag_ids(self) -> set[str]:
        """Ids of the DAGs that Airflow knows; it gives a hundred at a time."""
        found = set[str]()
        while True:
            page = self.get("/api/v2/dags", limit="100", offset=str(len(found)))
            found |= {dag["dag_id"] for dag in page["dags"]}
            if not page["dags"] or len(found) >= page["total_entries"]:
                return found

    def import_errors(self) -> list[str]:
        """Why a DAG file could not be read."""
        return [error["stack_trace"] for error in self.get("/api/v2/importErrors")["import_errors"]]

    def make_connection(self, connection_id: str, facts: Mapping[str, Any]) -> None:
        """Make a connection, as a person does on the page for it."""
        self._send("POST", "/api/v2/connections", {"connection_id": connection_id, **facts})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Start a run now, with what a person would fill into the form; gives its id."""
        body = {"logical_date": None, "conf": dict(conf or {})}
        run_id: str = self._send("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"]
        return run_id

    def runs(self, dag_id: str = "~") -> list[DagRun]:
        """The latest hundred runs of a DAG, or of all together, newest first."""
        answer = self.get(f"/api/v2/dags/{dag_id}/dagRuns", order_by="-run_after", limit="100")
        return [
            DagRun(
                dag_id=run["dag_id"],
                run_id=run["dag_run_id"],
                run_type=run["run_type"],
                state=run["state"],
                seconds=float(run.get("duration") or 0.0),
            )
            for run in answer["dag_runs"]
        ]

    def has_queued_events(self, dag_id: str) -> bool:
        """True when asset events wait to start this DAG."""
        try:
            return bool(self.get(f"/api/v2/dags/{dag_id}/assets/queuedEvents")["total_entries"])
        except ApiRefusedError as error:
            if "404" in str(error):
                return False
            raise

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Task instances of a run."""
        found: list[dict[str, Any]] = self.get(f"/api/v2/dags/{dag_id}/dagRuns/{_quote(run_id)}/taskInstances")[
            "task_instances"
        ]
        return found

    def result(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task returned."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{_quote(run_id)}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.get(path, deserialize="true")["value"]

    def question(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """The question of a task that waits for a person: subject, body, options."""
        detail: dict[str, Any] = self.get(_question_path(dag_id, run_id, task_id))
        return detail

    def answer(self, dag_id: str, run_id: str, task_id: str, option: str) -> None:
        """Choose one of the options of a task that waits for a person."""
        self._send("PATCH", _question_path(dag_id, run_id, task_id), {"chosen_options": [option]})

    def task_log(self, dag_id: str, run_id: str, task_id: str, try_number: int) -> list[str]:
        """The lines that a task instance logged."""
        answer = self.get(f"/api/v2/dags/{dag_id}/dagRuns/{_quote(run_id)}/taskInstances/{task_id}/logs/{try_number}")
        return [line.get("event", "") if isinstance(line, dict) else str(line) for line in answer["content"]]

    def asset_events(self, asset_name: str) -> list[dict[str, Any]]:
        """Events of one asset, oldest first."""
        assets = self.get("/api/v2/assets", name_pattern=asset_name, limit="100")["assets"]
        ids = [asset["id"] for asset in assets if asset["name"] == asset_name]
        if not ids:
            return []
        events: list[dict[str, Any]] = self.get(
            "/api/v2/assets/events", asset_id=str(ids[0]), order_by="timestamp", limit="100"
        )["asset_events"]
        return events

    def get(self, path: str, **query: str) -> Any:
        """The JSON answer of a GET."""
        return self._send("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, signed: bool = True) -> Any:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if signed:
            headers["Authorization"] = f"Bearer {self._sign_in()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)
        for attempt in (1, 2, 3):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code < 500 or attempt == 3:
                    detail = error.read().decode("utf-8", "replace")[:300]
                    raise ApiRefusedError(f"Airflow refused {method} {path} with {error.code}: {detail}") from error
                time.sleep(attempt)
            except (OSError, ValueError) as error:
                raise ApiUnreachableError(
                    f"Airflow does not answer at {self._url} ({error}); is it running?"
                ) from error
        raise ApiUnreachableError(f"Airflow does not answer at {self._url}")

    def _sign_in(self) -> str:
        if not self._token:
            self._token = self._send("POST", "/auth/token", self._login, signed=False)["access_token"]
        return self._token


def _quote(run_id: str) -> str:
    return urllib.parse.quote(run_id, safe="")


def _question_path(dag_id: str, run_id: str, task_id: str) -> str:
    return f"/api/v2/dags/{dag_id}/dagRuns/{_quote(run_id)}/taskInstances/{task_id}/-1/hitlDetails"
