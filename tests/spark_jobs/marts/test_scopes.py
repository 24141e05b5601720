"""Many numbers as a few ranges, and texts as folders, by which files that hold none of the scopes are skipped."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.marts.scopes import cut_at_gaps, folders_of

VALUES: st.SearchStrategy[Any] = st.sampled_from(["2026-01", "2026-02", "a b", "", None, 7, date(2026, 1, 1)])


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


@given(st.none() | st.sets(VALUES))
def test_the_folders_of_values_have_their_rows(values: set[Any] | None) -> None:
    """An unknown value, and what is no text, may be in a folder of another name."""
    found = folders_of(None if values is None else tuple(values), "month")
    is_certain = values is not None and all(type(value) is str for value in values)
    expected = {f"month={value}" for value in values or ()} if is_certain else None
    assert (None if found is None else set(found)) == expected
    assert folders_of(("2026-01",), "") is None
