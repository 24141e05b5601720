"""Several lakes in one Airflow: each DAG file makes one DAG for each, and none of them has anything of another's.

The folder has `sales`, `shop` (mirrors and no marts, with the pool `shop_pool`) and `torn`, whose spec has a number for
a name in line 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spark_jobs.contracts.dag_ids import DAG_IDS

SHOP_IDS = {
    *("shop_ingest", "shop_split", "shop_recompute", "shop_table_services", "shop_savepoints", "shop_restore"),
    *("shop_apply_changes", "shop_undo_changes"),
    *("shop_erase", "shop_snapshot", "shop_catalog_sync", "shop_data_quality", "shop_freshness"),
}
SALES_IDS = {
    *("ingest_sales", "split_sales", "fast_layer", "stitch_layer", "slow_layer"),
    *("recompute", "table_services", "savepoints", "restore", "erase", "snapshot", "catalog_sync"),
    *("apply_changes", "undo_changes", "data_quality", "freshness"),
}


def of_lake(parsed_for_lakes: dict[str, Any], lake: str) -> dict[str, Any]:
    ids = {"sales": SALES_IDS, "shop": SHOP_IDS}[lake]
    return {dag_id: dag for dag_id, dag in parsed_for_lakes["dags"].items() if dag_id in ids}


def test_each_lake_has_its_dags_and_sales_those_it_always_had(
    parsed: dict[str, Any], parsed_for_lakes: dict[str, Any]
) -> None:
    assert set(parsed_for_lakes["dags"]) == SALES_IDS | SHOP_IDS | {"lakes"}
    assert set(parsed["dags"]) == SALES_IDS == set(DAG_IDS)


def test_a_broken_spec_is_an_import_error_with_its_line_and_takes_no_other_lake_down(
    parsed_for_lakes: dict[str, Any],
) -> None:
    ((file, error),) = parsed_for_lakes["errors"].items()
    assert Path(file).name == "lake_specs.py"
    assert "torn.yaml:4: lake: quarantine is 7; give text" in error
    assert "shop" not in error.replace("pytest", "")


def test_a_lake_that_has_no_dag_to_report_it_is_reported_by_another_one(parsed_for_lakes: dict[str, Any]) -> None:
    dag = parsed_for_lakes["dags"]["lakes"]
    assert (dag["file"], dag["periodic"], dag["triggers"]) == ("lakes.py", True, [])
    (check,) = dag["tasks"].values()
    assert (check["alerts"], check["describe_verdicts"], check["retries"]) == (["OngoingAlert"], [""], 0)
    assert [late["title"] for late in dag["late"]] == ["lakes is late"]


def test_parsing_several_lakes_loads_nothing_heavy(parsed_for_lakes: dict[str, Any]) -> None:
    assert parsed_for_lakes["heavy"] == []


def test_what_sales_does_is_the_same_beside_other_lakes(
    parsed: dict[str, Any], parsed_for_lakes: dict[str, Any]
) -> None:
    """But for the tag, and for whose alerts they are."""
    for dag_id, dag in of_lake(parsed_for_lakes, "sales").items():
        alone = parsed["dags"][dag_id]
        assert dag["tags"] == sorted([*alone["tags"], "sales"])
        for name, task in dag["tasks"].items():
            own = {"lake": "sales" if task["job"] else "", "describe_verdicts": ["sales"] * len(task["alerts"])}
            assert task == {**alone["tasks"][name], **own}, (dag_id, name)
        same = ("file", "doc", "params", "backfilled", "triggers", "periodic", "deadlines")
        assert {name: dag[name] for name in same} == {name: alone[name] for name in same}


def test_no_dag_has_anything_of_another_lake(parsed_for_lakes: dict[str, Any]) -> None:
    for lake in ("sales", "shop"):
        dags = of_lake(parsed_for_lakes, lake)
        assert len(dags) > 10
        for dag_id, dag in dags.items():
            assert lake in dag["tags"]
            assert {late["lake"] for late in dag["late"]} <= {lake}
            assert {late["title"] for late in dag["late"]} <= {f"{dag_id} is late"}
            tasks = dag["tasks"]
            assets = [name for task in tasks.values() for name in [*task["inlets"], *task["outlets"]]]
            assert {name.partition("/")[0] for name in [*assets, *dag["triggers"]]} <= {lake}, dag_id
            assert {of for task in tasks.values() for of in task["describe_verdicts"]} <= {lake}, dag_id
            jobs = {name: task["lake"] for name, task in tasks.items() if task["job"]}
            assert jobs == dict.fromkeys(jobs, lake), dag_id


def test_outlets_pools_and_stores_of_two_lakes_are_disjoint(parsed_for_lakes: dict[str, Any]) -> None:
    found: dict[str, dict[str, set[str]]] = {}
    for lake in ("sales", "shop"):
        tasks = [task for dag in of_lake(parsed_for_lakes, lake).values() for task in dag["tasks"].values()]
        found[lake] = {
            "outlets": {name for task in tasks for name in task["outlets"]},
            "pools": {task["pool"] for task in tasks},
            "stores": {task["serving"] for task in tasks if task["serving"]},
        }
    for what, of_sales in found["sales"].items():
        assert of_sales, what
        assert found["shop"][what], what
        assert of_sales.isdisjoint(found["shop"][what]), what
    assert found["shop"]["pools"] == {"shop_pool"}


def test_another_lakes_dags_can_be_backfilled_like_those_of_sales(parsed_for_lakes: dict[str, Any]) -> None:
    dags = parsed_for_lakes["dags"]
    for own, of_sales in (
        ("shop_split", "split_sales"),
        ("shop_ingest", "ingest_sales"),
        ("shop_recompute", "recompute"),
    ):
        assert dags[own]["periodic"]
        assert dags[own]["backfilled"] == dags[of_sales]["backfilled"]
    for task, words in parsed_for_lakes["runs"]["shop_split backfill"].items():
        dates = [word for word in words if word.startswith("--interval")]
        whole_day = ["--interval-start=2026-03-01T00:00:00Z", "--interval-end=2026-03-02T00:00:00Z"]
        assert dates == (whole_day if task == "split" else [])


def test_another_lakes_pages_say_whose_they_are_and_how_its_own_dag_is_backfilled(
    parsed_for_lakes: dict[str, Any],
) -> None:
    page = parsed_for_lakes["dags"]["shop_split"]["doc"]
    assert page.startswith("### ")
    assert "Of the lake `shop`" in page
    for dag_id, dag in of_lake(parsed_for_lakes, "shop").items():
        assert not [name for name in ("`ingest_sales`", "`split_sales`", "--dag-id split") if name in dag["doc"]], (
            dag_id
        )
    assert "--dag-id shop_ingest " in parsed_for_lakes["dags"]["shop_ingest"]["doc"]


def test_the_form_of_another_lakes_snapshot_takes_its_connections_alone(parsed_for_lakes: dict[str, Any]) -> None:
    connection = parsed_for_lakes["dags"]["shop_snapshot"]["params"]["connection"]
    assert connection["value"] == "lakehouse_source_shop"
    assert connection["schema"]["pattern"].startswith("^lakehouse_source_shop(")
