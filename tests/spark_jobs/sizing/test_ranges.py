"""The files of a table in ranges: rows counted key by key, and one range is the table without ranges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.sizing.files import KeyedFiles
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.ranges import Ranges, merged_share, ranged_targets, simulate_ranges
from spark_jobs.sizing.simulation import days_of, history_of
from tests.support.weights import SALES, WEIGHTS

LARGE = 2**20


def load_of(gb: float, skew: float = 1.5, minutes: int = 60) -> Load:
    return Load(gb_per_day=gb, weights=WEIGHTS, skew=skew, batch_minutes=minutes)


@given(st.integers(1, 60), st.integers(1, 70), st.floats(0, 4))
def test_a_row_is_in_the_range_of_the_day_its_key_was_new(day: int, days: int, skew: float):
    table, ranges = load_of(1, skew).table(SALES, day=day), Ranges(days=days, buckets=3)
    wanted = dict[int, float]()
    for new_on in range(1, day + 1):
        number = next(number for number in range(day) if new_on <= (number + 1) * days)
        wanted[number] = wanted.get(number, 0) + table.changed_by_age[day - new_on]
        wanted[number] += table.new_rows if new_on == day else 0
    assert ranges.rows(table) == pytest.approx([wanted[number] for number in sorted(wanted)])
    assert sum(ranges.rows(table)) == pytest.approx(table.changed_rows)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 20), st.integers(1, 8), st.integers(2, 60), st.integers(10, 400))
def test_one_range_is_the_table_without_ranges(day: int, buckets: int, log_files: int, percent: int):
    """Batches are so large that each touches every file group."""
    load = load_of(5)
    targets = ServiceTargets(compact_log_files=log_files, compact_log_percent=percent, bucket_mb=LARGE)
    files = KeyedFiles(history=history_of(load, targets), buckets=buckets, spread=lambda count: [(1.0, 1.0)])
    for each, looks in days_of(load, day):
        table = load.table(SALES, day=each)
        for commits in looks:
            files.write(commits, touched=buckets, new=table.new_bytes, logs=table.log_bytes)
            files.serve()
    found = simulate_ranges(load, SALES, targets, Ranges(days=day, buckets=buckets), day)
    assert (found.groups, found.touched_ranges) == (buckets, 1)
    numbers = found.written_so_far, found.most_files, found.bytes
    assert numbers == pytest.approx((files.history.written, files.history.most_files, files.base + files.logs))


@given(st.integers(1, 500), st.floats(0, 1e6), st.integers(1, 300))
def test_no_more_file_groups_are_merged_than_have_a_log_file(buckets: int, rows: float, commits: int):
    assert 0 <= merged_share(buckets, rows, commits) <= min(1, rows * commits / buckets) * (1 + 1e-9) + 1e-9


def test_ranges_pay_when_events_turn_to_new_keys():
    """After a year of 10 GB a day a commit touches few of the file groups, and of the oldest range hardly one."""
    load = Load(gb_per_day=10, weights=WEIGHTS, skew=3)
    table, targets = load.table(SALES, day=365), ranged_targets(ServiceTargets(), load)
    ranges = Ranges.advised(table, targets)
    found = simulate_ranges(load, SALES, targets, ranges, 365)
    assert ranges.count(365) == 37
    assert found.groups / 37 == ranges.buckets
    assert found.touched < found.groups / 3
    assert ranges.rows(table)[0] < 0.1
    assert ranges.width(table) == pytest.approx(table.rows / 365 * ranges.days, rel=0.1)
