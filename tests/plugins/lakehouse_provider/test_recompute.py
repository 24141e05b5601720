"""The form of `recompute`, and which of its runs need a person."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException, ParamValidationError

from lakehouse_provider.operators.approval import PlanApprovalOperator
from lakehouse_provider.recompute import recompute_params, rules_versions
from lakehouse_provider.schedules import recompute_dates
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec


@dataclass
class Run:
    run_type: str = "manual"
    logical_date: datetime | None = None
    conf: dict[str, Any] = field(default_factory=dict)


def test_rules_are_known_by_their_files_names_which_are_not_read(tmp_path: Path) -> None:
    for name in ("v10.yaml", "v2.yaml", "notes.md", "v2; --yes.yaml", "v\u0661.yaml", "{{ v }}.yaml"):
        (tmp_path / name).write_text("not: [yaml", encoding="utf-8")
    assert rules_versions(Settings(rules_path=str(tmp_path))) == ["v10", "v2"]
    assert rules_versions(Settings(rules_path=str(tmp_path / "nowhere"))) == []


def test_the_form_takes_what_it_offers_and_nothing_else() -> None:
    params = recompute_params(load_lake_spec(Settings().lake_spec), ["v1", "v2"])
    values = {"layer": "fast", "mart": None, "rules": "v2", "from": "2026-01-01", "to": None, "dry_run": False}
    assert {name: params[name].resolve(value=value) for name, value in values.items()} == values
    for name, wrong in {
        "layer": "slowest",
        "rules": "v3",
        "mart": "units",
        "from": "yesterday",
        "dry_run": "no",
    }.items():
        with pytest.raises(ParamValidationError):
            params[name].resolve(value=wrong)


def test_a_lake_without_marts_still_has_a_form() -> None:
    params = recompute_params(replace(load_lake_spec(Settings().lake_spec), marts=()), [])
    assert params["layer"].resolve() == ""


@pytest.mark.parametrize(
    ("day", "first", "last"),
    [
        (datetime(2024, 2, 1, tzinfo=UTC), "2024-02-01", "2024-02-29"),
        (datetime(2025, 12, 1, tzinfo=UTC), "2025-12-01", "2025-12-31"),
        (datetime(2025, 4, 30, tzinfo=UTC), "2025-04-01", "2025-04-30"),
    ],
)
def test_a_backfill_run_computes_the_month_of_its_date(day: datetime, first: str, last: str) -> None:
    run = Run("backfill", day)
    assert recompute_dates(run, {"from": "2000-01-01", "to": None}) == {"from": first, "to": last}


def test_a_run_from_the_form_computes_its_dates() -> None:
    assert recompute_dates(Run(), {"from": "2026-01-05", "to": "2026-02-07"}) == {
        "from": "2026-01-05", "to": "2026-02-07"
    }  # fmt: skip
    assert recompute_dates(Run(), {"from": None}) == {"from": "", "to": ""}


@dataclass
class TaskInstance:
    """Where the plan is found; ``id`` is what a question to a person begins with, and there is none here."""

    rows: int = 7

    def xcom_pull(self, *, task_ids: str) -> dict[str, Any]:
        return {"counters": {"rows_planned": self.rows}, "messages": [task_ids]}


def approve(run: Run, *, dry_run: bool = False, rows: int = 7) -> Any:
    task = PlanApprovalOperator(task_id="approve", plan_task_id="plan", counter="rows_planned", subject="Rewrite?")
    found = TaskInstance(rows)
    context: Any = {"dag_run": run, "params": {"dry_run": dry_run}, "ti": found, "task_instance": found}
    return task.execute(context)


@pytest.mark.parametrize("run", [Run(), Run("backfill", conf={"approved": True})], ids=["form", "backfill"])
def test_a_dry_run_ends_with_its_plan(run: Run) -> None:
    with pytest.raises(AirflowSkipException, match="ends with its plan"):
        approve(run, dry_run=True)


def test_a_backfill_may_be_approved_when_it_is_requested() -> None:
    assert approve(Run("backfill", conf={"approved": True}))["chosen_options"] == ["Approve"]


@pytest.mark.parametrize("run", [Run(), Run("backfill", conf={"approved": True})], ids=["form", "backfill"])
def test_a_plan_that_changes_nothing_needs_no_approval(run: Run) -> None:
    with pytest.raises(AirflowSkipException, match="nothing would change"):
        approve(run, rows=0)


@pytest.mark.parametrize(
    "run",
    [
        Run("manual", conf={"approved": True}),
        Run("backfill"),
        Run("backfill", conf={"approved": False}),
        Run("backfill", conf={"approved": "false"}),
    ],
    ids=["a form that says so itself", "silent", "no", "text"],
)
def test_any_other_run_needs_a_person(run: Run) -> None:
    """It gets as far as the question to a person, for which this task instance has no id."""
    with pytest.raises(AttributeError, match="no attribute 'id'"):
        approve(run)
