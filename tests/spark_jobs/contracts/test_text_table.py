"""Tables that fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.text_table import format_table, tables_within

HEADER = ("check", "rows", "what it is")
ROWS = [("sales.key_is_unique", 12_345, "word " * 60), ("x" * 70, None, "short")]


def test_a_table_is_as_wide_as_its_texts() -> None:
    assert max(map(len, format_table(HEADER, ROWS).splitlines())) > 300


@pytest.mark.parametrize("width", [60, 100])
def test_long_texts_are_folded_and_numbers_are_whole(width: int) -> None:
    with tables_within(width):
        text = format_table(HEADER, ROWS)
    assert max(map(len, text.splitlines())) <= width
    assert "12,345" in text
    assert text.count("word") == 60
    assert text.count("x") == 70
    assert max(map(len, format_table(HEADER, ROWS).splitlines())) > 300


def test_a_type_is_cut_in_two_only_when_there_is_no_other_way() -> None:
    header = ("column", "type", "before", "after", "what it is", "why")
    rows = [("contract_total", "decimal(28,4)", "a few words", "some other words", "word " * 9, "reason " * 9)] * 2
    for width in (100, 80):
        with tables_within(width):
            text = format_table(header, rows)
        assert max(map(len, text.splitlines())) <= width
        assert text.count("contract_total") == text.count("decimal(28,4)") == 2
        assert text.count("word ") + text.count("words") + text.count("word\n") >= 2 * 9
    with tables_within(60):
        text = format_table(header, rows)
    assert max(map(len, text.splitlines())) <= 60
    assert "decimal(28,4)" not in text, "every column is as narrow as its words allow"


@given(
    st.lists(st.tuples(*[st.lists(st.text("abc", min_size=1, max_size=30), max_size=6)] * 3), max_size=4),
    st.integers(min_value=30, max_value=90),
)
def test_no_word_is_cut_while_there_is_room_for_all_of_them(rows: list[tuple[list[str], ...]], width: int) -> None:
    header = ("one", "two", "three")
    columns = [[name, *(word for row in rows for word in row[at])] for at, name in enumerate(header)]
    needed = sum(max(8, *map(len, words)) for words in columns) + 2 * len(header)
    with tables_within(width):
        text = format_table(header, [[" ".join(words) for words in row] for row in rows])
    if needed <= width:
        assert max(map(len, text.splitlines())) <= width
        assert sorted(text.split()) == sorted([*(w for c in columns for w in c), *_rules(text)])


def _rules(text: str) -> list[str]:
    return [word for word in text.split() if set(word) == {"-"}]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text("ab c", max_size=50), st.text("xy", max_size=50)), max_size=6))
def test_nothing_is_lost_by_folding(rows: list[tuple[str, str]]) -> None:
    def letters(text: str) -> list[str]:
        return sorted(text.replace(" ", "").replace("\n", "").replace("-", ""))

    wide = format_table(("one", "two"), rows)
    with tables_within(40):
        assert letters(format_table(("one", "two"), rows)) == letters(wide)
