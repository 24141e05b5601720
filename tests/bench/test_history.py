"""A history of any size: each sale opens in one of its 24 months, and the first ones are checked by eye.

With 24,000 sales between 2024-06-01 and 2026-06-01 (730 days) one opens every 43.8 minutes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.history import END, EVENTS_A_SALE, MONTHS, START, History, month_start
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)


def opened(history: History, sale: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=history.opened_ms(sale))


def test_months_run_from_start_to_end():
    starts = [month_start(number) for number in range(MONTHS + 1)]
    assert starts[0] == START
    assert starts[7] == datetime(2025, 1, 1, tzinfo=UTC)
    assert starts[-1] == END
    assert starts == sorted(set(starts))


def test_sales_open_one_after_another():
    history = History(spec=SPEC, events=24_000 * EVENTS_A_SALE)
    assert history.sales == 24_000
    assert opened(history, 1) == START
    assert opened(history, 2) == START + timedelta(minutes=43, seconds=48)
    assert opened(history, 24_000) == END - timedelta(minutes=43, seconds=48)
    assert history.sales_of_month(0) == range(1, 988)  # 30 of 730 days


@given(events=st.integers(min_value=1, max_value=100_000_000), data=st.data())
def test_every_sale_is_of_the_month_it_opens_in(events, data):
    history = History(spec=SPEC, events=events)
    months = [history.sales_of_month(number) for number in range(MONTHS)]
    assert months[0].start == 1
    assert months[-1].stop == history.sales + 1
    assert all(before.stop == after.start for before, after in pairwise(months))
    number = data.draw(st.sampled_from([number for number in range(MONTHS) if months[number]]))
    for sale in (months[number][0], months[number][-1]):
        assert month_start(number) <= opened(history, sale) < month_start(number + 1)


@pytest.mark.parametrize(("events", "tasks"), [(1000, 2), (1_000_000, 4), (30_000_000, 120)])
def test_work_is_cut_by_size(events, tasks):
    assert History(spec=SPEC, events=events).tasks == tasks
