"""Times that have not come yet: of a run, of a commit; clocks of two machines may differ by five minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.clocks import (
    MARGIN,
    CommitAheadError,
    MartAheadError,
    check_run_clock,
    is_ahead,
    is_instant_ahead,
)
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import END, format_instant

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@given(st.integers(-(10**9), 10**9))
def test_a_time_is_ahead_when_no_two_clocks_can_differ_by_so_much(milliseconds: int):
    moment = NOW + timedelta(milliseconds=milliseconds)
    assert is_ahead(moment, NOW) == is_instant_ahead(format_instant(moment), NOW) == (milliseconds > 300_000)


@pytest.mark.parametrize("clock", [NOW - timedelta(days=3650), NOW, NOW + MARGIN])
def test_a_run_may_have_any_clock_that_has_come(clock: datetime):
    check_run_clock(clock, NOW)


def test_a_clock_that_has_not_come_is_refused_with_the_time_that_it_is():
    with pytest.raises(
        ContractError, match=r"--clock 2036-01-01T00:00:00Z has not come yet \(it is 2026-11-28T12:00:00Z\)"
    ):
        check_run_clock(datetime(2036, 1, 1, tzinfo=UTC), NOW)


def test_errors_name_the_command_that_helps():
    assert "doctor repair --table sales_log" in str(CommitAheadError(table="sales_log", instant=END, now=NOW))
    error = MartAheadError(mart="fast_daily_deals", layer="fast", clock=NOW)
    assert str(error).endswith("mart --layer fast --mart fast_daily_deals --full")
