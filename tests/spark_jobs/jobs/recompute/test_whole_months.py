"""Dates of a recompute that cut a month of a mart with rows by month: all of the month would be computed, unwanted."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs.recompute import check
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.contexts import context_of

SETTINGS = Settings()
SPEC = load_lake_spec(SETTINGS.lake_spec)


def check_dates(layer: str, first: date, last: date) -> None:
    check(context_of("recompute", SETTINGS, spec=SPEC, layer=layer, from_date=str(first), to_date=str(last)))


DAYS = st.dates(min_value=date(2020, 1, 1), max_value=date(2026, 12, 31))


@given(DAYS, st.integers(0, 400))
@example(date(2026, 11, 1), 14)
@example(date(2026, 11, 2), 28)
@example(date(2026, 11, 1), 29)
def test_months_are_whole_or_the_whole_ones_are_named(first: date, days: int) -> None:
    last = first + timedelta(days=days)
    around = [first + timedelta(days=n) for n in range(-31, days + 32)]
    begin = min(day for day in around if (day.year, day.month) == (first.year, first.month))
    end = max(day for day in around if (day.year, day.month) == (last.year, last.month))
    if (first, last) == (begin, end):
        check_dates("slow", first, last)
    else:
        with pytest.raises(ContractError, match=rf"is computed by whole months; give --from {begin} --to {end}\b"):
            check_dates("slow", first, last)


def test_days_of_a_mart_by_day_may_be_any() -> None:
    check_dates("fast", date(2026, 11, 3), date(2026, 11, 15))
