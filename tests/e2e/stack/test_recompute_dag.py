"""`recompute` through a real Airflow: a dry run, a plan that is rejected, one that is approved, undone, and a backfill.

Each test leaves the lake as the oracles say it is; the months in question are the two before the newest.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from local_stack.demos.chain import ChainError
from local_stack.demos.layer_changes import read_marts
from tests.support.approvals import decide, run_to_approval, states
from tests.support.backfills import backfill_states, create_backfill
from tests.support.commands import run_well
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.e2e.stack.conftest import Running

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.services,
    pytest.mark.timeout(1500),
    pytest.mark.slice(name="airflow-approvals"),
]
DAG = "recompute"


@pytest.fixture
def months(running: Running) -> list[str]:
    """Two whole months of the history, the earlier first."""
    rows = read_marts(running.spec, running.settings)["slow_agent_performance"].values()
    return sorted({row["month"] for row in rows})[-3:-1]


def form(months: list[str], **more: Any) -> dict[str, Any]:
    first, last = (date.fromisoformat(f"{month}-01") for month in (months[0], months[-1]))
    end = (last + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return {"layer": "slow", "mart": None, "rules": "v2", "from": f"{first}", "to": f"{end}", "dry_run": False, **more}


def test_a_dry_run_plans_and_changes_nothing(running: Running, months: list[str]) -> None:
    before, api = running.snapshot(), running.stack.airflow.api
    run_id = running.chain.run_once(DAG, form(months, dry_run=True))
    assert states(running, DAG, run_id) == {"plan": "success", "approve": "skipped", "apply": "skipped"}
    plan = api.result(DAG, run_id, "plan")
    assert plan["counters"]["rows_planned"] > 0
    assert any("slow_agent_performance" in message and "2 partitions" in message for message in plan["messages"])
    assert running.snapshot() == before


def test_a_rejected_plan_changes_nothing(running: Running, months: list[str]) -> None:
    before, api = running.snapshot(), running.stack.airflow.api
    run_id = run_to_approval(running, DAG, form(months, approved=True))
    question = api.question(DAG, run_id, "approve")
    assert "the slow layer" in question["subject"]
    assert r"slow\_agent\_performance" in question["body"]
    assert "| rows planned |" in question["body"]
    decide(running, DAG, run_id, "Reject")
    assert states(running, DAG, run_id) == {"plan": "success", "approve": "success", "apply": "skipped"}
    assert running.snapshot() == before


def test_an_approved_plan_is_applied_and_can_be_taken_back(running: Running, months: list[str]) -> None:
    api = running.stack.airflow.api
    before = read_marts(running.spec, running.settings)
    run_id = run_to_approval(running, DAG, form(months))
    decide(running, DAG, run_id, "Approve")
    assert states(running, DAG, run_id) == dict.fromkeys(("plan", "approve", "apply"), "success")
    assert running.differing_marts(dict.fromkeys(months, "v2")) == {}
    assert api.asset_events("sales/slow_agent_performance")[-1]["extra"]["job"] == DAG

    (way_back,) = [m for m in api.result(DAG, run_id, "apply")["messages"] if "--undo" in m]
    words = way_back[way_back.index("recompute") :].split()
    run_well(*words, environment={**running.environ, "LAKEHOUSE_SPARK_REMOTE": running.stack.spark_remote})
    assert read_marts(running.spec, running.settings) == before
    running.chain.run_once("slow_layer")
    assert running.differing_marts() == {}


def test_a_backfill_recomputes_month_by_month(running: Running, months: list[str]) -> None:
    api = running.stack.airflow.api
    conf = {"layer": "slow", "rules": "v2", "dry_run": False, "approved": True}
    create_backfill(running.stack, DAG, first=f"{months[0]}-01", last=f"{months[1]}-01", conf=conf)
    wait_until(lambda: backfill_states(api, DAG) == ["success"] * 2, "both months end in success", limit_seconds=900)
    assert running.differing_marts(dict.fromkeys(months, "v2")) == {}
    running.chain.run_once("slow_layer")
    assert running.differing_marts(dict.fromkeys(months, "v2")) == {}, "an ordinary run keeps what was recomputed"


def test_a_request_that_makes_no_sense_fails_at_once_and_for_good(running: Running, months: list[str]) -> None:
    """Rules mean nothing to the fast layer, so the plan fails without a retry."""
    api = running.stack.airflow.api
    with pytest.raises(ChainError, match="leave --rules out"):
        running.chain.run_once(DAG, form(months, layer="fast"))
    newest = api.runs(DAG)[0]
    (plan,) = [task for task in api.tasks(DAG, newest.run_id) if task["task_id"] == "plan"]
    assert (plan["state"], plan["try_number"]) == ("failed", 1)
