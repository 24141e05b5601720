"""The truth the generator writes equals a fold of the files it wrote, made here by other means.

The fold goes over the distinct events in the source's own order and simply overwrites: a later event replaces what it
knows, a delete forgets the sale. That is enough when nothing comes out of order, and sorting saw to that.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.generator.funnel import CANCELLED
from spark_jobs.generator.plan import Plan
from spark_jobs.lake_spec.tables import Nulls

DIMENSIONS = {
    "units": ("UnitId", {"unit_name": "UnitName", "building_id": "BuildingId", "project_id": "ProjectId"}),
    "buildings": ("BuildingId", {"building_name": "BuildingName"}),
    "projects": ("ProjectId", {"project_name": "ProjectName"}),
    "statuses": ("StatusId", {"status_name": "StatusName"}),
    "agents": ("AgentId", {"agent_name": "AgentName"}),
    "customers": ("CustomerId", {"customer_name": "CustomerName"}),
}
SALES = {
    "unit_id": "UnitId", "status_id": "StatusId", "contract_subtotal": "ContractSubtotal",
    "contract_signing_date": "ContractSigningDate", "agent_id": "AgentId", "customer_id": "CustomerId",
}  # fmt: skip


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _overwrite(
    table: dict[str, dict[str, Any]], key: int, row: dict[str, Any], columns: dict[str, str], *, is_value: bool
) -> None:
    stored = table.setdefault(str(key), dict.fromkeys(columns))
    given = {name: row[source] for name, source in columns.items() if source in row}
    stored.update({name: value for name, value in given.items() if is_value or value is not None})


Folded = tuple[dict[str, dict[str, Any]], set[int], Counter[tuple[str, str, str]]]


@pytest.fixture(scope="module")
def folded(life) -> Folded:
    return fold(life.topic.distinct)


def fold(events: list[dict[str, Any]], *, is_value: bool = False) -> Folded:
    """Tables, deleted sales and events by hour, project and status of events in order."""
    tables: dict[str, dict[str, Any]] = {table: {} for table in (*DIMENSIONS, "sales")}
    deleted: set[int] = set()
    hours: Counter[tuple[str, str, str]] = Counter()
    for event in events:
        row = event["after"] or event["before"]
        hour = _time(event["source"]["ts_ms"] // 3_600_000 * 3_600_000)
        hours[hour, str(row["ProjectId"]), str(row["StatusId"])] += 1
        if event["op"] == "d":
            tables["sales"].pop(str(row["SaleId"]), None)
            deleted.add(row["SaleId"])
            continue
        deleted.discard(row["SaleId"])
        for table, (key, columns) in DIMENSIONS.items():
            if row.get(key) is not None:
                _overwrite(tables[table], row[key], row, columns, is_value=is_value)
        _overwrite(tables["sales"], row["SaleId"], row, SALES, is_value=is_value)
    for sale in tables["sales"].values():
        signed_ms = sale["contract_signing_date"]
        sale["contract_signing_date"] = None if signed_ms is None else _time(signed_ms)
    return tables, deleted, hours


def _flat(hours: dict[str, dict[str, dict[str, int]]]) -> dict[tuple[str, str, str], int]:
    return {
        (hour, project, status): count
        for hour, projects in hours.items()
        for project, statuses in projects.items()
        for status, count in statuses.items()
    }


@pytest.mark.parametrize("table", [*DIMENSIONS, "sales"])
def test_tables_are_the_fold_of_the_files(life, folded, table):
    tables, _, _ = folded
    assert tables[table]
    assert life.truth["tables"][table] == tables[table]


def test_deletes_hours_and_counts_are_those_of_the_files(life, folded):
    _, deleted, hours = folded
    assert deleted
    assert set(life.truth["deleted_sales"]) == deleted
    assert _flat(life.truth["hours"]) == dict(hours)
    assert life.truth["events"] == len(life.topic.distinct) == 8_000
    assert life.truth["broken"] == dict(life.topic.broken)


def test_a_sale_comes_back_with_less_after_its_delete(life):
    deleted_before: dict[int, dict[str, Any]] = {}
    again = []
    for event in life.topic.distinct:
        if event["op"] == "d":
            deleted_before[event["before"]["SaleId"]] = event["before"]
        elif event["after"]["SaleId"] in deleted_before:
            again.append((deleted_before.pop(event["after"]["SaleId"]), event))
    assert again
    assert all(event["op"] == "c" and event["before"] is None for _, event in again)
    assert any(before["ContractSubtotal"] and not event["after"]["ContractSubtotal"] for before, event in again)


def test_the_truth_in_the_middle_of_a_run_is_that_of_what_was_delivered(make, tmp_path):
    first = make(tmp_path, events=1_500, total_events=4_000, rates={"late": 0.2, "delete": 0.05})
    tables, deleted, _ = fold(first.topic.distinct)
    assert first.truth["events"] == len(first.topic.distinct) == 1_500
    assert first.truth["tables"] == tables
    assert set(first.truth["deleted_sales"]) == deleted


def test_subtotals_have_four_digits(life):
    subtotals = [
        sale["contract_subtotal"] for sale in life.truth["tables"]["sales"].values() if sale["contract_subtotal"]
    ]
    assert subtotals
    assert all(len(subtotal.partition(".")[2]) == 4 for subtotal in subtotals)


def test_where_null_is_a_value_a_cancelled_contract_has_neither_amount_nor_date(make, tmp_path):
    rates = {"correction": 0.2, "late": 0.1, "delete": 0.03, "partial": 0.1}
    made = make(tmp_path, events=2_000, seed=11, rates=rates, nulls=Nulls.VALUE)
    tables, deleted, _ = fold(made.topic.distinct, is_value=True)
    assert made.truth["tables"] == tables
    assert set(made.truth["deleted_sales"]) == deleted
    signed = {
        event["after"]["SaleId"]
        for event in made.topic.distinct
        if event["op"] != "d" and event["after"]["ContractSigningDate"] is not None
    }
    cancelled = [sale for key, sale in tables["sales"].items() if sale["status_id"] == CANCELLED and int(key) in signed]
    assert cancelled
    assert all(sale["contract_subtotal"] is None is sale["contract_signing_date"] for sale in cancelled)
    assert fold(made.topic.distinct)[0]["sales"] != tables["sales"], "where null is unknown they keep both"
    assert made.outcome.plan == Plan.from_state(json.loads(json.dumps(made.outcome.plan.to_state())))


def test_a_run_goes_on_with_what_null_means_in_it(make, tmp_path):
    make(tmp_path, events=100, total_events=300, nulls=Nulls.VALUE)
    with pytest.raises(ContractError, match="--nulls unknown differs from this run's value"):
        make(tmp_path, is_resume=True, nulls=Nulls.UNKNOWN)
    assert make(tmp_path, is_resume=True).outcome.plan.nulls is Nulls.VALUE
