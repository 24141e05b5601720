"""The forms of the DAGs: their fields, and what they do not take."""

from __future__ import annotations

from typing import Any

from spark_jobs.contracts.settings import PROJECT_ROOT

LAYERS = ("fast", "stitch", "slow")


def test_the_form_of_recompute_has_fields_for_what_to_compute(parsed: dict[str, Any]) -> None:
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


def test_the_form_of_changes_offers_every_mart_and_table_and_several_of_them(parsed: dict[str, Any]) -> None:
    params = parsed["dags"]["apply_changes"]["params"]
    assert list(params) == ["marts", "tables", "preview", "samples", "dry_run"]
    marts = params["marts"]["schema"]
    assert marts["items"]["enum"] == marts["examples"]
    assert {"stitch_agent_days", "stitch_agent_contracts", "slow_milestones"} <= set(marts["examples"])
    tables = params["tables"]["schema"]
    assert tables["items"]["enum"] == tables["examples"]
    assert {"agents", "sales"} <= set(tables["examples"])
    assert {name: param["value"] for name, param in params.items()} == {
        "marts": None, "tables": None, "preview": True, "samples": 0, "dry_run": True
    }  # fmt: skip
    assert all(param["schema"]["title"] and param["description"] for param in params.values())
    assert list(parsed["dags"]["undo_changes"]["params"]) == ["plan", "dry_run"]


def test_the_form_of_erase_has_a_field_for_each_kind_of_people(parsed: dict[str, Any]) -> None:
    dag = parsed["dags"]["erase"]
    assert list(dag["params"]) == ["agent", "customer", "dry_run"]
    assert dag["tasks"]["plan"]["arguments"] == {
        "agent": "{{ params['agent'] or '' }}",
        "customer": "{{ params['customer'] or '' }}",
    }
    assert dag["tasks"]["apply"]["serving"] == "lakehouse_serving"


def test_the_form_of_snapshot_requires_the_table_and_its_database(parsed: dict[str, Any]) -> None:
    params = parsed["dags"]["snapshot"]["params"]
    must = {name for name, param in params.items() if param["value"] is None and param["schema"]["type"] == "string"}
    assert must == {"table", "server_name"}
    assert params["connection"]["value"] == "lakehouse_source"
    assert params["decimals"]["schema"]["enum"] == ["precise", "string"]
    assert all(param["schema"]["title"] and param["description"] for param in params.values())


def test_names_in_the_form_of_snapshot_stay_what_they_are(parsed: dict[str, Any]) -> None:
    assert parsed["filled"]["arguments"] == {
        "table": "2026.10", "server_name": "1e5", "partition_column": "", "parts": 7, "decimals": "string",
        "again": True,
    }  # fmt: skip
    assert parsed["filled"]["connection"] == "lakehouse_source_2"


def test_no_form_takes_a_hostile_name(parsed: dict[str, Any]) -> None:
    """By the schema that Airflow itself checks, on the page and behind the API."""
    taken = {
        (dag_id, name): names for dag_id, dag in parsed["dags"].items() for name, names in dag["takes"].items() if names
    }
    free = {"ingest_sales": ["accept_loss"], "split_sales": ["databases", "tables"]}
    free |= {"snapshot": ["partition_column", "server_name"]}
    expected = {(dag_id, name): ["Sales"] for dag_id, names in free.items() for name in names}
    assert taken == expected, "a topic, a table at its source, a column there may be called so"
    assert sum(len(dag["takes"]) for dag in parsed["dags"].values()) > 10
