"""Many numbers as a few ranges, which let files be passed over without a scope in them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.marts.scopes import cut_at_gaps


@given(st.sets(st.integers(-(2**63), 2**63 - 1)), st.integers(1, 5))
def test_every_number_is_in_a_range_and_no_other_cut_leaves_less_between(numbers, most):
    values = sorted(numbers)
    ranges = cut_at_gaps(values, most)
    assert len(ranges) <= most
    assert [value for value in values if not any(first <= value <= last for first, last in ranges)] == []
    assert {end for range_ in ranges for end in range_} <= numbers
    assert list(ranges) == sorted(ranges)
    gaps = sorted((b - a - 1 for a, b in pairwise(values)), reverse=True)
    spanned = sum(last - first + 1 for first, last in ranges)
    assert spanned == len(values) + sum(gaps[most - 1 :])


def test_neighbours_are_one_range():
    assert cut_at_gaps([], 4) == ()
    assert cut_at_gaps([7], 4) == ((7, 7),)
    assert cut_at_gaps([1, 2, 3, 9, 10, 50], 4) == ((1, 3), (9, 10), (50, 50))
    assert cut_at_gaps([1, 2, 3, 9, 10, 50], 2) == ((1, 10), (50, 50))
