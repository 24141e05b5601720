"""The operator with the real command line: what each way of ending means to Airflow. No Spark is needed for these.

`generate` needs no Spark; `split` against a port where nothing listens is a transient failure.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from lakehouse_provider.operators.job import LakehouseJobOperator
from local_stack.services import free_port

CLOCK = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Run:
    run_type: str = "manual"
    start_date: datetime = CLOCK
    logical_date: datetime | None = None


@dataclass
class Events:
    extra: dict[str, Any] = field(default_factory=dict)


def context(run_type: str = "manual") -> Any:
    return {"dag_run": Run(run_type), "params": {}, "run_id": "r", "outlet_events": {}, "triggering_asset_events": {}}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    connection = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": free_port()}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
    for name in ("base", "landing"):
        monkeypatch.setenv(f"LAKEHOUSE_{name.upper()}_PATH", str(tmp_path / name))
    return tmp_path


def operator(job: str = "generate", **arguments: Any) -> LakehouseJobOperator:
    return LakehouseJobOperator(task_id="job", job=job, arguments=arguments)


def test_gives_the_result_and_runs_with_the_runs_clock(settings: Path) -> None:
    result = operator(events=20, seed=3, topic="").execute(context())
    assert (result["job"], result["status"], result["clock"]) == ("generate", "done", "2026-03-01T12:00:00Z")
    assert result["counters"]["events"] == 20
    assert list((settings / "landing").rglob("*.jsonl"))


def test_exit_2_is_not_retried() -> None:
    with pytest.raises(AirflowFailException, match=r"generate cannot work until someone changes something: .*--events"):
        operator(events=0).execute(context())


def test_exit_1_may_be_retried() -> None:
    with pytest.raises(AirflowException, match="no Spark Connect server answers") as raised:
        operator("split").execute(context())
    assert not isinstance(raised.value, AirflowFailException)


def test_a_wrong_connection_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps({"conn_type": "http", "host": "x"}))
    with pytest.raises(AirflowFailException, match="type 'http'"):
        operator().execute(context())


def test_a_clock_tick_is_skipped_where_data_is_awaited() -> None:
    waiting = LakehouseJobOperator(task_id="job", job="generate", runs_by_clock=False)
    with pytest.raises(AirflowSkipException, match="waits for its data"):
        waiting.execute(context("scheduled"))


def test_a_stopped_task_ends_its_job() -> None:
    task = operator(events=50_000_000)
    threading.Timer(3.0, task.on_kill).start()
    begun = time.monotonic()
    with pytest.raises(AirflowException, match="was stopped with its task"):
        task.execute(context())
    assert time.monotonic() - begun < 30
