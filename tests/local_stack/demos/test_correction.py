"""A correction is chosen, landed as a record the product takes, and what it changed is reported.

The lake: agents 1 to 3; sale 10 signed yesterday by agent 3, sale 11 signed two years ago, sale 12 not signed. The
correction gives sale 10 a tenth more and to agent 1, who comes after 3. Before it agent 3 had two contracts of 300.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from local_stack.demos.correction import Correction, choose_correction, land_correction
from local_stack.demos.lake_view import TableView
from local_stack.demos.layer_changes import build_changes, check_correction
from local_stack.errors import SetupError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.oracle import read_lines

SPEC = load_lake_spec(Settings().lake_spec)
NOW = datetime(2026, 3, 2, 9, 30, 15, 250_000, tzinfo=UTC)
SALE: dict[str, Any] = {
    "sale_id": 10,
    "unit_id": 1,
    "status_id": 8,
    "contract_subtotal": Decimal("200.0000"),
    "contract_signing_date": NOW - timedelta(days=1),
    "agent_id": 3,
    "customer_id": 7,
    "is_deleted": False,
}
OTHERS = [
    {**SALE, "sale_id": 11, "contract_signing_date": (NOW - timedelta(days=730)).replace(tzinfo=None)},
    {**SALE, "sale_id": 12, "contract_signing_date": None},
    {**SALE, "sale_id": 13, "is_deleted": True},
    {**SALE, "sale_id": 14, "contract_signing_date": NOW + timedelta(days=3)},
]
CORRECTION = Correction(sale=SALE, agent_id=1, subtotal=Decimal("220.0000"), at=NOW)


def view(name: str, *rows: dict[str, Any]) -> TableView:
    return TableView(name=name, spark=list(rows), rust=list(rows), instant=Instant("20260302093000000"))


VIEWS: Mapping[str, TableView] = {
    "sales": view("sales", *OTHERS, SALE),
    "agents": view("agents", *({"agent_id": number, "agent_name": f"Agent {number}"} for number in (3, 1, 2))),
    "units": view("units", {"unit_id": 1, "unit_name": "A", "building_id": 5, "project_id": 6}),
    "buildings": view("buildings", {"building_id": 5, "building_name": "East"}),
    "projects": view("projects", {"project_id": 6, "project_name": "Park"}),
    "statuses": view("statuses", {"status_id": 8, "status_name": "Contract signed"}),
    "customers": view("customers", {"customer_id": 7, "customer_name": None}),
}


def test_the_sale_signed_last_goes_to_the_next_agent() -> None:
    assert choose_correction(VIEWS, NOW) == CORRECTION


@pytest.mark.parametrize("table", ["sales", "agents"])
def test_without_a_sale_or_another_agent_there_is_nothing_to_correct(table: str) -> None:
    few = {**VIEWS, table: view(table, *(VIEWS[table].spark[:1]))}
    with pytest.raises(SetupError, match="give more --events"):
        choose_correction(few, NOW)


def test_the_record_says_what_the_correction_does(tmp_path: Path) -> None:
    file = land_correction(CORRECTION, VIEWS, SPEC, tmp_path, sequence=50)
    (event,), unusable = read_lines(file.read_bytes().splitlines())
    assert unusable == set()
    assert (event.op, event.time) == ("c", NOW)
    assert event.row == {
        "sale_id": 10, "agent_id": 1, "agent_name": "Agent 1", "unit_id": 1, "unit_name": "A", "building_id": 5,
        "building_name": "East", "project_id": 6, "project_name": "Park", "status_id": 8,
        "status_name": "Contract signed", "contract_subtotal": Decimal("220.0000"),
        "contract_signing_date": SALE["contract_signing_date"], "customer_id": 7,
    }  # fmt: skip


def test_it_comes_after_every_event_before_it(tmp_path: Path) -> None:
    files = [land_correction(CORRECTION, VIEWS, SPEC, tmp_path / str(number), sequence=number) for number in (49, 50)]
    events, _ = read_lines(line for file in reversed(files) for line in file.read_bytes().splitlines())
    assert len(events) == 2
    assert [event.identity for event in events] == [
        event.identity for file in files for event in read_lines(file.read_bytes().splitlines())[0]
    ]


def marts(*, is_corrected: bool) -> dict[str, dict[str, dict[str, Any]]]:
    agent = 1 if is_corrected else 3
    stitch = (
        {3: (1, Decimal("100.0000")), 1: (1, Decimal("220.0000"))} if is_corrected else {3: (2, Decimal("300.0000"))}
    )
    hour = NOW.replace(minute=0, second=0, microsecond=0)
    counted: dict[str, dict[str, Any]] = {
        "a": {"event_hour": hour, "project_id": 6, "status_id": 8, "events": 4 + is_corrected},
        "b": {"event_hour": hour.replace(tzinfo=None), "project_id": None, "status_id": 8, "events": 1},
        "c": {"event_hour": hour, "project_id": 6, "status_id": 2, "events": 9},
    }
    return {
        "fast_hourly_events": counted,
        "stitch_agent_contracts": {
            str(key): {"agent_id": key, "contracts": count, "contract_total": total}
            for key, (count, total) in stitch.items()
        },
        "slow_sale_paths": {
            "10": {
                "sale_id": 10,
                "agent_id": agent,
                "agents": [1, 3] if is_corrected else [3],
                "contract_subtotal": Decimal("220.0000") if is_corrected else Decimal("200.0000"),
                "is_signed": True,
            }
        },
        "slow_unit_difficulty": {
            f"2026-03|{unit}": {"month": "2026-03", "unit_id": unit, "agents": 2, "difficulty_rank": rank}
            for unit, rank in (((1, 1), (2, 2)) if is_corrected else ((1, 2), (2, 1)))
        },
    }


def test_a_correction_that_went_through_is_right() -> None:
    assert check_correction(CORRECTION, marts(is_corrected=False), marts(is_corrected=True)) == []


@pytest.mark.parametrize("mart", ["fast_hourly_events", "stitch_agent_contracts", "slow_sale_paths"])
def test_a_layer_that_it_did_not_reach_is_named(mart: str) -> None:
    before = marts(is_corrected=False)
    after = {**marts(is_corrected=True), mart: before[mart]}
    wrong = check_correction(CORRECTION, before, after)
    assert wrong
    assert {line.partition(":")[0] for line in wrong} == {mart}


def test_what_changed_is_reported_layer_by_layer() -> None:
    text = build_changes(SPEC, CORRECTION, marts(is_corrected=False), marts(is_corrected=True))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "layer table row column before after"
    assert "fast fast_hourly_events event_hour 2026-03-02 09:00 project 6 status 8 events 4 5" in lines
    assert "stitch stitch_agent_contracts agent 1 contracts no row 1" in lines
    assert "contract_total no row 220.0000" in lines
    assert "agent 3 contracts 2 1" in lines
    assert "slow slow_sale_paths sale 10 agent_id 3 1" in lines
    assert "agents 3 1, 3" in lines
    assert "slow_unit_difficulty month 2026-03 unit 1 difficulty_rank 2 1" in lines
    assert lines[-1].startswith("slow_unit_difficulty: and 1 rows of others")
    layers = [line.split()[0] for line in lines]
    assert layers.index("fast") < layers.index("stitch") < layers.index("slow")


def test_nothing_changed_is_reported_too() -> None:
    same = marts(is_corrected=True)
    assert len(build_changes(SPEC, CORRECTION, same, same).splitlines()) == 2


def test_a_row_is_the_corrections_when_it_is_about_its_sale() -> None:
    rows: list[dict[str, Any]] = [
        {"sale_id": 10},
        {"agent_id": 1},
        {"agent_id": 3},
        {"unit_id": 1},
        {"customer_id": 7},
        {"status_id": 8},
    ]
    assert all(CORRECTION.concerns(row) for row in rows)
    others: list[dict[str, Any]] = [
        {"sale_id": 11, "agent_id": 3},
        {"agent_id": 2, "unit_id": 1},
        {"unit_id": 2},
        {"customer_id": None},
    ]
    assert not any(CORRECTION.concerns(row) for row in others)
    anonymous = replace(CORRECTION, sale={**SALE, "customer_id": None})
    assert not anonymous.concerns({"day": "2026-03-02"})
