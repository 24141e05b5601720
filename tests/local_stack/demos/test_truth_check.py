"""The comparison with the truth sees every kind of difference.

The truth: units 1 and 2, sale 10 live and sale 11 deleted, two events, one broken record.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from local_stack.demos.truth_check import Truth, check_count, check_reasons, check_table, same_rows
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
SIGNED = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SALE: dict[str, Any] = {
    "unit_id": 1,
    "status_id": 4,
    "contract_subtotal": Decimal("10.5000"),
    "contract_signing_date": SIGNED,
    "agent_id": None,
    "customer_id": 7,
}
DELETED: dict[str, Any] = {**dict.fromkeys(SALE), "sale_id": 11, "is_deleted": True}
LIVE: dict[str, Any] = {**SALE, "sale_id": 10, "is_deleted": False}
UNITS: list[dict[str, Any]] = [
    {"unit_id": 1, "unit_name": "A", "building_id": 5, "project_id": 6},
    {"unit_id": 2, "unit_name": None, "building_id": 5, "project_id": None},
]


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    sale = {**SALE, "contract_subtotal": "10.5000", "contract_signing_date": "2026-03-01T09:30:00"}
    document = {
        "events": 2,
        "broken": {"not_json": 1, "unknown_op": 0},
        "tables": {"units": {str(row["unit_id"]): row for row in UNITS}, "sales": {"10": sale}},
        "deleted_sales": [11],
    }
    (tmp_path / "_generator").mkdir()
    file = tmp_path / "_generator" / "t.truth.json.gz"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    return Truth.load(str(tmp_path), "t")


def check(truth: Truth, table: str, rows: list[dict[str, Any]]) -> list[str]:
    return check_table(SPEC.table(table), rows, truth, SPEC, reader="me")


def test_the_truth_is_right(truth: Truth) -> None:
    assert check(truth, "units", UNITS) == []
    assert check(truth, "sales", [LIVE, DELETED]) == []
    assert check(truth, "sales", [DELETED, {**LIVE, "contract_signing_date": SIGNED.replace(tzinfo=None)}]) == []


@pytest.mark.parametrize(
    ("table", "rows", "difference"),
    [
        ("units", UNITS[:1], "key 2 is missing"),
        ("units", [*UNITS, {**UNITS[0], "unit_id": 3}], "key 3 should not be there"),
        ("units", [*UNITS, UNITS[0]], "key 1 is there twice"),
        ("units", [UNITS[0], {**UNITS[1], "unit_name": "B"}], "key 2 is"),
        ("sales", [{**LIVE, "contract_subtotal": Decimal("10.5001")}, DELETED], "key 10 is"),
        ("sales", [LIVE], "deleted key 11 has no tombstone"),
        ("sales", [LIVE, {**DELETED, "is_deleted": False}], "key 11 should not be there"),
        ("sales", [LIVE, {**DELETED, "agent_id": 1}], "tombstone 11 still has values"),
        ("sales", [{**LIVE, "is_deleted": True}, DELETED], "key 10 is missing"),
    ],
)
def test_every_difference_is_seen(truth: Truth, table: str, rows: list[dict[str, Any]], difference: str) -> None:
    wrong = check(truth, table, rows)
    assert any(difference in line for line in wrong), wrong
    assert all(line.startswith(f"{table} as read by me: ") for line in wrong)


def test_many_differences_are_shortened(truth: Truth) -> None:
    rows = [{**UNITS[0], "unit_id": key} for key in range(100, 200)]
    wrong = check(truth, "units", rows)
    assert len(wrong) == 6
    assert wrong[-1].endswith("and 97 more")


def test_counts_and_reasons(truth: Truth) -> None:
    assert check_count("events", 2, truth.events) == []
    assert check_count("events", 3, truth.events) == ["events: 3, not 2"]
    assert check_reasons({"not_json": 1}, truth) == []
    assert check_reasons({"not_json": 2}, truth) != []
    assert check_reasons({"not_json": 1, "unknown_op": 1}, truth) != []


def test_two_readers_agree_or_do_not() -> None:
    assert same_rows("units", UNITS, UNITS[::-1]) == []
    naive = [{"t": SIGNED.replace(tzinfo=None), "raw": bytearray(b"x")}]
    assert same_rows("log", [{"t": SIGNED, "raw": b"x"}], naive) == []
    assert same_rows("units", UNITS, UNITS[:1])[0].startswith("units: Spark and the Rust reader differ in 1 rows")
    assert same_rows("units", UNITS, [*UNITS, UNITS[0]]) != []
