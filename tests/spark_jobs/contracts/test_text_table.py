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


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text("ab c", max_size=50), st.text("xy", max_size=50)), max_size=6))
def test_nothing_is_lost_by_folding(rows: list[tuple[str, str]]) -> None:
    def letters(text: str) -> list[str]:
        return sorted(text.replace(" ", "").replace("\n", "").replace("-", ""))

    wide = format_table(("one", "two"), rows)
    with tables_within(40):
        assert letters(format_table(("one", "two"), rows)) == letters(wide)
