"""Row images of mirrored tables: every type that a Connect schema names, values without one, and what cannot be read.

Texts are what Spark turns back into the same value; the test of the whole way is tests/laws/test_mirrors.py.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import OtherTableError, Reason, RejectedRecordError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sources import mirrored
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.mirrored import MirroredRow
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.broken_mirrors import UNREADABLE
from tests.support.mirrors import TYPES, UNAVAILABLE, change, decimal_field, line_of, packed

ID = {"id": TYPES["int"]}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def spec_of(**entry: Any) -> LakeSpec:
    mirror = {"name": "orders", "database": "shop", "table": "orders", "key": ["id"], **entry}
    document = {"lake": "shop", "source": {"topics": ["shop*"]}, "log": "log", "quarantine": "bad", "mirrors": [mirror]}
    return parse_lake_spec(document)


def decode(record: Any, spec: LakeSpec | None = None) -> DecodedEvent:
    event = EnvelopeDecoder(spec or spec_of()).decode(line_of(record))
    assert event is not None
    return event


def row_of(row: dict[str, Any], fields: dict[str, Any] | None = None, **entry: Any) -> MirroredRow:
    known = None if fields is None else {**ID, **fields}
    mirrored = decode(change("c", "orders", {"id": 1, **row}, 5, fields=known), spec_of(**entry)).mirrored
    assert mirrored is not None
    return mirrored


def value_of(field: dict[str, Any], value: Any) -> tuple[str, str | None]:
    row = row_of({"v": value}, {"v": field})
    return dict(row.types)["v"], dict(row.values)["v"]


GOOD: list[tuple[dict[str, Any], Any, str, str]] = [
    ({"type": "int8"}, -128, "int", "-128"),
    ({"type": "int16"}, 7, "int", "7"),
    ({"type": "int32"}, -(2**31), "int", str(-(2**31))),
    ({"type": "int64"}, 2**63 - 1, "bigint", str(2**63 - 1)),
    ({"type": "int64"}, str(2**63 - 1), "bigint", str(2**63 - 1)),
    ({"type": "boolean"}, True, "boolean", "true"),
    ({"type": "float"}, 1.5, "float", "1.5"),
    ({"type": "double"}, 0.1, "double", "0.1"),
    ({"type": "double"}, 3, "double", "3.0"),
    ({"type": "double"}, "NaN", "double", "NaN"),
    ({"type": "string"}, "Zoë 🏠", "string", "Zoë 🏠"),
    ({"type": "string", "name": "io.debezium.data.Json"}, '{"a": 1}', "string", '{"a": 1}'),
    ({"type": "string", "name": "io.debezium.data.Uuid"}, "0-0", "string", "0-0"),
    ({"type": "string", "name": "io.debezium.data.Enum"}, "red", "string", "red"),
    ({"type": "bytes"}, "AAEC/w==", "binary", "AAEC/w=="),
    ({"type": "bytes", "name": "io.debezium.data.Bits"}, "Aw==", "binary", "Aw=="),
    ({"type": "int32", "name": "io.debezium.time.Date"}, -1, "date", "-1"),
    ({"type": "int32", "name": "org.apache.kafka.connect.data.Date"}, 20000, "date", "20000"),
    ({"type": "int64", "name": "io.debezium.time.Timestamp"}, 1, "timestamp", "1000"),
    ({"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"}, -1, "timestamp", "-1000"),
    ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, 17, "timestamp", "17"),
    ({"type": "int64", "name": "io.debezium.time.NanoTimestamp"}, 1999, "timestamp", "1"),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "1970-01-01T01:00:00+01:00", "timestamp", "0"),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "1970-01-01T00:00:00.000001Z", "timestamp", "1"),
    ({"type": "int64", "name": "io.debezium.time.MicroTime"}, 55_800_000_001, "string", "15:30:00.000001"),
    ({"type": "int32", "name": "io.debezium.time.Time"}, 1000, "string", "00:00:01"),
    ({"type": "int32", "name": "io.debezium.time.Year"}, 2026, "int", "2026"),
    (decimal_field(10, 2), packed(-123), "decimal(10,2)", "-1.23"),
    (decimal_field(38, 0), packed(5), "decimal(38,0)", "5"),
    (decimal_field(60, 2), packed(5), "string", "0.05"),
    (
        {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
        {"scale": 3, "value": packed(1)},
        "string",
        "0.001",
    ),
    ({"type": "array"}, [1, "a", None], "string", '[1,"a",null]'),
    ({"type": "struct"}, {"x": 1.5, "y": [2]}, "string", '{"x":1.5,"y":[2]}'),
]


@pytest.mark.parametrize(("field", "value", "type_", "text"), GOOD)
def test_a_value_by_its_schema(field, value, type_, text):
    assert value_of(field, value) == (type_, text)
    assert value_of(field, None) == (type_, None)


@pytest.mark.parametrize(("field", "value", "reason"), UNREADABLE)
def test_a_value_that_is_none_of_its_schema(field, value, reason):
    with pytest.raises(RejectedRecordError) as refused:
        value_of(field, value)
    assert refused.value.reason.value == reason


def test_values_without_a_schema_are_what_they_are():
    row = row_of({"n": 5, "x": 1.5, "t": "a", "b": False, "s": {"k": 1}, "nothing": None})
    assert dict(row.types) == {
        "id": "bigint",
        "n": "bigint",
        "x": "double",
        "t": "string",
        "b": "boolean",
        "s": "string",
        "nothing": "",
    }
    assert dict(row.values) == {
        "id": "1",
        "n": "5",
        "x": "1.5",
        "t": "a",
        "b": "false",
        "s": '{"k":1}',
        "nothing": None,
    }


def test_a_declared_column_is_read_as_declared_with_and_without_a_schema():
    columns = [
        {"name": "total", "source": "Total", "type": "decimal", "precision": 12, "scale": 2},
        {"name": "paid_at", "source": "At", "type": "timestamp", "unit": {"default": "microseconds"}},
    ]
    for fields in (None, {"Total": {"type": "string"}, "At": {"type": "int64"}}):
        row = row_of({"Total": "7.5", "At": 17}, fields, columns=columns)
        assert dict(row.values) | {"id": ""} == {"id": "", "Total": "7.50", "At": "17"}
        assert dict(row.types) | {"id": ""} == {"id": "", "Total": "decimal(12,2)", "At": "timestamp"}
    with pytest.raises(RejectedRecordError, match=r"decimal\.handling\.mode"):
        row_of({"Total": 7.5}, {"Total": {"type": "double"}}, columns=columns)


@pytest.mark.parametrize(
    ("field", "value", "type_", "text"),
    [
        (decimal_field(10, 2), packed(125), "string", "1.25"),
        (TYPES["int"], 7, "string", "7"),
        (TYPES["timestamp"], 7, "timestamp", "7"),
        (TYPES["bytes"], "AAEC", "binary", "AAEC"),
    ],
)
def test_a_column_declared_as_text_takes_numbers_as_their_digits_and_nothing_else(field, value, type_, text):
    row = row_of({"v": value}, {"v": field}, columns=[{"name": "v", "source": "v", "type": "string"}])
    assert (dict(row.types)["v"], dict(row.values)["v"]) == (type_, text)


def test_a_dropped_column_is_nowhere_and_a_masked_one_says_nothing():
    row = row_of({"email": "a@b", "phone": None, "iban": "x"}, None, mask=["email", "phone"], drop=["iban"])
    assert dict(row.values) == {"id": "1", "email": "***", "phone": None}
    assert "iban" not in dict(row.types)


@pytest.mark.parametrize(("field", "value", "type_", "text"), GOOD)
def test_a_masked_or_dropped_column_says_nothing_whatever_its_type(field, value, type_, text):
    """With a schema and without one, in either of two columns, also where the column is declared."""
    declared = [{"name": "v", "source": "v", "type": "string"}]
    for fields in ({"v": field, "w": field}, None):
        for columns in ([], declared):
            masked = row_of({"v": value, "w": value}, fields, mask=["v", "w"], columns=columns)
            assert dict(masked.values) == {"id": "1", "v": "***", "w": "***"}
            assert [dict(masked.types)[name] for name in ("v", "w")] == ["string", "string"]
        dropped = row_of({"v": value, "w": value}, fields, drop=["v", "w"])
        assert dict(dropped.values) == {"id": "1"}
        assert dict(dropped.types).keys() == {"id"}


def test_what_did_not_travel_is_not_known():
    row = row_of({"big": UNAVAILABLE, "a": "x"}, {"big": TYPES["string"], "a": TYPES["string"]})
    assert (row.unknown, dict(row.values)) == (("big",), {"id": "1", "a": "x"})
    as_bytes = base64.b64encode(UNAVAILABLE.encode()).decode()
    assert row_of({"big": as_bytes}, {"big": TYPES["bytes"]}).unknown == ("big",)


def test_of_a_deleted_row_the_key_alone_counts():
    row = decode(change("d", "orders", {"id": 1, "total": "broken"}, 5, fields={**ID, "total": TYPES["int"]})).mirrored
    assert row is not None
    assert row.values == (("id", "1"),)


@pytest.mark.parametrize("op", ["c", "d"])
@pytest.mark.parametrize("missing", ["id", "line", "part"])
@pytest.mark.parametrize("is_null", [False, True])
def test_a_row_without_a_column_of_its_key(op, missing, is_null):
    spec, whole = spec_of(key=["id", "line", "part"]), {"id": 1, "line": 2, "part": 3}
    row = {name: None if name == missing else value for name, value in whole.items() if is_null or name != missing}
    with pytest.raises(RejectedRecordError, match=f"{missing} is missing") as refused:
        decode(change(op, "orders", row, 5), spec)
    assert refused.value.reason is Reason.MISSING_KEY
    mirrored = decode(change(op, "orders", {**whole, "more": 1}, 5), spec).mirrored
    assert mirrored is not None
    assert [name for name, _ in mirrored.values] == ["id", "line", "part", "more"]


def test_an_empty_text_alone_is_no_key():
    """No table could store it, and one such row would stop the others; beside another column it is a value."""
    with pytest.raises(RejectedRecordError, match="id is missing") as refused:
        decode(change("c", "orders", {"id": ""}, 5))
    assert refused.value.reason is Reason.MISSING_KEY
    assert decode(change("c", "orders", {"id": 1, "line": ""}, 5), spec_of(key=["id", "line"])).mirrored is not None


def test_events_of_other_tables_are_not_taken_for_broken_ones():
    with pytest.raises(OtherTableError, match=r"shop\.basket"):
        decode(change("c", "basket", {"id": 1}, 5))
    assert decode(change("c", "ORDERS", {"id": 1}, 5)).mirrored is not None


def test_of_mysql_and_mariadb_the_database_counts():
    record = change("c", "orders", {"id": 1}, 5)
    record["source"] |= {"connector": "mariadb", "db": "shop", "schema": None, "file": "b.000001", "pos": 4}
    event = decode(record)
    assert event.mirrored is not None
    assert event.event_id.startswith("shop.shop.orders:")


@given(unscaled=st.integers(-(10**20) + 1, 10**20 - 1), moment=st.datetimes(timezones=st.just(UTC)))
def test_numbers_and_times_keep_every_digit(unscaled, moment):
    microseconds = (moment - EPOCH) // timedelta(microseconds=1)
    row = row_of({"n": packed(unscaled), "t": microseconds}, {"n": decimal_field(20, 4), "t": TYPES["timestamp"]})
    values = dict(row.values)
    assert Decimal(values["n"] or "").as_tuple() == Decimal(unscaled).scaleb(-4).as_tuple()
    assert EPOCH + timedelta(microseconds=int(values["t"] or "")) == moment


def test_the_shipped_lake_of_a_shop_is_an_entry_a_table():
    import yaml

    from spark_jobs.contracts.settings import PROJECT_ROOT

    document = yaml.safe_load(Path(PROJECT_ROOT / "include/lakes/shop.yaml").read_text(encoding="utf-8"))
    spec = parse_lake_spec(document)
    assert [mirror.name for mirror in spec.mirrors] == ["customers", "products", "orders", "order_lines"]
    assert all(isinstance(mirror, TableSpec) for mirror in spec.mirrors)
    assert max(len(json.dumps(entry).split(",")) for entry in document["tables"]) < 10


def test_a_declared_boolean_is_the_same_text_as_one_that_a_schema_names():
    columns = [{"name": "is_paid", "source": "v", "type": "boolean"}]
    for fields in (None, {"v": {"type": "boolean"}}, {"v": {"type": "int16"}}):
        for value, text in ((True, "true"), (0, "false")):
            row = row_of({"v": value}, fields, columns=columns)
            assert (dict(row.types)["v"], dict(row.values)["v"]) == ("boolean", text)


def test_each_event_is_read_by_its_own_schema_however_many_there_are(monkeypatch):
    """More than are kept, and each of them again."""
    monkeypatch.setattr(mirrored, "_MOST_SCHEMAS", 3)
    decoder = EnvelopeDecoder(spec_of())
    for _ in range(2):
        for scale in range(10):
            record = change("c", "orders", {"id": 1, "n": packed(7)}, 5, fields={**ID, "n": decimal_field(20, scale)})
            event = decoder.decode(line_of(record))
            assert event is not None
            assert event.mirrored is not None
            assert dict(event.mirrored.types)["n"] == f"decimal(20,{scale})"
            assert dict(event.mirrored.values)["n"] == format(Decimal(7).scaleb(-scale), "f")


def test_the_same_schema_from_another_connector_is_read_as_that_one_sends_its_values():
    """A schema without a name for the time: the unit is that of the connector, whichever came first."""
    unit = {"mysql": "milliseconds", "mariadb": "microseconds"}
    column = {"name": "v", "source": "v", "type": "timestamp", "unit": unit}
    decoder = EnvelopeDecoder(spec_of(columns=[column]))
    texts = []
    for connector in ("mysql", "mariadb", "mysql"):
        record = change("c", "orders", {"id": 1, "v": 5_000_000}, 5, fields={**ID, "v": {"type": "int64"}})
        place = {"connector": connector, "db": "shop", "file": "bin.000001", "pos": 7}
        block = {**record["payload"]["source"], **place}
        event = decoder.decode(line_of({**record, "payload": {**record["payload"], "source": block}}))
        assert event is not None
        assert event.mirrored is not None
        texts.append(dict(event.mirrored.values)["v"])
    assert texts == ["5000000000", "5000000", "5000000000"]
