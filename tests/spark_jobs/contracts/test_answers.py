"""Printed rows: the same text for the values that either engine gives."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.answers import Answer, PrintedForm
from spark_jobs.contracts.errors import ContractError

ROW = (
    *(1, Decimal("1.50"), Decimal("1E+3"), None, "", 'a,"b"\n', True, date(2026, 1, 2)),
    *(
        datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC).replace(tzinfo=None),
        datetime(2026, 1, 2, tzinfo=UTC),
        b"\x00\xff",
    ),
    *(bytearray(b"A"), [1, None]),
)
ANSWER = Answer.of([f"c{n}" for n in range(len(ROW))], [ROW], None)


def test_json_has_every_value_exactly() -> None:
    (line,) = ANSWER.lines(PrintedForm.JSON)
    assert [*json.loads(line).values()] == [
        *(1, "1.50", "1000", None, "", 'a,"b"\n', True, "2026-01-02"),
        *("2026-01-02T03:04:05.000678Z", "2026-01-02T00:00:00Z", "00ff", "41", [1, None]),
    ]


def test_csv_tells_null_from_an_empty_text() -> None:
    header, line = ANSWER.lines(PrintedForm.CSV)
    assert header.startswith("c0,c1,")
    assert line.startswith('1,1.50,1000,,"","a,""b""\n",true,2026-01-02,2026-01-02T03:04:05.000678Z,')


def test_a_table_is_for_people() -> None:
    (text,) = ANSWER.lines(PrintedForm.TABLE)
    assert "NULL" in text
    assert r'a,"b"\n' in text
    assert "2026-01-02 03:04:05.000678" in text
    assert len(text.splitlines()) == 3


def test_more_rows_than_wanted_are_counted_and_not_kept() -> None:
    rows = [(1,), (2,), (3,)]
    assert Answer.of(["a"], rows, 2) == Answer(columns=("a",), rows=((1,), (2,)), has_more=True)
    assert not Answer.of(["a"], rows, 3).has_more
    assert not Answer.of(["a"], rows, None).has_more


def test_json_refuses_two_columns_of_one_name() -> None:
    with pytest.raises(ContractError, match="two columns are called"):
        list(Answer.of(["a", "A"], [(1, 2)], None).lines(PrintedForm.JSON))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_any_text_comes_back_from_csv_and_json(rows: list[tuple[str, str]]) -> None:
    answer = Answer.of(["a", "b"], rows, None)
    text = "\n".join(answer.lines(PrintedForm.CSV)) + "\n"
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))][1:] == rows
    assert [tuple(json.loads(line).values()) for line in answer.lines(PrintedForm.JSON)] == rows
