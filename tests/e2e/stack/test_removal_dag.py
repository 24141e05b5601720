"""`erase` through a real Airflow: one agent of the history is planned, approved and gone. The last to use this lake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_stack.demos.lake_view import read_with_rust
from local_stack.demos.layer_changes import read_marts
from tests.support.approvals import decide, run_to_approval, states

if TYPE_CHECKING:
    from tests.e2e.stack.conftest import Running

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.services,
    pytest.mark.timeout(1500),
    pytest.mark.slice(name="airflow-approvals"),
]
DAG = "erase"


def test_an_approved_erasure_leaves_nothing_and_every_layer_right(running: Running) -> None:
    agents = {row["agent_id"]: row["agent_name"] for row in read_with_rust(running.settings.table_path("agents"))}
    victim = min(agents)
    performance = read_marts(running.spec, running.settings)["slow_agent_performance"].values()
    rules = {row["month"]: row["rules_version"] for row in performance}  # of some months not the one that counts
    run_id = run_to_approval(running, DAG, {"agent": str(victim), "dry_run": False})
    question = running.stack.airflow.api.question(DAG, run_id, "approve")
    assert "| findings |" in question["body"]
    assert agents[victim] not in question["body"]
    decide(running, DAG, run_id, "Approve")
    assert states(running, DAG, run_id) == dict.fromkeys(("plan", "approve", "apply"), "success")

    (proof,) = Path(running.settings.base_path, ".erasures").iterdir()
    places = json.loads(proof.read_text(encoding="utf-8"))["places"]
    assert {place["left"] for place in places} == {0}
    assert {place["place"] for place in places if place["found"]} > {"landing files", "sales_log", "agents", "sales"}
    left = {row["agent_id"] for row in read_with_rust(running.settings.table_path("agents"))}
    assert left == (set(agents) - {victim}) | {0}
    for mart, rows in read_marts(running.spec, running.settings).items():
        assert victim not in {row.get("agent_id") for row in rows.values()}, mart
    running.chain.run_once("slow_layer")
    assert running.differing_marts(rules) == {}
