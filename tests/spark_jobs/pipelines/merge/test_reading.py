"""Windows of the log, whose commits began at some time to note which columns of an event did not travel."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.pipelines.merge.reading import apart


def instant(number: int) -> Instant:
    return Instant(f"2026010100000{number}000") if number else BEGINNING


@given(
    bounds=st.tuples(st.integers(0, 9), st.integers(1, 9)).filter(lambda two: two[0] < two[1]), began=st.integers(1, 10)
)
def test_each_commit_is_read_once_and_by_its_own_notes(bounds: tuple[int, int], began: int) -> None:
    """Commits 1 to 9, of which those from ``began`` on have notes."""
    window = InstantRange(after=instant(bounds[0]), up_to=instant(bounds[1]))
    parts = apart(window, [instant(number) for number in range(1, began)])
    read = [(n, is_noted) for n in range(1, 10) for part, is_noted in parts if part.after < instant(n) <= part.up_to]
    assert read == [(n, n >= began) for n in range(bounds[0] + 1, bounds[1] + 1)]
    assert all(not part.is_empty for part, _ in parts)
