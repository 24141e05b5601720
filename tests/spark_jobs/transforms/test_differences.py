"""What people are shown of two states of a table: every row that came, went or changed, each once, and how."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.transforms.differences import inserted_rows, row_differences

pytestmark = pytest.mark.spark

SCHEMA = "one string, two bigint, amount decimal(10,2), note string"
KEYS = ("one", "two")
Row = tuple[Any, ...]


def random_state(rng: random.Random) -> dict[Row, Row]:
    keys = [(one, two) for one in ("a", "b", "-", None) for two in (1, 2, None)]
    amounts, notes = (None, Decimal("1.10"), Decimal("-0.01")), (None, "", "x")
    return {key: (rng.choice(amounts), rng.choice(notes)) for key in keys if rng.random() < 0.7}


def in_words(before: Row | None, after: Row | None) -> str:
    """The words about a row that changed; of one that came or went, about what it has or had."""
    sides = [side or (None, None) for side in (before, after)]
    parts = [
        f"{name}: {'-' if one is None else one} → {'-' if other is None else other}"
        for name, one, other in zip(("amount", "note"), *sides, strict=True)
        if one != other
    ]
    return "; ".join(parts)


@pytest.mark.parametrize("seed", range(2))
def test_every_row_that_differs_is_shown_once(spark, seed):
    rng = random.Random(seed)
    states = [random_state(rng) for _ in range(2)]
    before, after = states
    frames = [spark.createDataFrame([(*key, *row) for key, row in state.items()], SCHEMA) for state in states]
    expected = {}
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            op = "insert" if key not in before else "delete" if key not in after else "update"
            expected[key] = (op, in_words(before.get(key), after.get(key)))
    rows = row_differences(frames[0], frames[1], KEYS).collect()
    assert {(row["one"], row["two"]): (row["op"], row["changes"]) for row in rows} == expected
    assert len(rows) == len(expected)
    came = inserted_rows(frames[1], KEYS).collect()
    assert {(row["one"], row["two"]) for row in came} == after.keys()
    assert {row["op"] for row in came} == {"insert"}


def test_columns_that_the_earlier_state_lacks_count_as_null(spark):
    after_df = spark.createDataFrame([("a", 1, Decimal(1), None), ("b", 1, None, None)], SCHEMA)
    rows = row_differences(after_df.select("one", "two", "note"), after_df, KEYS).collect()
    assert [(row["op"], row["one"], row["changes"]) for row in rows] == [("update", "a", "amount: - → 1.00")]


def test_maps_are_compared_by_what_they_hold(spark):
    schema = "one string, two bigint, facts map<string,string>"
    before_df = spark.createDataFrame([("a", 1, {"x": "1", "y": None}), ("b", 1, {"x": "1"}), ("c", 1, None)], schema)
    after_df = spark.createDataFrame([("a", 1, {"y": None, "x": "1"}), ("b", 1, {"x": "2"}), ("c", 1, {})], schema)
    rows = row_differences(before_df, after_df, KEYS).collect()
    assert {row["one"]: row["changes"] for row in rows} == {"b": "facts: {x -> 1} → {x -> 2}", "c": "facts: - → {}"}
