"""Values at the edge of what a column can hold: refused for their own reason. test_mirrored.py has all the types."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.sources.source_types import MOST_TEXT, column_by_value, column_of


def read(type_: str, value: Any) -> str:
    return column_of("v", {"type": type_})[1](value)


@pytest.mark.parametrize(
    ("type_", "value", "reason", "detail"),
    [
        ("double", 10**400, Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("float", -(10**400), Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("double", Decimal("1e400"), Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("float", Decimal("-1e400"), Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("array", [Decimal("1e400")], Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("struct", {"a": {"b": Decimal("-1e400")}}, Reason.BAD_DECIMAL, "v is a number that nothing can hold"),
        ("string", "x" * (MOST_TEXT + 1), Reason.TOO_LONG, "v has 400001 characters, at most 400000"),
        ("string", "a\ud800b", Reason.NOT_UTF8, "v holds half a surrogate pair"),
        ("array", ["\udfff"], Reason.NOT_UTF8, "v holds half a surrogate pair"),
        ("array", ["x" * MOST_TEXT], Reason.TOO_LONG, "v has 400004 characters, at most 400000"),
    ],
)
def test_what_nothing_can_hold_is_refused(type_: str, value: Any, reason: Reason, detail: str):
    with pytest.raises(RejectedRecordError) as caught:
        read(type_, value)
    assert (caught.value.reason, caught.value.detail) == (reason, detail)


@pytest.mark.parametrize("value", [Decimal("1e400"), {"a": Decimal("1e400")}])
def test_nor_is_it_without_a_schema(value: Any):
    with pytest.raises(RejectedRecordError, match="v is a number that nothing can hold") as caught:
        column_by_value("v", value)
    assert caught.value.reason is Reason.BAD_DECIMAL


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_on_purpose_is_kept(text: str):
    assert read("double", text) == text
    assert read("array", [text]) == f'["{text}"]'


@pytest.mark.parametrize("text", ["x" * MOST_TEXT, "\u00eb\ud7ff\ue000\U0001f3e0"])
def test_the_longest_text_and_every_whole_character_are_kept(text: str):
    assert read("string", text) == text
    assert column_by_value("v", text) == ("string", text)


@pytest.mark.parametrize(("value", "text"), [(10**308, "1e+308"), (Decimal("-1e308"), "-1e+308")])
def test_the_largest_numbers_are_kept(value: Any, text: str):
    assert read("double", value) == text
