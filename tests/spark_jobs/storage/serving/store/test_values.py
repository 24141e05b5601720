"""Values arrive to the last digit, whatever they are: rows made by Hypothesis, read back by each database's driver."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.serving.address import Database
from tests.support.serving import MART, Place, file_of, serve

SCHEMA = T.StructType(
    [
        T.StructField("number", T.LongType()),
        T.StructField("small", T.IntegerType()),
        T.StructField("amount", T.DecimalType(38, 4)),
        T.StructField("tiny", T.DecimalType(38, 38)),
        T.StructField("whole", T.DecimalType(38, 0)),
        T.StructField("name", T.StringType()),
        T.StructField("day", T.DateType()),
        T.StructField("at", T.TimestampType()),
        T.StructField("ratio", T.DoubleType()),
        T.StructField("select", T.BooleanType()),  # a reserved word of every database
        T.StructField("path", T.ArrayType(T.StringType())),
        T.StructField("raw", T.BinaryType()),
    ]
)


def decimals(scale: int) -> st.SearchStrategy[Decimal]:
    """Of 38 digits, also as Spark gives them: zero of scale 38 is 0E-38 there."""
    top = 10**38 - 1
    return st.integers(-top, top).map(lambda n: Decimal((int(n < 0), [int(d) for d in str(abs(n))], -scale)))


def values() -> st.SearchStrategy[tuple[Any, ...]]:
    columns = (
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-(2**31), 2**31 - 1),
        decimals(4),
        decimals(38),
        decimals(0),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        st.dates(date(1, 1, 1)),
        st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(tzinfo=None)),  # as Spark gives them
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
        st.binary(max_size=20).map(bytearray),
    )
    return st.tuples(*(st.none() | column for column in columns))


def in_python(value: Any, kind: T.DataType) -> Any:
    """A value as a driver gives it, in the type it has in the lake."""
    if value is None:
        return None
    match kind:
        case T.DecimalType():
            return value if isinstance(value, str) else f"{value:f}"
        case T.TimestampType():
            value = datetime.fromisoformat(value) if isinstance(value, str) else value
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        case T.DateType():
            return date.fromisoformat(value) if isinstance(value, str) else value
        case T.BooleanType():
            return bool(value)
        case T.BinaryType():
            return bytes(value)
        case T.ArrayType():
            return tuple(json.loads(value))
    return value


def as_expected(value: Any, kind: T.DataType) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, list):
        return tuple(value)
    return bytes(value) if isinstance(value, bytearray) else value


def test_what_is_served_is_what_was_there(place: Place):
    store, numbers = place.store(), count(1)
    columns = ", ".join(place_quote(place, name) for name in SCHEMA.names)

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.lists(values(), max_size=12))
    def check(rows: list[tuple[Any, ...]]) -> None:
        serve(store, next(numbers), rows, schema=SCHEMA)
        kinds = [field.dataType for field in SCHEMA.fields]
        found = place.query(f"SELECT {columns} FROM {MART}")
        assert Counter(tuple(map(in_python, row, kinds)) for row in found) == Counter(
            tuple(map(as_expected, row, kinds)) for row in rows
        )

    check()
    assert place.tables() == {MART, "served_marts"}


def place_quote(place: Place, name: str) -> str:
    return f"`{name}`" if place.database is Database.MYSQL else f'"{name}"'


def test_decimals_of_sqlite_have_all_their_digits_as_text(tmp_path):
    place = file_of(tmp_path / "s")
    serve(place.store(), 1, [(Decimal("12345678901234567890.1"),)], schema=_one(T.DecimalType(38, 4)))
    assert place.query(f"SELECT value, typeof(value) FROM {MART}") == [("12345678901234567890.1000", "text")]


def test_text_is_told_apart_by_its_bytes(place: Place):
    """Case, accents and blanks at the end: other values in the lake, other values here."""
    names = ["a", "A", "á", "ß", "ss", "🏠", "🏡"]
    serve(place.store(), 1, [(name,) for name in names], schema=_one(T.StringType()))
    assert len(place.query(f"SELECT value, COUNT(*) FROM {MART} GROUP BY value")) == len(names)
    assert place.query(f"SELECT value FROM {MART} WHERE value = 'A'") == [("A",)]


def test_the_character_that_postgresql_cannot_hold(place: Place):
    serve(place.store(), 1, [("a\0b",)], schema=_one(T.StringType()))
    expected = "a\N{REPLACEMENT CHARACTER}b" if place.database is Database.POSTGRESQL else "a\0b"
    ((found,),) = place.query(f"SELECT value FROM {MART}")
    assert found == expected


def test_long_text(place: Place):
    text = "path > " * 20_000
    serve(place.store(), 1, [(text,)], schema=_one(T.StringType()))
    assert place.query(f"SELECT value FROM {MART}") == [(text,)]


def test_nested_values_are_json(place: Place):
    inner = T.Row(unit=1, amount=Decimal("0E-18"), on=date(2026, 1, 2), at=datetime(2026, 1, 2, 3, tzinfo=UTC))
    schema = _one(T.ArrayType(T.StructType()))
    serve(place.store(), 1, [([inner, None],), ({date(2026, 1, 2): [b"\1"]},)], schema=schema)
    found = {json.dumps(json.loads(value), sort_keys=True) for (value,) in place.query(f"SELECT value FROM {MART}")}
    assert found == {
        '[{"amount": "0.000000000000000000", "at": "2026-01-02T03:00:00+00:00", "on": "2026-01-02", "unit": 1}, null]',
        '{"2026-01-02": ["01"]}',
    }


def test_within_json_what_is_no_number_is_text(place: Place):
    parts = [1.5, float("nan"), float("inf"), float("-inf"), None]
    serve(place.store(), 1, [(parts,)], schema=_one(T.ArrayType(T.DoubleType())))
    ((found,),) = place.query(f"SELECT value FROM {MART}")
    first, *texts, last = json.loads(found, parse_constant=pytest.fail)
    assert (first, last, [type(text) for text in texts]) == (1.5, None, [str] * 3)
    assert [repr(float(text)) for text in texts] == ["nan", "inf", "-inf"]


def test_a_time_without_a_zone_stays_the_time_on_the_clock(place: Place):
    at = datetime.fromisoformat("2026-03-29T02:30:00.123456")  # which clocks in Berlin leave out
    serve(place.store(), 1, [(at,), (None,)], schema=_one(T.TimestampNTZType()))
    found = [value for (value,) in place.query(f"SELECT value FROM {MART} ORDER BY value IS NULL")]
    assert [datetime.fromisoformat(value) if isinstance(value, str) else value for value in found] == [at, None]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused(place: Place, value):
    with pytest.raises(ContractError, match=f"mart {MART}: value: (nan|-?inf) is no number"):
        serve(place.store(), 1, [(1.5,), (value,)], schema=_one(T.DoubleType()))
    assert place.store().served(MART) is None


def test_a_type_that_no_database_has(place: Place):
    with pytest.raises(ContractError, match="type interval day to second cannot be served"):
        serve(place.store(), 1, [(None,)], schema=_one(T.DayTimeIntervalType()))


def _one(kind: T.DataType) -> T.StructType:
    return T.StructType([T.StructField("value", kind)])
