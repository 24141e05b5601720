"""Great Expectations and the gate on 300 seeded batches, against plain Python: the same rows, the same counts.

Batches have a few rows of ``sales`` with nulls, and amounts on and around borders that no floating-point number is.
Those of a group are side by side, each in columns of its own, so that a suite checks thirty at a time.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.suites import Suites

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

GROUPS, BATCHES = 10, 30
TYPES = {"sale_id": "bigint", "unit_id": "bigint", "name": "string", "amount": "decimal(18,4)", "signed": "timestamp"}
DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
CENT = Decimal("0.0001")
BORDER = Decimal("12345678901234.5678")
"""Not a floating-point number: the nearest one is beside it."""
UNITS = (1, 2, 3)
Row = dict[str, Any]
Oracle = Callable[[Row], bool | None]

ORACLES: dict[str, tuple[dict[str, Any], Oracle]] = {
    "known": ({"kind": Kind.NOT_NULL, "columns": ("unit_id",)}, lambda row: row["unit_id"] is not None),
    "amount": (
        {"kind": Kind.BETWEEN, "columns": ("amount",), "least": "0", "most": str(BORDER)},
        lambda row: None if row["amount"] is None else 0 <= row["amount"] <= BORDER,
    ),
    "key": (
        {"kind": Kind.BETWEEN, "columns": ("sale_id",), "most": str(2**53)},
        lambda row: row["sale_id"] <= 2**53,
    ),
    "day": (
        {"kind": Kind.BETWEEN, "columns": ("signed",), "least": "2026-01-02"},
        lambda row: None if row["signed"] is None else row["signed"] >= DAYS[1],
    ),
    "one_of": (
        {"kind": Kind.ONE_OF, "columns": ("unit_id",), "values": ("1", "2")},
        lambda row: None if row["unit_id"] is None else row["unit_id"] in (1, 2),
    ),
    "amount_one_of": (
        {"kind": Kind.ONE_OF, "columns": ("amount",), "values": ("0", str(BORDER))},
        lambda row: None if row["amount"] is None else row["amount"] in (0, BORDER),
    ),
    "named": (
        {"kind": Kind.MATCHES, "columns": ("name",), "pattern": r"^[A-Z]\w+$|\\"},
        lambda row: None if row["name"] is None else re.search(r"^[A-Z]\w+$|\\", row["name"]) is not None,
    ),
    "signed": (
        {"kind": Kind.HOLDS, "condition": "amount IS NOT NULL OR signed IS NULL"},
        lambda row: row["amount"] is not None or row["signed"] is None,
    ),
}
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "unit_id > 1": lambda row: row["unit_id"] is not None and row["unit_id"] > 1,
    "name <> 'O\\'Neil'": lambda row: row["name"] is not None and row["name"] != "O'Neil",
}


def make_row(rng: random.Random) -> Row:
    return {
        "sale_id": rng.choice([1, 2**53 - 1, 2**53, 2**53 + 1]),
        "unit_id": rng.choice([None, 0, *UNITS]),
        "name": rng.choice([None, "", "Ann", "Bob2", "O'Neil", "\\d", "ann"]),
        "amount": rng.choice([None, Decimal(0), -CENT, BORDER, BORDER + CENT, BORDER - CENT]),
        "signed": rng.choice([None, *DAYS]),
    }


def of_batch(text: str, batch: int) -> str:
    """SQL or a column's name, about the columns of one batch."""
    return re.sub("|".join(TYPES), lambda found: f"{found[0]}_{batch}", text)


def frame_of(spark: SparkSession, batches: list[list[Row]]) -> DataFrame:
    schema = ", ".join(f"{of_batch(name, n)} {TYPES[name]}" for n in range(len(batches)) for name in TYPES)
    rows = [
        tuple(value for row in side_by_side for value in row.values()) for side_by_side in zip(*batches, strict=True)
    ]
    return spark.createDataFrame(rows, schema)


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Suites:
    return Suites(tmp_path_factory.mktemp("docs"))


def no_others(table: str) -> DataFrame:
    raise AssertionError(table)


@pytest.mark.parametrize(
    "group", [1, *(pytest.param(n, marks=pytest.mark.slice(name="tables")) for n in range(GROUPS) if n != 1)]
)
def test_the_gate_and_great_expectations_count_the_same(spark: SparkSession, suites: Suites, group: int):
    rng = random.Random(group)
    size = rng.randint(0, 12)
    batches = [[make_row(rng) for _ in range(size)] for _ in range(BATCHES)]
    conditions = {rng.randrange(BATCHES): condition for condition in CONDITIONS}
    declared: list[Expectation] = []
    expected: list[tuple[int, int]] = []
    for number, rows in enumerate(batches):
        where = conditions.get(number, "")
        rows_checked = [row for row in rows if not where or CONDITIONS[where](row)]
        for name in rng.sample(sorted(ORACLES), 2):
            facts, holds = ORACLES[name]
            fields: dict[str, Any] = {
                key: of_batch(value, number) if key == "condition" else value for key, value in facts.items()
            }
            fields["columns"] = tuple(of_batch(column, number) for column in facts.get("columns", ()))
            declared.append(
                Expectation(table="sales", name=f"{name}_{number}", where=of_batch(where, number), **fields)
            )
            expected.append((len(rows_checked), sum(holds(row) is False for row in rows_checked)))
    rows_df = frame_of(spark, batches).cache()
    gate = Gate(table="sales", expectations=tuple(declared))
    (counted,) = rows_df.agg(*gate.aggregates(rows_df.schema)).collect()
    by_gate = gate.judge(counted.asDict())
    by_suite = suites.check(f"sales_{group}", rows_df, declared, no_others)
    rows_df.unpersist()
    assert [(verdict.checked, verdict.broken) for verdict in by_suite] == expected
    assert [(each.checked, each.broken, each.outcome) for each in by_gate] == [
        (each.checked, each.broken, each.outcome) for each in by_suite
    ]


def test_keys_that_are_there_twice_and_references_that_lead_nowhere(spark: SparkSession, suites: Suites):
    rng = random.Random(1)
    rows = [make_row(rng) for _ in range(60)]
    units_df = spark.createDataFrame([(1,), (2,), (2,), (None,)], "unit_id bigint")
    declared = [
        Expectation(table="sales", name="one", kind=Kind.UNIQUE, columns=("name",)),
        Expectation(table="sales", name="two", kind=Kind.UNIQUE, columns=("unit_id", "sale_id")),
        Expectation(table="sales", name="unit", kind=Kind.REFERS_TO, columns=("unit_id",), refers_to="units.unit_id"),
    ]
    rows_df = spark.createDataFrame(
        [tuple(row.values()) for row in rows], ", ".join(f"{n} {t}" for n, t in TYPES.items())
    )
    found = suites.check("sales", rows_df, declared, {"units": units_df}.__getitem__)
    names = Counter(row["name"] for row in rows if row["name"] is not None)
    pairs = Counter((row["unit_id"], row["sale_id"]) for row in rows if row["unit_id"] is not None)
    assert [(each.checked, each.broken) for each in found] == [
        (60, sum(count for count in names.values() if count > 1)),
        (60, sum(count for count in pairs.values() if count > 1)),
        (60, sum(row["unit_id"] not in (None, 1, 2) for row in rows)),
    ]


def test_what_cannot_be_checked_is_reported_without_a_value(spark: SparkSession, suites: Suites):
    rows_df = spark.createDataFrame([("Canary Person",)], "name string")
    wrong = Expectation(table="agents", name="wrong", kind=Kind.NOT_NULL, columns=("missing",))
    with pytest.raises(
        ContractError, match=r"expectation agents\.wrong: Great Expectations cannot check it"
    ) as refused:
        suites.check("agents", rows_df, [wrong], no_others)
    assert "Canary" not in str(refused.value)
