"""The DAG files as Airflow reads them, in a process of its own: what is imported there is a fact to test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT

DAGS = PROJECT_ROOT / "dags"
PROBE = """
import json, sys
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(dag_folder=sys.argv[1])
facts = {}
for dag_id, dag in bag.dags.items():
    task, = dag.tasks
    timetable = DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable
    facts[dag_id] = {
        "file": Path(dag.fileloc).name,
        "doc": dag.doc_md,
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "operator": type(task).__name__,
        "task": task.task_id,
        "job": task.job,
        "retries": task.retries,
        "delay": task.retry_delay.total_seconds(),
        "one_at_a_time": task.max_active_tis_per_dag,
        "inlets": sorted(a.name for a in task.inlets),
        "outlets": sorted(a.name for a in task.outlets),
        "params": sorted(dag.params),
        "periodic": timetable.periodic,
        "triggers": sorted(k.name for k, _ in timetable.asset_condition.iter_assets()),
    }
heavy = sorted({"pyspark", "pandas", "numpy", "pyarrow", "grpc", "great_expectations"} & set(sys.modules))
print(json.dumps({"dags": facts, "errors": bag.import_errors, "heavy": heavy}))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("airflow")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT_ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(DAGS)], env=environment, cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def test_exactly_these_dags_and_no_errors(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    assert set(parsed["dags"]) == {"ingest_sales", "split_sales", "fast_layer"}
    assert {path.stem for path in DAGS.glob("*.py")} == set(parsed["dags"])


def test_parsing_loads_nothing_heavy(parsed: dict[str, Any]) -> None:
    assert parsed["heavy"] == []


@pytest.mark.parametrize(
    ("dag_id", "job", "triggers"),
    [
        ("ingest_sales", "ingest", []),
        ("split_sales", "split", ["sales/sales_log"]),
        ("fast_layer", "fast", ["sales/sales", "sales/sales_log/split", "sales/units"]),
    ],
)
def test_each_dag_runs_one_job_when_its_data_is_there(
    parsed: dict[str, Any], dag_id: str, job: str, triggers: list[str]
) -> None:
    dag = parsed["dags"][dag_id]
    assert (dag["operator"], dag["task"], dag["job"]) == ("LakehouseJobOperator", job, job)
    assert dag["triggers"] == triggers


@pytest.mark.parametrize("dag_id", ["ingest_sales", "split_sales", "fast_layer"])
def test_each_dag_keeps_the_house_rules(parsed: dict[str, Any], dag_id: str) -> None:
    dag = parsed["dags"][dag_id]
    assert dag["file"] == f"{dag_id}.py"
    assert dag["doc"].startswith("### ")
    assert dag["catchup"] is False
    assert dag["max_active_runs"] == 1
    assert dag["one_at_a_time"] == 1, "a backfill's own --max-active-runs must not give a table two writers"
    assert (dag["retries"], dag["delay"]) == (3, 10.0)
    assert dag["periodic"], "airflow backfill create refuses it"


def test_every_table_has_one_dag_that_writes_it(parsed: dict[str, Any]) -> None:
    from lakehouse_provider.assets import load_assets

    outlets = [name for dag in parsed["dags"].values() for name in dag["outlets"]]
    assert len(outlets) == len(set(outlets))
    assets = load_assets()
    assert set(outlets) == {assets[table].name for table in assets.spec.table_names} | {assets.split.name}


def test_plugins_are_not_executed_file_by_file() -> None:
    assert (PROJECT_ROOT / "plugins" / ".airflowignore").read_text(encoding="utf-8").split() == ["lakehouse_provider/"]
    assert sorted(path.name for path in (PROJECT_ROOT / "plugins").glob("*.py")) == ["lakehouse_plugin.py"]


def test_dag_files_are_wiring() -> None:
    for path in DAGS.glob("*.py"):
        assert len(Path(path).read_text(encoding="utf-8").splitlines()) < 120
