"""The DAG `snapshot` and a database that a connection of Airflow names: the task that its form starts, run for real."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from local_stack.demos.lake_view import read_with_rust
from local_stack.servers.databases import PASSWORD, USER, Server
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.commands import make_lake_at
from tests.support.operators import run_task
from tests.support.sales_sources import SalesSource

pytestmark = [pytest.mark.services, pytest.mark.hudi]


@pytest.mark.slice(name="databases")
def test_a_table_of_the_form_is_in_the_log(postgresql: Server, tmp_path: Path) -> None:
    source = SalesSource(postgresql, seed=5)
    source.change(400)
    expected = source.rows()
    facts = {"conn_type": "postgres", "host": "127.0.0.1", "port": postgresql.port, "schema": source.database}
    facts |= {"login": USER, "password": PASSWORD, "extra": {"ApplicationName": "lake"}}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW_CONN_LAKEHOUSE_SOURCE_ERP": json.dumps(facts),
        "AIRFLOW_CONN_LAKEHOUSE_SPARK": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT_ROOT / "plugins"),
        "PYTHONPATH": f"{PROJECT_ROOT}:{PROJECT_ROOT / 'plugins'}",
        **make_lake_at(tmp_path),
        "LAKEHOUSE_DRIVER_MEMORY": "1g",
    }
    form = {"table": source.tables, "server_name": "erp", "connection": "lakehouse_source_erp"}
    result = run_task("snapshot", "snapshot", {**form, "partition_column": "SaleId", "parts": 3}, environment)
    assert (result["counters"]["parts"], result["counters"]["has_more"]) == (3, 0)
    logged = read_with_rust(str(tmp_path / "lake" / "sales_log"))
    assert {row["sale_id"]: row["unit_id"] for row in logged} == {key: row["UnitId"] for key, row in expected.items()}
    assert len(logged) == len(expected) > 50
