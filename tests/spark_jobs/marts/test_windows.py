"""Windows and ranges of time against a walk through the calendar, unit by unit, and by eye at their ends."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import Interval
from spark_jobs.lake_spec.marts import TimeUnit, WindowSpec
from spark_jobs.marts.windows import in_utc, interval_range, months_before, values_of, window_range

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu")
CLOCKS = st.integers(0, 10 * 365 * 24 * 60).map(lambda m: datetime(2019, 1, 1, tzinfo=UTC) + timedelta(minutes=m))
DATES = st.dates(date(2019, 1, 1), date(2029, 12, 31))


def same_day(year: int, month: int, day: int) -> date:
    """That day, or the month's last one."""
    while True:
        try:
            return date(year, month, day)
        except ValueError:
            day -= 1


@given(clock=CLOCKS, zone=st.sampled_from(ZONES), length=st.integers(1, 100))
@example(clock=datetime(2026, 3, 10, 12, tzinfo=UTC), zone="Asia/Kathmandu", length=1)
def test_a_window_of_hours_has_so_many_and_ends_with_the_clocks_own(clock, zone, length):
    window = window_range(WindowSpec(length=length, unit=TimeUnit.HOUR), clock, zone, unit=TimeUnit.HOUR)
    hours = values_of(window, TimeUnit.HOUR)
    assert len(hours) == length
    assert (hours[0], hours[-1]) == (window.first, window.last)
    assert window.last <= clock < window.last + HOUR
    assert {hour - earlier for earlier, hour in pairwise(hours)} <= {HOUR}


@given(clock=CLOCKS, zone=st.sampled_from(ZONES), length=st.integers(1, 800))
@example(clock=datetime(2026, 3, 10, 22, 30, tzinfo=UTC), zone="Europe/Paris", length=1)
@example(clock=datetime(2026, 3, 10, 23, 0, tzinfo=UTC), zone="Europe/Paris", length=1)
@example(clock=datetime(2026, 3, 11, 3, 59, tzinfo=UTC), zone="America/New_York", length=7)
def test_a_window_of_days_has_so_many_and_ends_with_the_companys_today(clock, zone, length):
    window = window_range(WindowSpec(length=length, unit=TimeUnit.DAY), clock, zone, unit=TimeUnit.DAY)
    days = values_of(window, TimeUnit.DAY)
    today = clock.astimezone(ZoneInfo(zone)).date()
    assert days == [(today - DAY * back).isoformat() for back in reversed(range(length))]


@given(clock=CLOCKS, zone=st.sampled_from(ZONES), years=st.integers(1, 4), is_months=st.booleans())
@example(clock=datetime(2024, 2, 29, 12, tzinfo=UTC), zone="UTC", years=1, is_months=False)
@example(clock=datetime(2025, 2, 28, 12, tzinfo=UTC), zone="UTC", years=1, is_months=True)
def test_a_window_of_years_begins_the_day_after_the_same_day(clock, zone, years, is_months):
    unit, length = (TimeUnit.MONTH, 12 * years) if is_months else (TimeUnit.YEAR, years)
    today = clock.astimezone(ZoneInfo(zone)).date()
    window = window_range(WindowSpec(length=length, unit=unit), clock, zone, unit=TimeUnit.DAY)
    before = same_day(today.year - years, today.month, today.day)
    assert (window.first, window.last) == ((before + DAY).isoformat(), today.isoformat())
    months = window_range(WindowSpec(length=length, unit=unit), clock, zone, unit=TimeUnit.MONTH)
    assert (months.first, months.last) == ((before + DAY).isoformat()[:7], today.isoformat()[:7])


@given(day=DATES, months=st.integers(0, 60))
def test_months_before_are_counted_one_by_one(day, months):
    year, month = day.year, day.month
    for _ in range(months):
        year, month = (year - 1, 12) if month == 1 else (year, month - 1)
    assert months_before(day, months) == same_day(year, month, day.day)


@given(first=DATES, days=st.integers(1, 500))
@example(first=date(2026, 1, 1), days=31)
@example(first=date(2026, 1, 31), days=2)
def test_an_interval_touches_each_of_its_days_hours_and_months_and_no_other(first, days):
    """The end of an interval is excluded: the day, the month or the hour that begins there is no part of it."""
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    interval = Interval(start=start, end=start + DAY * days)
    every = [first + DAY * number for number in range(days)]
    of_days = interval_range(interval, TimeUnit.DAY)
    assert values_of(of_days, TimeUnit.DAY) == [day.isoformat() for day in every]
    of_months = interval_range(interval, TimeUnit.MONTH)
    assert values_of(of_months, TimeUnit.MONTH) == sorted({day.isoformat()[:7] for day in every})
    of_hours = interval_range(interval, TimeUnit.HOUR)
    assert (of_hours.first, of_hours.last < interval.end) == (start, True)
    assert of_hours.last >= interval.end - timedelta(microseconds=1)
    assert values_of(of_hours, TimeUnit.HOUR) == [start + HOUR * number for number in range(24 * days)]


@pytest.mark.parametrize(("value", "expected"), [("2026-01", "2026-01"), (None, None), (7, 7)])
def test_what_is_no_time_stays_as_it_is(value, expected):
    assert in_utc(value) == expected


def test_a_time_without_a_zone_is_one_of_utc():
    five = datetime(2026, 1, 1, 5, tzinfo=UTC)
    assert in_utc(five.replace(tzinfo=None)) == in_utc(five) == five
    paris = datetime(2026, 1, 1, 5, tzinfo=ZoneInfo("Europe/Paris"))
    assert in_utc(paris) == paris
