"""What has to change for the rows of a mart to become others, against plain dictionaries, and keys of cells."""

from __future__ import annotations

import itertools
import random
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.transforms.cells import (
    AFTER,
    BEFORE,
    CELL_DELETED,
    changed_rows,
    difference,
    is_reshaped,
    rows_after,
    visible_changes,
    with_cell_id,
)

pytestmark = pytest.mark.spark

NAMES = ("cell_id", "day", "amount", "at", "rows__count")
SCHEMA = "cell_id string, day string, amount decimal(20,4), at date, rows__count bigint"
DAYS, AMOUNTS = ("2026-01-01", "2026-01-02", None), (Decimal("0.1000"), Decimal("12345678901234.5678"), None)
Row = tuple[Any, ...]


def rows_of(rng: random.Random, count: int) -> dict[str, Row]:
    keys = rng.sample(range(60), count)
    return {
        str(key): (
            rng.choice(DAYS),
            rng.choice(AMOUNTS),
            rng.choice((None, date(2026, 1, 1))),
            rng.choice((1, 2)),
        )
        for key in keys
    }


def frame(spark: SparkSession, rows: dict[str, Row]) -> DataFrame:
    return spark.createDataFrame([(key, *row) for key, row in rows.items()], SCHEMA)


def sides(difference_df: DataFrame) -> list[tuple[Row | None, Row | None]]:
    return sorted(
        ((r[BEFORE] and tuple(r[BEFORE]), r[AFTER] and tuple(r[AFTER])) for r in difference_df.collect()), key=repr
    )


@pytest.mark.parametrize("partition", ["", "day"])
def test_only_rows_that_differ_in_any_column_change(spark, partition):
    rng = random.Random(partition)
    before, after = rows_of(rng, 40), rows_of(rng, 40)
    after |= {key: row for key, row in before.items() if rng.random() < 0.3}
    for place, key in enumerate(sorted(before.keys() & after.keys())):  # each column differs alone somewhere
        changed = list(before[key])
        changed[place % 4] = rows_of(rng, 1).popitem()[1][place % 4]
        after[key] = tuple(changed)
    columns = NAMES[1:]
    found_df = difference(frame(spark, after), frame(spark, before), columns, partition).cache()
    expected: list[tuple[Row | None, Row | None]] = []
    for key in before.keys() | after.keys():
        one, other = before.get(key), after.get(key)
        both = tuple(None if row is None else (key, *row) for row in (one, other))
        if one == other:
            continue
        if partition and one and other and one[0] != other[0]:
            expected += [(both[0], None), (None, both[1])]
        else:
            expected.append((both[0], both[1]))
    assert sides(found_df) == sorted(expected, key=repr)
    written = [(tuple(row)[:-1], row[CELL_DELETED]) for row in changed_rows(found_df).collect()]
    assert sorted(written, key=repr) == sorted(((new or old, new is None) for old, new in expected), key=repr)
    whole = [tuple(row)[:-1] for row in rows_after(found_df, frame(spark, before), partition).collect()]
    assert sorted(whole, key=repr) == sorted(((key, *row) for key, row in after.items()), key=repr)
    assert not is_reshaped(found_df, frame(spark, before))
    shown = [(r[BEFORE] and tuple(r[BEFORE]), r[AFTER] and tuple(r[AFTER])) for r in
             visible_changes(found_df, ("day", "amount")).collect()]  # fmt: skip
    assert sorted(shown, key=repr) == sorted((tuple(row and row[1:3] for row in pair) for pair in expected), key=repr)
    found_df.unpersist()


def test_before_the_first_commit_every_row_comes(spark):
    after = {"1": ("2026-01-01", None, None, 1), "2": (None, Decimal(1), None, 2)}
    found = sides(difference(frame(spark, after), None, NAMES[1:], "day"))
    assert [one for one, _ in found] == [None, None]


def test_columns_that_the_stored_rows_lack_count_as_null_and_their_types_are_those_of_now(spark):
    after = {"1": ("2026-01-01", None, None, 1), "2": ("2026-01-01", Decimal(1), None, 1)}
    stored_df = frame(spark, after).selectExpr("cell_id", "day", "CAST(rows__count AS int) AS rows__count", "at")
    found_df = difference(frame(spark, after), stored_df, NAMES[1:], "")
    assert is_reshaped(found_df, stored_df), "rows__count has another type"
    assert not is_reshaped(found_df, stored_df.drop("rows__count"))
    assert is_reshaped(found_df, frame(spark, after).selectExpr("cell_id", "1 AS gone"))
    assert not is_reshaped(found_df, None)
    found = sides(found_df)
    assert found == [(("2", "2026-01-01", None, None, 1), ("2", "2026-01-01", Decimal("1.0000"), None, 1))]


def test_no_two_cells_share_a_key(spark):
    texts = (None, "", "-", "|", "\\", "\\-", "a|b", "a", "b", "\\|", "--")
    rows = [*itertools.product(texts, texts)]
    rows_df = with_cell_id(spark.createDataFrame(rows, "one string, two string"), ("one", "two"))
    keys = {row["cell_id"] for row in rows_df.collect()}
    assert len(keys) == len(rows)
    assert {row["cell_id"] for row in rows_df.where("one IS NULL AND two = 'a'").collect()} == {"-|a"}
