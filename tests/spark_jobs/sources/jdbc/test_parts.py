"""The parts of a table hold every row once, whatever its key: checked with a real SQL engine."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import ContractError
from spark_jobs.sources.jdbc.parts import MOST_PARTS, Part, cut, part_count, to_bound

FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, tzinfo=UTC)
numbers = st.integers(-(2**62), 2**62)
moments = st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None)).map(lambda m: m.replace(microsecond=0))


def found_in(kind: ColumnKind, parts: list[Part], values: list[object]) -> list[int]:
    """Of each value how many parts it is in."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows_of_it (place INTEGER, key)")
    database.executemany("INSERT INTO rows_of_it VALUES (?, ?)", enumerate(values))
    counts = [0] * len(values)
    for part in parts:
        query = " ".join(("SELECT place FROM rows_of_it WHERE", part.predicate("key", kind)))
        for (place,) in database.execute(query):
            counts[place] += 1
    return counts


@given(st.lists(numbers, min_size=1, max_size=20), st.lists(numbers, max_size=5), st.integers(1, 40))
def test_every_number_is_in_one_part(keys: list[int], later: list[int], wanted: int):
    """Keys that came after the ends were queried, and rows without one, among them."""
    parts = list(cut(min(keys), max(keys), wanted))
    values: list[object] = [*keys, *later, None]
    assert found_in(ColumnKind.INTEGER, parts, values) == [1] * len(values)


@given(st.lists(moments, min_size=1, max_size=20), st.lists(moments, max_size=5), st.integers(1, 40))
@pytest.mark.parametrize("kind", [ColumnKind.DATE, ColumnKind.TIMESTAMP])
def test_every_date_and_time_is_in_one_part(kind: ColumnKind, keys: list[datetime], later: list[datetime], wanted: int):
    texts = [as_text(kind, moment) for moment in (*keys, *later)]
    low, high = (to_bound(kind, text, "key") for text in (min(texts[: len(keys)]), max(texts[: len(keys)])))
    values: list[object] = [*texts, None]
    assert found_in(kind, list(cut(low, high, wanted)), values) == [1] * len(values)


def as_text(kind: ColumnKind, moment: datetime) -> str:
    return moment.date().isoformat() if kind is ColumnKind.DATE else moment.isoformat()


@given(numbers, st.integers(0, 10**6), st.integers(1, 2 * MOST_PARTS))
def test_parts_are_alike_and_as_many_as_are_wanted(low: int, width: int, wanted: int):
    parts = list(cut(low, low + width, wanted))
    assert len(parts) == part_count(low, low + width, wanted) == min(wanted, width + 1, MOST_PARTS)
    assert (parts[0].start, parts[-1].end) == (None, None)
    ends = [low, *(part.start for part in parts if part.start is not None), low + width + 1]
    widths = {end - start for start, end in pairwise(ends)}
    assert max(widths) - min(widths) <= 1


def test_bounds_are_whole_numbers_below_the_value():
    assert to_bound(ColumnKind.DECIMAL, "-1.5", "amount") == -2
    assert to_bound(ColumnKind.INTEGER, "18446744073709551615", "id") == 2**64 - 1
    assert to_bound(ColumnKind.DATE, "1970-01-03", "day") == (date(1970, 1, 3) - date(1970, 1, 1)).days
    noon = FIRST + timedelta(hours=12)
    text = noon.replace(tzinfo=None).isoformat(sep=" ") + ".999"
    assert to_bound(ColumnKind.TIMESTAMP, text, "at") == int(noon.timestamp())


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ColumnKind.DATE, "infinity"),
        (ColumnKind.DATE, "0044-03-15 BC"),
        (ColumnKind.DECIMAL, "NaN"),
        (ColumnKind.TIMESTAMP, "-infinity"),
    ],
)
def test_what_no_parts_can_be_made_by_is_refused(kind: ColumnKind, text: str):
    with pytest.raises(ContractError, match="choose another column"):
        to_bound(kind, text, "key")
