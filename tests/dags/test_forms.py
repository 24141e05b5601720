"""The forms of the DAGs: what they ask, and what they do not take."""

from __future__ import annotations

from typing import Any

from spark_jobs.contracts.settings import PROJECT_ROOT

LAYERS = ("fast", "stitch", "slow")


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
    assert taken == {("ingest_sales", "accept_loss"): ["Sales"]}, "a topic may be called so"
    assert sum(len(dag["takes"]) for dag in parsed["dags"].values()) > 10
