"""Single values: what fits is kept exactly, what does not is rejected, and nothing in between is rounded."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import RejectedRecordError
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType
from spark_jobs.sources.values import (
    CONNECT_DECIMAL,
    build_converter,
    build_schema_converter,
    read_decimal,
    read_integer,
    read_text,
    read_timestamp,
)

AMOUNT = ColumnSpec(name="amount", source="Amount", type=ColumnType.DECIMAL, precision=18, scale=4)
NUMBER = ColumnSpec(name="number", source="No", type=ColumnType.BIGINT)
FLAG = ColumnSpec(name="flag", source="Flag", type=ColumnType.BOOLEAN)
MOMENT = ColumnSpec(name="moment", source="Moment", type=ColumnType.TIMESTAMP)
NAME = ColumnSpec(name="name", source="Name", type=ColumnType.STRING, max_length=5)

FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

numbers = st.integers() | st.integers(-(2**63) - 2, -(2**63) + 2) | st.integers(2**63 - 2, 2**63 + 2)
texts = st.text(max_size=7) | st.from_regex(r"-?[0-9]{1,16}\.[0-9]{3,5}", fullmatch=True)
anything = numbers | texts | st.booleans() | st.decimals() | st.floats() | st.lists(st.integers(), max_size=1)
amounts = st.integers(-(10**18) + 1, 10**18 - 1).map(lambda unscaled: Decimal(unscaled).scaleb(-4))


@given(amounts)
def test_every_decimal_that_fits_is_kept_exactly(amount):
    read = build_converter(AMOUNT, "sqlserver")
    assert read(str(amount)) == amount
    assert read(str(amount)).as_tuple().exponent == -4
    assert read(amount) == amount


@pytest.mark.parametrize("text", ["1_000", " 7", "7\n", "\u0667", "", "0x7", "1e", ".", "--1", "NaN", "Infinity"])
def test_text_that_only_python_would_take_for_a_number_is_rejected(text):
    for column in (AMOUNT, NUMBER):
        with pytest.raises(RejectedRecordError):
            build_converter(column, "sqlserver")(text)


@pytest.mark.parametrize(("text", "number"), [("+7", 7), ("-007", -7), ("9223372036854775807", 2**63 - 1)])
def test_a_number_may_be_text(text, number):
    assert build_converter(NUMBER, "sqlserver")(text) == number
    assert build_converter(AMOUNT, "sqlserver")(text[:6]) == int(text[:6])


@given(amounts, st.integers(0, 6))
def test_connects_decimal_is_the_same_number(amount, scale):
    """Big-endian two's complement of the unscaled number, base64; its scale is in the schema, as text."""
    read = build_schema_converter(
        AMOUNT, {"type": "bytes", "name": CONNECT_DECIMAL, "parameters": {"scale": str(scale)}}
    )
    assert read is not None
    unscaled = int(amount.scaleb(scale).to_integral_value())
    packed = base64.b64encode(unscaled.to_bytes(12, "big", signed=True)).decode()
    expected = Decimal(unscaled).scaleb(-scale)
    if abs(expected) < 10**14 and scale <= 4:
        assert read(packed) == expected


@given(st.decimals(allow_nan=True, allow_infinity=True) | amounts.map(lambda amount: amount * 10))
def test_a_decimal_is_kept_or_rejected_but_never_rounded(number):
    fits = number.is_finite() and abs(number) < 10**14 and number == Decimal(int(number * 10**4)).scaleb(-4)
    read = build_converter(AMOUNT, "sqlserver")
    if fits:
        assert read(str(number)) == number
    else:
        with pytest.raises(RejectedRecordError):
            read(str(number))


@pytest.mark.parametrize("value", [True, [], {}, "", " ", "1,5", "-", "١.٥x", "!!!=", b"12"])
def test_what_is_no_decimal(value):
    read = build_schema_converter(AMOUNT, {"type": "bytes", "name": CONNECT_DECIMAL, "parameters": {"scale": "4"}})
    assert read is not None
    for convert in (build_converter(AMOUNT, "sqlserver"), read):
        with pytest.raises(RejectedRecordError) as caught:
            convert(value)
        assert caught.value.reason == "bad_decimal"


@given(st.integers(-(2**65), 2**65))
def test_integers_are_64_bits_as_number_or_text(number):
    read = build_converter(NUMBER, "sqlserver")
    for value in (number, str(number)):
        if -(2**63) <= number < 2**63:
            assert read(value) == number
        else:
            with pytest.raises(RejectedRecordError):
                read(value)


@given(st.integers(0, (LAST - FIRST) // MICROSECOND).map(lambda microseconds: FIRST + microseconds * MICROSECOND))
def test_every_moment_of_the_calendar(moment):
    milliseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    read = build_converter(MOMENT, "sqlserver")
    assert read(milliseconds) == moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert read(moment.isoformat()) == moment


@pytest.mark.parametrize("value", [10**18, -(10**17), 1.5, True, "", "12", "1712010102034", "2026-02-30", [], {}])
def test_what_is_no_moment(value):
    with pytest.raises(RejectedRecordError) as caught:
        build_converter(MOMENT, "sqlserver")(value)
    assert caught.value.reason == "bad_timestamp"


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (1, True), (0, False)])
def test_booleans(value, expected):
    assert build_converter(FLAG, "sqlserver")(value) is expected


@pytest.mark.parametrize("value", [2, -1, "true", "1", [], 1.0, Decimal(1)])
def test_what_is_no_boolean(value):
    with pytest.raises(RejectedRecordError):
        build_converter(FLAG, "sqlserver")(value)


@given(st.text(max_size=8))
def test_text_is_kept_up_to_its_length(text):
    read = build_converter(NAME, "sqlserver")
    if len(text) <= 5:
        assert read(text) == text
    else:
        with pytest.raises(RejectedRecordError):
            read(text)


@given(anything)
def test_what_is_read_at_once_is_what_the_readers_give(value):
    """The common values take a short way; the readers, which know all of them, say the same, to the letter."""
    readers = (
        (NUMBER, lambda: read_integer(value, NUMBER)),
        (AMOUNT, lambda: read_decimal(value, AMOUNT)),
        (NAME, lambda: read_text(value, NAME)),
        (MOMENT, lambda: read_timestamp(value, MOMENT, Decimal(1000))),
    )
    for column, read in readers:
        assert outcome_of(partial(build_converter(column, "sqlserver"), value)) == outcome_of(read)


def outcome_of(read: Callable[[], Any]) -> tuple[str, str]:
    """The value with its type and digits, or why there is none."""
    try:
        value = read()
    except RejectedRecordError as error:
        return str(error.reason), error.detail
    return type(value).__name__, repr(value)


@pytest.mark.parametrize(
    ("scale", "text", "unscaled"),
    [(0, "12345", 12345), (0, "-7", -7), (0, "1e2", 100), (5, "0.12345", 12345), (5, "-0.5", -50000), (5, ".1", 10000)],
)
def test_a_decimal_may_have_no_digits_before_its_point_or_none_behind_it(scale, text, unscaled):
    read = build_converter(replace(AMOUNT, precision=5, scale=scale), "sqlserver")
    assert read(text).as_tuple() == Decimal(unscaled).scaleb(-scale).as_tuple()
    for wrong in ("123456", "1.123456", "0.0000001"):
        with pytest.raises(RejectedRecordError):
            read(wrong)
