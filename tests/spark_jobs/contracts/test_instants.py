"""Instants as text and as moments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant, format_instant, moment_of

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
since_1970 = st.integers(-(2**51), 2**57).map(lambda number: timedelta(microseconds=number))
moments = st.builds(lambda age, zone: (datetime(1970, 1, 1, tzinfo=UTC) + age).astimezone(zone), since_1970, zones)


@given(moments)
def test_a_moment_comes_back_to_the_millisecond(moment: datetime):
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert moment_of(format_instant(moment)) == whole
    assert moment_of(format_instant(moment)).tzinfo is UTC


@given(moments, moments)
def test_instants_sort_as_moments_do(one: datetime, other: datetime):
    if format_instant(one) < format_instant(other):
        assert one < other


@pytest.mark.parametrize("text", ["", "2026", "2026010203040506x", "202601020304050607"])
def test_what_is_no_instant_is_refused(text: str):
    with pytest.raises(ContractError, match="is not an instant; give 17 digits"):
        moment_of(Instant(text))
