"""The DAGs: when each of them runs which jobs, and what holds for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.settings import PROJECT_ROOT

DAGS = PROJECT_ROOT / "dags"
LAYERS = ("fast", "stitch", "slow")
OF_SEVERAL_LAKES = {"lake_specs", "lakes"}
"""Files that make no DAG for a lake."""
SERVED = {"serve": "serve", "outcome": None}
CHECKED = {"quality": "validate"}


def test_exactly_these_dags_and_no_errors(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    expected = {
        "ingest_sales",
        "split_sales",
        "fast_layer",
        "stitch_layer",
        "slow_layer",
        "recompute",
        "apply_changes",
        "undo_changes",
        "table_services",
        "savepoints",
        "restore",
        "erase",
        "snapshot",
        "catalog_sync",
        "data_quality",
        "freshness",
    }
    assert set(parsed["dags"]) == expected == set(DAG_IDS)
    assert {path.stem for path in DAGS.glob("*.py")} == expected | OF_SEVERAL_LAKES


def sales_assets() -> Any:
    """Imported where it is used: the provider is no part of what is looked at."""
    from lakehouse_provider.lakes import load_lake

    return load_lake("", {}).assets


def test_another_lake_needs_no_other_dags(parsed: dict[str, Any], parsed_for_the_shop: dict[str, Any]) -> None:
    shop = parsed_for_the_shop
    assert shop["errors"] == {}
    layers = {f"{layer}_layer" for layer in LAYERS}
    assert shop["dags"].keys() == parsed["dags"].keys() - layers, "it has no marts"
    ingest, split = (shop["dags"][f"{job}_sales"]["tasks"][job] for job in ("ingest", "split"))
    assert ingest["outlets"] == ["shop/shop_log", "shop/shop_log/backlog", "shop/shop_quarantine"]
    assert split["inlets"] == ["shop/shop_log"]
    tables = ["shop/customers", "shop/order_lines", "shop/orders", "shop/products"]
    assert split["outlets"] == [*tables, "shop/shop_log/first_split", "shop/shop_log/split"]


def test_parsing_loads_nothing_heavy(parsed: dict[str, Any]) -> None:
    assert parsed["heavy"] == []


@pytest.mark.parametrize(
    ("dag_id", "tasks", "triggers"),
    [
        ("ingest_sales", {"ingest": "ingest", **CHECKED}, ["sales/sales_log/backlog"]),
        ("split_sales", {"split": "split", **CHECKED}, ["sales/sales_log"]),
        (
            "fast_layer",
            {"fast": "mart", **SERVED, **CHECKED},
            ["sales/sales", "sales/sales_log/split", "sales/units"],
        ),
        (
            "stitch_layer",
            {"stitch": "mart", **SERVED, **CHECKED},
            ["sales/sales", "sales/sales_log/split"],
        ),
        ("slow_layer", {"slow": "mart", **SERVED, **CHECKED}, ["sales/sales_log/first_split"]),
        ("recompute", {"plan": "recompute", "approve": None, "apply": "recompute"}, []),
        ("apply_changes", {"plan": "plan", "preview": "preview", "approve": None, "apply": "apply"}, []),
        ("undo_changes", {"plan": "undo", "approve": None, "apply": "undo"}, []),
        ("table_services", {"plan": "services plan", "due": None, "run": "services run"}, []),
        ("data_quality", {"validate": "validate"}, []),
        ("freshness", {"check": "freshness"}, []),
        ("savepoints", {"keep": "savepoint create"}, []),
        ("restore", {"plan": "restore", "approve": None, "apply": "restore"}, []),
        ("erase", {"plan": "erase", "approve": None, "apply": "erase"}, []),
        ("snapshot", {"snapshot": "snapshot"}, []),
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
        assert 1 <= task["hours"] <= 48, "a try that hangs is ended"
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
    assets = sales_assets()
    task = parsed["dags"][f"{layer}_layer"]["tasks"][layer]
    assert task["arguments"]["layer"] == layer
    assert task["interval"] is True
    assert task["outlets"] == sorted(asset.name for asset in assets.layer(layer))
    assert task["inlets"] == sorted(asset.name for asset in assets.layer_sources(layer))


@pytest.mark.parametrize("layer", LAYERS)
def test_live_answers_are_served_also_when_the_layer_had_nothing_to_do_or_failed(
    parsed: dict[str, Any], layer: str
) -> None:
    tasks = parsed["dags"][f"{layer}_layer"]["tasks"]
    assert tasks["serve"]["arguments"] == {"layer": layer}
    assert (tasks["serve"]["after"], tasks["serve"]["rule"]) == ([layer], "all_done")
    assert tasks["serve"]["serving"] == "lakehouse_serving"
    assert (tasks["outcome"]["after"], tasks["outcome"]["rule"]) == (sorted([layer, "serve"]), "one_failed")
    assert tasks["outcome"]["retries"] == 0, "it reports what the others did, and causes no alert beside theirs"


def test_what_looks_at_kafka_knows_its_connection(parsed: dict[str, Any]) -> None:
    tasks = {(dag_id, name): task for dag_id, dag in parsed["dags"].items() for name, task in dag["tasks"].items()}
    assert {place for place, task in tasks.items() if task["kafka"] == "lakehouse_kafka"} == {
        ("ingest_sales", "ingest"),
        ("freshness", "check"),
        ("erase", "apply"),
    }


def test_what_reads_a_database_knows_the_connection_of_the_form(parsed: dict[str, Any]) -> None:
    tasks = {(dag_id, name): task for dag_id, dag in parsed["dags"].items() for name, task in dag["tasks"].items()}
    assert {place: task["source"] for place, task in tasks.items() if task["source"]} == {
        ("snapshot", "snapshot"): "{{ params.connection }}"
    }


@pytest.mark.parametrize("dag_id", DAG_IDS[:5])
def test_a_layers_new_rows_are_checked_when_they_are_there(parsed: dict[str, Any], dag_id: str) -> None:
    tasks = parsed["dags"][dag_id]["tasks"]
    (writer,) = tasks["quality"]["after"]
    assert tasks[writer]["idle_followers"] == {"quality": "tables_to_check"}, "its job knows whether there are any"
    arguments = tasks["quality"]["arguments"]
    tables = {f"sales/{table}" for table in arguments["tables"].split(",")}
    assert arguments["increment"] is True
    assert tasks["quality"]["rule"] == "all_success"
    assert tasks["quality"]["inlets"] == sorted(tables)
    assert tables == set(tasks[writer]["outlets"]) - {
        "sales/quarantine", "sales/sales_log/split", "sales/sales_log/first_split", "sales/sales_log/backlog"
    }  # fmt: skip


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_a_failure_and_a_run_that_is_late_are_alerts(parsed: dict[str, Any], dag_id: str) -> None:
    dag = parsed["dags"][dag_id]
    alerts = {name: task["alerts"] for name, task in dag["tasks"].items()}
    kind = "OngoingAlert" if dag_id == "freshness" else "LakehouseAlert"
    assert alerts == {name: [] if name == "outcome" else [kind] for name in alerts}
    is_of_people = dag_id in ("recompute", "apply_changes", "undo_changes", "restore", "erase", "snapshot")
    assert dag["deadlines"] == ([] if is_of_people else [f"lakehouse_provider.alerts.LateRunAlert {dag_id}"])


def test_every_table_has_one_dag_that_keeps_it_current(parsed: dict[str, Any]) -> None:
    assets = sales_assets()
    written = {
        dag_id: [name for task in dag["tasks"].values() for name in task["outlets"]]
        for dag_id, dag in parsed["dags"].items()
    }
    rewriting = [written.pop(dag_id) for dag_id in ("recompute", "apply_changes", "undo_changes")]
    restored, erased = written.pop("restore"), written.pop("erase")
    quality = assets.quality.name
    written["ingest_sales"].remove(assets.backlog.name)
    written["split_sales"].remove(assets.first_split.name)
    assert written.pop("snapshot") == [name for name in written["ingest_sales"] if name != quality]
    outlets = [name for names in written.values() for name in names if name != quality]
    assert {dag_id for dag_id, names in written.items() if quality in names} == {*DAG_IDS[:5], "data_quality"}
    assert len(outlets) == len(set(outlets))
    assert set(outlets) == {assets[table].name for table in assets.spec.data_tables} | {assets.split.name}
    marts = {asset.name for asset in assets.marts}
    changing = marts | {asset.name for asset in (*assets.tables, *assets.histories)}
    assert [set(names) for names in rewriting] == [marts, changing, changing]
    assert set(restored) == set(erased) == {assets[table].name for table in assets.spec.table_names}


@pytest.mark.parametrize("dag_id", ["recompute", "undo_changes", "restore", "erase"])
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


def test_a_changed_definition_is_applied_only_after_a_plan_and_an_approval(parsed: dict[str, Any]) -> None:
    """Also without a preview, which a person may do without; not when one failed."""
    dag = parsed["dags"]["apply_changes"]
    tasks = dag["tasks"]
    assert {name: (task["after"], task["rule"]) for name, task in tasks.items()} == {
        "plan": ([], "all_success"),
        "preview": (["plan"], "all_success"),
        "approve": (["preview"], "none_failed"),
        "apply": (["approve"], "all_success"),
    }
    assert tasks["approve"]["operator"] == "PlanApprovalOperator"
    assert (tasks["plan"]["one_at_a_time"], tasks["approve"]["one_at_a_time"]) == (1, None)
    assert {name: task["arguments"].get("plan") for name, task in tasks.items() if task["arguments"]} == {
        "plan": None, **dict.fromkeys(("preview", "apply"), "{{ ti.xcom_pull(task_ids='plan')['findings']['plan'] }}")
    }  # fmt: skip
    assert (dag["params"]["dry_run"]["value"], dag["params"]["preview"]["value"]) == (True, True)


@pytest.mark.parametrize("dag_id", ["recompute", "apply_changes", "undo_changes", "restore", "erase"])
def test_a_person_has_a_day_to_answer_before_the_task_is_ended(parsed: dict[str, Any], dag_id: str) -> None:
    assert parsed["dags"][dag_id]["tasks"]["approve"]["hours"] > 24


def test_the_cut_moves_by_the_clock_and_when_a_person_says_so(parsed: dict[str, Any]) -> None:
    moves = parsed["moves"]
    assert {run for run, is_moved in moves.items() if is_moved is True} == {
        "scheduled False", "scheduled True", "asset_triggered True", "backfill True", "manual True"
    }  # fmt: skip
    assert all(is_moved in (True, False) for is_moved in moves.values())


def test_plugins_are_not_executed_file_by_file() -> None:
    assert (PROJECT_ROOT / "plugins" / ".airflowignore").read_text(encoding="utf-8").split() == [
        "lakehouse_provider/",
        "lakehouse_page/",
    ]
    assert sorted(path.name for path in (PROJECT_ROOT / "plugins").glob("*.py")) == ["lakehouse_plugin.py"]


def test_dag_files_are_wiring() -> None:
    for path in DAGS.glob("*.py"):
        assert len(Path(path).read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.parametrize(("name", "is_masked"), [("views", False), ("masked_views", True)])
def test_views_follow_the_sync_also_when_no_table_differed(parsed: dict[str, Any], name: str, is_masked: bool) -> None:
    task = parsed["dags"]["catalog_sync"]["tasks"][name]
    assert (task["after"], task["rule"]) == (["sync"], "none_failed")
    assert task["arguments"] == {"if_configured": True, "masked": is_masked}
