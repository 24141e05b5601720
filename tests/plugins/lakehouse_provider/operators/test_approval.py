"""What the approval shows where a preview goes before it. Which runs need a person: tests of `recompute`."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse_provider.operators.approval import PlanApprovalOperator

COLUMN = {
    "name": "total", "type_now": "bigint", "type_then": "bigint", "sum_now": 5, "sum_then": 3, "changed": 1,
    "percent": "50.00",
}  # fmt: skip
FOUND = {"agent_totals": {"rows_now": 3, "rows_then": 2, "columns": [COLUMN], "samples": {}}}
PLAN = {"counters": {"to_recompute": 1}, "messages": ["agent_totals: sql changed: recompute"]}


@dataclass
class TaskInstance:
    """Where the results are found; ``id`` is what a question to a person begins with, and there is none here."""

    results: dict[str, Any] = field(default_factory=dict)

    def xcom_pull(self, *, task_ids: str) -> Any:
        return self.results.get(task_ids)


def page(**results: Any) -> str:
    """What a person would see; the task gets as far as the question to a person."""
    task = PlanApprovalOperator(
        task_id="approve", plan_task_id="plan", counter="to_recompute", subject="Apply?", preview_task_id="preview"
    )
    found = TaskInstance(results)
    run = SimpleNamespace(run_type="manual", conf={})
    context: Any = {"dag_run": run, "params": {"dry_run": False}, "ti": found, "task_instance": found}
    with pytest.raises(AttributeError, match="no attribute 'id'"):
        task.execute(context)
    assert task.body is not None
    return task.body


def test_the_page_shows_the_plan_and_the_difference() -> None:
    body = page(plan=PLAN, preview={"findings": FOUND, "messages": ["nothing was changed"]})
    assert "- agent\\_totals: sql changed: recompute" in body
    assert "**agent\\_totals**: 3 rows now, 2 then" in body
    assert "| total | bigint | bigint | 5 | 3 | 1 | 50.00 |" in body


def test_without_a_preview_the_page_is_the_plan_alone() -> None:
    """Its task was skipped, and left no result."""
    body = page(plan=PLAN)
    assert "sql changed" in body
    assert "rows now" not in body
