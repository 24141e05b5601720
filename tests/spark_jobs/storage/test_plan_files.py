"""Plan files: at a path, or kept in the lake by their ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.lake_plan import LakePlan
from spark_jobs.storage.plan_files import find_plan_id, keep_plan, read_plan, write_plan

ID = "plan-20260310T120000"
PLAN = LakePlan(id=ID, lake="sales", made_at="2026-03-10T12:00:00Z", digest="0123")


def test_a_plan_is_found_where_it_was_put(tmp_path: Path) -> None:
    settings, path = Settings(base_path=str(tmp_path / "lake")), str(tmp_path / "files" / "plan.yaml")
    write_plan(PLAN, path)
    assert read_plan(path, settings) == PLAN
    with pytest.raises(ContractError, match=f"no {ID} is kept in the lake; make a plan with: plan --keep"):
        read_plan(ID, settings)
    keep_plan(PLAN, settings)
    assert read_plan(ID, settings) == PLAN
    assert [file.name for file in (tmp_path / "lake" / ".plans").iterdir()] == [f"{ID}.yaml"]


def test_the_id_of_a_plan_that_was_applied_is_enough(tmp_path: Path) -> None:
    """Its savepoint is found by the id; the plan itself may be gone."""
    settings = Settings(base_path=str(tmp_path / "lake"))
    assert find_plan_id(ID, settings) == ID
    write_plan(PLAN, str(tmp_path / "plan.yaml"))
    assert find_plan_id(str(tmp_path / "plan.yaml"), settings) == ID


@pytest.mark.parametrize("place", ["", "/", "nowhere.yaml", f"{ID}x", f"{ID}\n", f"../.plans/{ID}"])
def test_what_is_no_plan_says_how_to_make_one(place: str, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"there is no plan file .*; make one with: plan --output FILE"):
        read_plan(place, Settings(base_path=str(tmp_path)))
