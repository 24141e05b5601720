"""The arithmetic of a load against counting: every way in which draws can fall is gone through."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sizing.load import Load, TableLoad, distinct
from tests.support.weights import SALES, WEIGHTS

days = st.integers(1, 800)
sizes = st.floats(0.01, 20_000)
skews = st.floats(0, 4)


def table(gb: float, day: int, skew: float = 1.5, minutes: int = 5) -> TableLoad:
    return Load(gb_per_day=gb, weights=WEIGHTS, skew=skew, batch_minutes=minutes).table(SALES, day=day)


@given(st.integers(1, 5), st.integers(0, 5))
def test_distinct_places_are_the_mean_over_every_way_the_draws_can_fall(places: int, draws: int):
    ways = [len(set(way)) for way in product(range(places), repeat=draws)]
    assert distinct(places, draws) == pytest.approx(sum(ways) / len(ways))


@given(st.floats(1, 1e12), st.floats(0, 1e12))
def test_no_more_places_are_touched_than_there_are_or_were_drawn(places: float, draws: float):
    assert 0 <= distinct(places, draws) <= min(places, draws) * (1 + 1e-9) + 1e-6


def test_a_day_counted_by_hand():
    """10 GB of 1,000 bytes: 10,000,000 events, 288 batches; a quarter of the events are a new row."""
    load = Load(gb_per_day=10, weights=WEIGHTS)
    assert load.events_a_day == 10_000_000
    assert load.batch_events == pytest.approx(34_722.2, rel=1e-5)
    assert load.peak_events == pytest.approx(104_166.7, rel=1e-5)
    of_sales = load.table(SALES, day=2)
    assert of_sales.rows == 5_000_000
    assert of_sales.bytes == 500_000_000
    assert of_sales.new_rows == pytest.approx(8_680.6, rel=1e-5)


@given(sizes, days, skews)
def test_a_batch_changes_no_row_twice_and_none_that_is_not_there(gb: float, day: int, skew: float):
    found = table(gb, day, skew)
    old = sum(found.changed_by_age)
    assert len(found.changed_by_age) == day
    assert old <= found.rows * (1 + 1e-9)
    assert old <= found.load.batch_events - found.new_rows + 1e-6
    assert found.changed_rows == pytest.approx(found.new_rows + old)


@given(sizes, days, st.floats(0, 3), st.floats(0.1, 1))
def test_the_more_skew_the_fewer_rows_of_old_keys(gb: float, day: int, skew: float, more: float):
    old, older = (sum(table(gb, day, each).changed_by_age[day // 2 :]) for each in (skew, skew + more))
    assert older <= old * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize(
    "wrong",
    [{"gb_per_day": 0}, {"gb_per_day": float("nan")}, {"batch_minutes": 0}, {"batch_minutes": 1441}, {"peak": 0.5}],
)
def test_a_load_that_makes_no_sense_is_refused(wrong: dict[str, Any]):
    with pytest.raises(ContractError, match="sizing needs"):
        replace(Load(gb_per_day=1, weights=WEIGHTS), **wrong)
