"""`apply_changes` and `undo_changes` through a real Airflow: by its edited SQL, a mart has one more in a column.

Each test leaves files and lake as they were.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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
DAG, WAY_BACK = "apply_changes", "undo_changes"
MART, COLUMN = "slow_agent_success", "steps_7_up"
LAST_LINES = f"    {COLUMN}\nFROM agents_of_month\n"
EDITED = f"    {COLUMN} + 1 AS {COLUMN}\nFROM agents_of_month\n"


def put(file: Path, text: str) -> None:
    """Write it in one step: Airflow reads the folder at any moment."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


@pytest.fixture
def edited(running: Running) -> Iterator[str]:
    """The mart's file says something else than its rows; gives the text that was there, and puts it back."""
    file = Path(running.settings.lake_spec).parents[1] / "marts" / f"{MART}.sql"
    text = file.read_text(encoding="utf-8")
    assert text.count(LAST_LINES) == 1
    put(file, text.replace(LAST_LINES, EDITED))
    yield text
    put(file, text)


def form(**more: Any) -> dict[str, Any]:
    return {"marts": [MART], "tables": None, "preview": True, "samples": 2, "dry_run": False, **more}


@pytest.mark.usefixtures("edited")
def test_a_plan_without_a_preview_is_shown_and_may_be_rejected(running: Running) -> None:
    before = running.snapshot()
    run_id = run_to_approval(running, DAG, form(marts=None, preview=False))
    question = running.stack.airflow.api.question(DAG, run_id, "approve")
    assert "every mart and table that changed" in question["subject"]
    assert r"| slow\_agent\_success | sql | recompute |" in question["body"]
    assert "rows now" not in question["body"]
    decide(running, DAG, run_id, "Reject")
    assert states(running, DAG, run_id) == {
        "plan": "success", "preview": "skipped", "approve": "success", "apply": "skipped"
    }  # fmt: skip
    assert running.snapshot() == before


def test_an_approved_change_is_applied_and_taken_back(running: Running, edited: str) -> None:
    api, before = running.stack.airflow.api, read_marts(running.spec, running.settings)
    rows = before[MART]
    total = sum(row[COLUMN] for row in rows.values())
    run_id = run_to_approval(running, DAG, form())
    question = api.question(DAG, run_id, "approve")
    assert MART in question["subject"]
    sums = rf"{total:,} | {total + len(rows):,} | {len(rows):,} | 100.00 |"
    assert rf"| steps\_7\_up | bigint | bigint | {sums}" in question["body"]
    assert "- changed, the first 2: " in question["body"]
    assert read_marts(running.spec, running.settings) == before, "a preview writes nothing"
    decide(running, DAG, run_id, "Approve")
    assert states(running, DAG, run_id) == dict.fromkeys(("plan", "preview", "approve", "apply"), "success")
    after = read_marts(running.spec, running.settings)
    assert after == {**before, MART: {key: {**row, COLUMN: row[COLUMN] + 1} for key, row in rows.items()}}
    assert api.asset_events(f"sales/{MART}")[-1]["extra"]["job"] == "apply"

    (way_back,) = [m for m in api.result(DAG, run_id, "apply")["messages"] if m.startswith("to undo: ")]
    plan = way_back.removeprefix("to undo: undo --plan ").removesuffix(" --yes")
    run_id = run_to_approval(running, WAY_BACK, {"plan": plan, "dry_run": False})
    assert r"slow\_agent\_success: restored to its rows of " in api.question(WAY_BACK, run_id, "approve")["body"]
    decide(running, WAY_BACK, run_id, "Approve")
    assert states(running, WAY_BACK, run_id) == dict.fromkeys(("plan", "approve", "apply"), "success")
    assert read_marts(running.spec, running.settings) == before

    put(Path(running.settings.lake_spec).parents[1] / "marts" / f"{MART}.sql", edited)
    running.chain.run_once("slow_layer")
    assert running.differing_marts() == {}
