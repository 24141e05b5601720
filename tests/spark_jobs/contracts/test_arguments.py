"""Arguments: clocks and intervals are in UTC, and what makes no sense is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import Interval, format_clock, parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange, parse_instant

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T14:00:00+02:00", "2026-01-31T12:00", "20260131T12"]
)
def test_one_moment_written_in_several_ways(text):
    assert parse_clock(text) == NOON
    assert parse_clock(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["", "now", "yesterday", "2026-13-01", "1700000000", "12:00"])
def test_what_is_no_time(text):
    with pytest.raises(ContractError, match="is not a time; give ISO 8601"):
        parse_clock(text)


zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.integers(0, 2**33).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)), zones)
def test_format_and_parse_are_inverse(moment, zone):
    assert parse_clock(format_clock(moment.astimezone(zone))) == moment
    assert format_clock(moment).endswith("Z")


def test_an_interval_holds_something():
    assert Interval(start=NOON, end=NOON + timedelta(days=1))
    for end in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(ContractError, match="is empty"):
            Interval(start=NOON, end=end)


@pytest.mark.parametrize("text", ["", "2026", "20261121101010", "20261121T101010123", "2026112110101012x"])
def test_what_is_no_instant(text):
    with pytest.raises(ContractError, match="is not an instant"):
        parse_instant(text)
    with pytest.raises(ContractError, match="is not an instant"):
        InstantRange(after=BEGINNING, up_to=text)


def test_a_range_is_open_below_and_closed_above():
    first, second = Instant("20261121101010123"), Instant("20261121101010124")
    assert InstantRange(after=first, up_to=first).is_empty
    assert not InstantRange(after=first, up_to=second).is_empty
    assert InstantRange(after=second, up_to=first).is_empty
