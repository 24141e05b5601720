"""What a job of one of several lakes is given: the settings and connections of its own lake, and of no other.

The lakes are `sales` and `shop`; the job is `spark-submit` as a script that writes down how it was called.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from lakehouse_provider.operators.job import LakehouseJobOperator
from spark_jobs.contracts.settings import PROJECT_ROOT

LAKES = PROJECT_ROOT / "include" / "lakes"
BY_LAKE = {
    "LAKEHOUSE_BASE_PATH__SHOP": "/shops/tables",
    "LAKEHOUSE_MAX_EVENTS__SALES": "11",
    "LAKEHOUSE_MAX_EVENTS__SHOP": "22",
    "LAKEHOUSE_SERVING_URL__SALES": "sqlite:////sales.db",
}


def kafka(name: str) -> str:
    return json.dumps({"conn_type": "kafka", "host": f"broker-of-{name}"})


@pytest.fixture
def env_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file in which the job writes its environment."""
    script, env_file = tmp_path / "submit", tmp_path / "env"
    script.write_text(f"#!/bin/sh\nenv > {env_file}\nexit 2\n", encoding="utf-8")
    script.chmod(0o755)
    extra = {"spark-binary": str(script), "jars": "provided"}
    connection = {"conn_type": "spark", "host": "local[1]", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_KAFKA", kafka("all"))
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_KAFKA_SHOP", kafka("shop"))
    monkeypatch.setenv("LAKEHOUSE_LAKES", str(LAKES))
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "base"))
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", str(tmp_path / "landing"))
    for name, value in BY_LAKE.items():
        monkeypatch.setenv(name, value)
    return env_file


def given(env_file: Path, lake: str, **options: Any) -> dict[str, str]:
    """The settings that a job of the lake is given."""
    run = SimpleNamespace(run_type="manual", start_date=datetime(2026, 3, 1, 12, tzinfo=UTC), logical_date=None)
    context: Any = {"dag_run": run, "params": {}, "run_id": "r", "outlet_events": {}}
    with pytest.raises(AirflowFailException, match="cannot work until someone changes something"):
        LakehouseJobOperator(task_id="job", job="ingest", lake=lake, **options).execute(context)
    lines = (line.partition("=") for line in env_file.read_text(encoding="utf-8").splitlines())
    return {name: value for name, _, value in lines if name.startswith("LAKEHOUSE_")}


@pytest.mark.parametrize(
    ("lake", "base", "most"), [("sales", "{root}/base/sales", "11"), ("shop", "/shops/tables", "22")]
)
def test_a_job_has_the_settings_of_its_lake_and_of_no_other(env_file: Path, lake: str, base: str, most: str) -> None:
    found = given(env_file, lake)
    assert found["LAKEHOUSE_BASE_PATH"] == base.format(root=env_file.parent)
    assert found["LAKEHOUSE_LANDING_PATH"] == f"{env_file.parent}/landing/{lake}"
    assert found["LAKEHOUSE_LAKE_SPEC"] == str(LAKES / f"{lake}.yaml")
    assert found["LAKEHOUSE_MAX_EVENTS"] == most
    assert not [name for name in found if "__" in name or name in ("LAKEHOUSE_LAKES", "LAKEHOUSE_LAKE")]


@pytest.mark.parametrize(("lake", "broker"), [("sales", "broker-of-all:9092"), ("shop", "broker-of-shop:9092")])
def test_a_job_reads_the_kafka_of_its_lake_else_the_shared_one(env_file: Path, lake: str, broker: str) -> None:
    assert given(env_file, lake, kafka_conn_id="lakehouse_kafka")["LAKEHOUSE_KAFKA_SERVERS"] == broker


def test_a_store_without_a_connection_is_the_one_of_the_lakes_settings(env_file: Path) -> None:
    of_sales = given(env_file, "sales", serving_conn_id="lakehouse_serving")
    assert of_sales["LAKEHOUSE_SERVING_URL"] == "sqlite:////sales.db"
    assert "LAKEHOUSE_SERVING_URL" not in given(env_file, "shop", serving_conn_id="lakehouse_serving_shop")


def test_a_lake_may_have_an_engine_of_its_own(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_LAKEHOUSE_SPARK")
    shared = {"conn_type": "spark", "host": "local[1]"}
    extra = {"spark-binary": str(env_file.with_name("submit")), "jars": "provided"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK_SHOP", json.dumps({**shared, "extra": extra}))
    assert given(env_file, "shop")["LAKEHOUSE_MAX_EVENTS"] == "22"
    with pytest.raises(AirflowNotFoundException, match="lakehouse_spark`"):
        given(env_file, "sales")


def test_a_task_of_a_lake_where_the_folder_is_not_set_fails_for_good(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAKEHOUSE_LAKES")
    context: Any = {"dag_run": SimpleNamespace(run_type="manual"), "params": {}}
    with pytest.raises(AirflowFailException, match="LAKEHOUSE_LAKES is not set; set it where jobs run too"):
        LakehouseJobOperator(task_id="job", job="ingest", lake="shop").execute(context)
    assert not env_file.exists()
