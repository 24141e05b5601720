"""The DAG files as Airflow reads them, in a process of its own: what is imported there is a fact to test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_stack.airflow_home import DAG_IDS
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.hostile_names import HOSTILE

DAGS = PROJECT_ROOT / "dags"
PROBE = """
import json, sys
from datetime import datetime, UTC
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(dag_folder=sys.argv[1])
facts = {}
def takes(param):
    taken = []
    for name in json.loads(sys.argv[2]):
        try:
            param.resolve(name)
        except ParamValidationError:
            continue
        taken.append(name)
    return taken
for dag_id, dag in bag.dags.items():
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    infos = stored.iter_dagrun_infos_between(datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    facts[dag_id] = {
        "file": Path(dag.fileloc).name,
        "doc": dag.doc_md,
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "params": {name: dag.params.get_param(name).serialize() for name in dag.params},
        "takes": {name: takes(dag.params.get_param(name)) for name in dag.params},
        "periodic": stored.timetable.periodic,
        "backfilled": [info.logical_date.isoformat() for info in infos][:10],
        "triggers": sorted(k.name for k, _ in stored.timetable.asset_condition.iter_assets()),
        "tasks": {
            task.task_id: {
                "operator": type(task).__name__,
                "job": getattr(task, "job", None) or getattr(task, "partial_kwargs", {}).get("job"),
                "arguments": getattr(task, "arguments", None),
                "interval": getattr(task, "reads_interval", None),
                "serving": getattr(task, "serving_conn_id", None),
                "retries": task.retries,
                "delay": task.retry_delay.total_seconds(),
                "one_at_a_time": task.max_active_tis_per_dag,
                "rule": task.trigger_rule,
                "after": sorted(task.upstream_task_ids),
                "inlets": sorted(a.name for a in task.inlets),
                "outlets": sorted(a.name for a in task.outlets),
            }
            for task in dag.tasks
        },
    }
from types import SimpleNamespace
from airflow.utils.types import DagRunType
moves = {}
for kind in ("scheduled", "asset_triggered", "backfill", "manual"):
    for wish in (False, True):
        task = bag.dags["stitch_layer"].get_task("stitch").prepare_for_execution()
        run = SimpleNamespace(run_type=DagRunType(kind))
        task.render_template_fields({"params": {"move_cut": wish}, "dag_run": run}, task.get_template_env())
        moves[f"{kind} {wish}"] = task.arguments["move_cut"]
heavy = sorted({"pyspark", "pandas", "numpy", "pyarrow", "grpc", "great_expectations", "sqlglot"} & set(sys.modules))
print(json.dumps({"dags": facts, "moves": moves, "errors": bag.import_errors, "heavy": heavy}))
"""
LAYERS = ("fast", "stitch", "slow")


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
    command = [sys.executable, "-c", PROBE, str(DAGS), json.dumps(list(HOSTILE.values()))]
    done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def test_exactly_these_dags_and_no_errors(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    expected = {
        "ingest_sales",
        "split_sales",
        "fast_layer",
        "stitch_layer",
        "slow_layer",
        "recompute",
        "table_services",
        "savepoints",
        "restore",
        "erase",
        "catalog_sync",
    }
    assert set(parsed["dags"]) == expected == set(DAG_IDS)
    assert {path.stem for path in DAGS.glob("*.py")} == expected


def test_parsing_loads_nothing_heavy(parsed: dict[str, Any]) -> None:
    assert parsed["heavy"] == []


@pytest.mark.parametrize(
    ("dag_id", "tasks", "triggers"),
    [
        ("ingest_sales", {"ingest": "ingest"}, []),
        ("split_sales", {"split": "split"}, ["sales/sales_log"]),
        ("fast_layer", {"fast": "mart", "serve": "serve"}, ["sales/sales", "sales/sales_log/split", "sales/units"]),
        ("stitch_layer", {"stitch": "mart", "serve": "serve"}, ["sales/sales", "sales/sales_log/split"]),
        ("slow_layer", {"slow": "mart"}, []),
        ("recompute", {"plan": "recompute", "approve": None, "apply": "recompute"}, []),
        ("table_services", {"plan": "services plan", "due": None, "run": "services run"}, []),
        ("savepoints", {"keep": "savepoint create"}, []),
        ("restore", {"plan": "restore", "approve": None, "apply": "restore"}, []),
        ("erase", {"plan": "erase", "approve": None, "apply": "erase"}, []),
        (
            "catalog_sync",
            {"sync": "sync apply", "views": "views apply", "masked_views": "views apply"},
            [],
        ),
    ],
)
def test_each_dag_runs_its_jobs_when_its_data_is_there(
    parsed: dict[str, Any], dag_id: str, tasks: dict[str, str | None], triggers: list[str]
) -> None:
    dag = parsed["dags"][dag_id]
    assert {name: task["job"] for name, task in dag["tasks"].items()} == tasks
    assert dag["triggers"] == triggers


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_each_dag_keeps_the_house_rules(parsed: dict[str, Any], dag_id: str) -> None:
    dag = parsed["dags"][dag_id]
    assert dag["file"] == f"{dag_id}.py"
    assert dag["doc"].startswith("### ")
    assert dag["catchup"] is False
    assert dag["max_active_runs"] == 1
    for task in dag["tasks"].values():
        if task["operator"] == "LakehouseJobOperator":
            assert task["one_at_a_time"] == 1, "a backfill's own --max-active-runs must not give a table two writers"
            assert (task["retries"], task["delay"]) == (3, 10.0)


@pytest.mark.parametrize(
    ("dag_id", "dates"),
    [
        *((dag_id, ["02-27", "02-28", "03-01", "03-02"]) for dag_id in DAG_IDS[1:5]),
        ("recompute", ["03-01"]),
    ],
)
def test_a_backfill_has_a_run_for_each_date_up_to_the_last(
    parsed: dict[str, Any], dag_id: str, dates: list[str]
) -> None:
    dag = parsed["dags"][dag_id]
    assert dag["periodic"], "airflow backfill create refuses it"
    assert dag["backfilled"] == [f"2026-{date}T00:00:00+00:00" for date in dates]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layers_task_writes_its_marts_and_reads_its_dates(parsed: dict[str, Any], layer: str) -> None:
    from lakehouse_provider.assets import load_assets

    assets = load_assets()
    task = parsed["dags"][f"{layer}_layer"]["tasks"][layer]
    assert task["arguments"]["layer"] == layer
    assert task["interval"] is True
    assert task["outlets"] == sorted(asset.name for asset in assets.layer(layer))
    assert task["inlets"] == sorted(asset.name for asset in assets.layer_sources(layer))


@pytest.mark.parametrize("layer", ["fast", "stitch"])
def test_live_answers_are_served_also_when_the_layer_had_nothing_to_do(parsed: dict[str, Any], layer: str) -> None:
    task = parsed["dags"][f"{layer}_layer"]["tasks"]["serve"]
    assert task["arguments"] == {"layer": layer}
    assert (task["after"], task["rule"]) == ([layer], "none_failed")
    assert task["serving"] == "lakehouse_serving"


def test_every_table_has_one_dag_that_keeps_it_current(parsed: dict[str, Any]) -> None:
    from lakehouse_provider.assets import load_assets

    assets = load_assets()
    written = {
        dag_id: [name for task in dag["tasks"].values() for name in task["outlets"]]
        for dag_id, dag in parsed["dags"].items()
    }
    rewritten, restored, erased = written.pop("recompute"), written.pop("restore"), written.pop("erase")
    outlets = [name for names in written.values() for name in names]
    assert len(outlets) == len(set(outlets))
    assert set(outlets) == {assets[table].name for table in assets.spec.table_names} | {assets.split.name}
    assert set(rewritten) == {asset.name for asset in assets.marts}
    assert set(restored) == set(erased) == {assets[table].name for table in assets.spec.table_names}


@pytest.mark.parametrize("dag_id", ["recompute", "restore", "erase"])
def test_history_is_rewritten_only_after_a_plan_and_an_approval(parsed: dict[str, Any], dag_id: str) -> None:
    tasks = parsed["dags"][dag_id]["tasks"]
    assert {name: task["after"] for name, task in tasks.items()} == {
        "plan": [], "approve": ["plan"], "apply": ["approve"]
    }  # fmt: skip
    assert {task["rule"] for task in tasks.values()} == {"all_success"}
    assert tasks["approve"]["operator"] == "PlanApprovalOperator"
    assert "yes" not in tasks["plan"]["arguments"]
    assert tasks["apply"]["arguments"] == {**tasks["plan"]["arguments"], "yes": True}
    assert parsed["dags"][dag_id]["params"]["dry_run"]["value"] is True


def test_the_form_of_recompute_asks_what_to_compute(parsed: dict[str, Any]) -> None:
    params = parsed["dags"]["recompute"]["params"]
    assert list(params) == ["layer", "mart", "rules", "from", "to", "dry_run"]
    assert (params["layer"]["value"], params["layer"]["schema"]["enum"]) == ("slow", sorted(LAYERS))
    rules = sorted(path.stem for path in (PROJECT_ROOT / "include" / "rules").glob("*.yaml"))
    assert len(rules) >= 2
    assert params["rules"]["schema"]["enum"] == [None, *rules]
    assert {"stitch_agent_contracts", "slow_agent_performance", None} <= set(params["mart"]["schema"]["enum"])
    assert {params[name]["schema"]["format"] for name in ("from", "to")} == {"date"}
    assert params["dry_run"]["value"] is True
    assert all(param["schema"]["title"] and param["description"] for param in params.values())


def test_the_cut_moves_by_the_clock_and_when_a_person_says_so(parsed: dict[str, Any]) -> None:
    moves = parsed["moves"]
    assert {run for run, is_moved in moves.items() if is_moved is True} == {
        "scheduled False", "scheduled True", "asset_triggered True", "backfill True", "manual True"
    }  # fmt: skip
    assert all(is_moved in (True, False) for is_moved in moves.values())


def test_plugins_are_not_executed_file_by_file() -> None:
    assert (PROJECT_ROOT / "plugins" / ".airflowignore").read_text(encoding="utf-8").split() == ["lakehouse_provider/"]
    assert sorted(path.name for path in (PROJECT_ROOT / "plugins").glob("*.py")) == ["lakehouse_plugin.py"]


def test_dag_files_are_wiring() -> None:
    for path in DAGS.glob("*.py"):
        assert len(Path(path).read_text(encoding="utf-8").splitlines()) < 120


def test_the_form_of_erase_asks_for_one_kind_of_people_each(parsed: dict[str, Any]) -> None:
    dag = parsed["dags"]["erase"]
    assert list(dag["params"]) == ["agent", "customer", "dry_run"]
    assert dag["tasks"]["plan"]["arguments"] == {
        "agent": "{{ params['agent'] or '' }}",
        "customer": "{{ params['customer'] or '' }}",
    }
    assert dag["tasks"]["apply"]["serving"] == "lakehouse_serving"


def test_no_form_takes_a_hostile_name(parsed: dict[str, Any]) -> None:
    """By the schema that Airflow itself checks, on the page and behind the API."""
    taken = {
        (dag_id, name): names for dag_id, dag in parsed["dags"].items() for name, names in dag["takes"].items() if names
    }
    assert taken == {}
    assert sum(len(dag["takes"]) for dag in parsed["dags"].values()) > 10


@pytest.mark.parametrize(("name", "is_masked"), [("views", False), ("masked_views", True)])
def test_views_follow_the_sync_also_when_no_table_differed(parsed: dict[str, Any], name: str, is_masked: bool) -> None:
    task = parsed["dags"]["catalog_sync"]["tasks"][name]
    assert (task["after"], task["rule"]) == (["sync"], "none_failed")
    assert task["arguments"] == {"if_configured": True, "masked": is_masked}
