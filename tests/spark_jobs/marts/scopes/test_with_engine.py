"""Rows of scopes, whether these are few or many, numbers or texts, and unknown ones among them or not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from spark_jobs.lake_spec.marts import TimeUnit
from spark_jobs.marts import scopes
from spark_jobs.marts.scopes import SCOPE, gather
from spark_jobs.marts.views import Views
from spark_jobs.marts.windows import TimeRange
from tests.support.refreshes import refresh_of

pytestmark = pytest.mark.spark

NUMBERS: tuple[Any, ...] = (None, -5, 0, 1, 2, 3, 50, 51, 1000, 2**40)
TEXTS: tuple[Any, ...] = (None, "", "2026-01", "2026-02", "2026-03", "2026-04")
FEW = ((200, 100_000), (3, 100_000), (3, 0))
"""So many are named one by one, and of so many numbers the ranges are found out."""


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (NUMBERS, [(1, 3, 50, 2**40), (1, 2)]),
        (NUMBERS, [(1, 3, None, 1000), (-5, None), ()]),
        (NUMBERS, [(None,)]),
        (TEXTS, [("2026-01", "2026-03"), ("2026-04", "2026-01", "")]),
        (TEXTS, [("2026-01", None, ""), ("2026-02", "2026-03")]),
        (TEXTS, [(), ()]),
    ],
)
def test_rows_of_the_scopes_are_kept_and_no_others(spark, tmp_path, monkeypatch, few, values, parts):
    monkeypatch.setattr(scopes, "_MOST_LITERALS", few[0])
    monkeypatch.setattr(scopes, "_MOST_SORTED", few[1])
    type_ = "bigint" if values is NUMBERS else "string"
    rows_df = spark.createDataFrame([(n, value) for n, value in enumerate([*values, *values])], f"n int, at {type_}")
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, views=views)
        frames = [spark.createDataFrame([(each,) for each in part], f"{SCOPE} {type_}") for part in parts]
        found = gather(refresh, frames, None)
        expected = {each for part in parts for each in part}
        assert found.count == len(expected)
        assert set(found.values()) == expected
        assert (found.few is None) == (len(expected) > few[0])
        assert found.each(F.expr("concat(hour, '-')"), "hour") == {
            None if each is None else f"{each}-" for each in expected
        }
        kept = [row["n"] for row in found.keep(rows_df, F.col("at")).collect()]
        assert sorted(kept) == [n for n, value in enumerate([*values, *values]) if value in expected]


def test_scopes_outside_the_window_are_left_out_and_those_at_its_ends_are_not(spark, tmp_path):
    window = TimeRange(first="2026-01-02", last="2026-01-04")
    days = [f"2026-01-{day:02d}" for day in range(1, 7)]
    with Views(spark) as views:
        refresh = refresh_of(tmp_path, views=views)
        days_df = spark.createDataFrame([(day,) for day in days], f"{SCOPE} string")
        assert sorted(gather(refresh, [days_df], window).values()) == days[1:4]
        before = TimeRange(first="2026-01-01", last="2026-01-03")
        for known, entering in ((before, days[3:4]), (None, days[1:4])):
            found_df = scopes.entering_scopes(refresh, window, known, TimeUnit.DAY)
            assert sorted(row[SCOPE] for row in found_df.collect()) == entering


def test_without_parts_there_are_none(spark, tmp_path):
    with Views(spark) as views:
        found = gather(refresh_of(tmp_path, views=views), [], None)
        assert (found.count, found.few) == (0, ())
        rows_df = spark.createDataFrame([(None,), ("a",)], "at string")
        assert found.keep(rows_df, F.col("at")).collect() == []
