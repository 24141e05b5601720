"""Records in their usual form are read in a shorter way, with the result of the long one.

One decoder reads records of all connectors, tables and schemas, one after another; its results are those of a decoder
that reads nothing else and has to look closely, because a blank follows the record, and its rows are those of values
that are read one by one. Rows have what is usual, and beside it whatever made a difference once: texts with colons,
quotes and backslashes, keys given twice, half a surrogate pair, placeholders in each of their forms, numbers too large.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.connectors.registry import CONNECTORS
from spark_jobs.contracts.rejections import OtherTableError, Reason, RejectedRecordError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.sources import connect_schemas, identity
from spark_jobs.sources.connect_schemas import WrappedRecords
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.placeholders import build_detector
from spark_jobs.sources.values import build_converter, build_schema_converter
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.envelopes import CONNECT_FIELDS, START_MS, line, sqlserver, wrapped
from tests.support.mirrors import UNAVAILABLE
from tests.support.oracle import tie

CAPTURE = PROJECT_ROOT / "tests" / "data" / "debezium-postgres" / "erp.public.SALES.jsonl.gz"
SPEC = load_lake_spec(Settings().lake_spec)
COLUMNS = SPEC.source.columns
BLOCKS: Mapping[str, dict[str, Any]] = {
    "sqlserver": {"db": "erp", "schema": "dbo", "commit_lsn": "00000027:00000ac0:0002", "change_lsn": None},
    "postgresql": {"db": "erp", "schema": "public", "lsn": 26371016, "sequence": '["26371000","26371016"]'},
    "mysql": {"db": "erp", "file": "binlog.000007", "pos": 1543, "row": 0, "gtid": "24DA167-0:5"},
    "mariadb": {"db": "erp", "file": "mariadb-bin.000042", "pos": 7, "row": 2, "gtid": "0-1-77"},
    "oracle": {"db": "erp", "schema": "ERP", "scn": "123"},
}
USUAL = {
    "bigint": st.integers(0, 10**6) | st.just(2**63 - 1),
    "string": st.sampled_from(["Ada", "Zoë 花园", "12:30", "Villa 7", "", "100%", "%s"]),
    "decimal": st.sampled_from(["12.5000", "-0.0001"]),
    "timestamp": st.integers(0, 10**12),
    "boolean": st.booleans(),
}
ODD: list[Any] = [
    *(
        True,
        2**63,
        -(2**63) - 1,
        1.5,
        "12",
        "a:b",
        'a"b',
        "a\\b",
        "\\u003a",
        "tab\t",
        "\x00",
        "\x7f",
        "\ud83d",
        "x" * 4001,
    ),
    *(UNAVAILABLE, b64encode(UNAVAILABLE.encode()).decode(), UNAVAILABLE.encode().hex(), f"{UNAVAILABLE}!"),
    *(json.dumps({UNAVAILABLE: UNAVAILABLE}), {UNAVAILABLE: UNAVAILABLE}, [UNAVAILABLE], [[1, {"a": 1}]], {}),
    *({"scale": 1, "value": "AQ=="}, {"a": {"b": ":"}}, "2026-01-01T00:00:00Z", "1e3"),
]
SCHEMAS = [
    CONNECT_FIELDS,
    [*CONNECT_FIELDS[:2], {**CONNECT_FIELDS[2], "name": "io.debezium.time.NanoTimestamp"}],
    [*CONNECT_FIELDS[:2], {**CONNECT_FIELDS[2], "name": "io.debezium.time.MilliTimestamp"}],  # of the same length
    [{"field": "SaleId", "type": "int64"}, {"field": "ContractSubtotal", "type": "string"}],
    [{"field": "SaleId", "type": "int64"}, {"field": "ContractSubtotal", "type": "double"}],
    [{"field": "ContractSubtotal", "type": "bytes", "name": CONNECT_FIELDS[1]["name"], "parameters": {"scale": "x"}}],
    [{"field": "Extra", "type": "int32"}],
    [],
]


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.sampled_from([COLUMNS, COLUMNS[:3], COLUMNS[::-1], (COLUMNS[0], *COLUMNS[9:])]))
    row = {column.source: draw(st.none() | USUAL[column.type.value]) for column in names}
    row |= draw(st.just({}) | st.sampled_from([{"Extra": "é"}, {"Extra": 5}, {"Extra": None}, {'q"%': "1:2"}]))
    for name in draw(st.lists(st.sampled_from([*row]), max_size=2)) if draw(st.booleans()) else []:
        row[name] = draw(st.sampled_from(ODD))
    return row if draw(st.integers(0, 9)) == 0 else {**row, "SaleId": draw(st.integers(1, 9))}


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """An envelope, bare, with a schema, or with its key beside it."""
    connector, op = draw(st.sampled_from([*BLOCKS])), draw(st.sampled_from("crud"))
    source = {"version": "3.3.1.Final", "connector": connector, "name": "erp", "ts_ms": START_MS, "table": "SALES"}
    source |= BLOCKS[connector]
    if draw(st.integers(0, 5)) == 0:
        odd = st.sampled_from([None, 5, True, "", "a:b", [1], {"a": 1}, "\ud83d", "other", "incremental"])
        source[draw(st.sampled_from([*source, "snapshot"]))] = draw(odd)
    before = draw(rows()) if op in "ud" else None
    record: dict[str, Any] = {"before": before, "after": None if op == "d" else draw(rows()), "source": source}
    record |= draw(st.sampled_from([{}, {"transaction": None}, {"transaction": {"id": "5:7", "total_order": 1}}]))
    record |= {"op": op, "ts_ms": START_MS + 5}
    form = draw(st.integers(0, 3))
    return wrapped(record, draw(st.sampled_from(SCHEMAS))) if form else record


def payload_of(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record.get("payload", record)
    return found


@st.composite
def spelled(draw: st.DrawFn) -> bytes:
    """The bytes of a record, in one of ten with something broken: a key given twice, a byte changed, an end missing."""
    text = json.dumps(draw(records()), separators=(",", ":"), ensure_ascii=draw(st.booleans()))
    content, damage = text.encode("utf-8", "surrogatepass"), draw(st.integers(0, 19))
    if damage == 0:
        return with_key_twice(content, draw(st.integers(0, 30)))
    if damage == 1:
        at = draw(st.integers(0, len(content) - 1))
        return (
            content[:at]
            + draw(st.sampled_from([b":", b'"', b"\\", b"\xff", b" ", b"{", b"}", b","]))
            + content[at + 1 :]
        )
    return content[: -draw(st.integers(1, 40))] if damage == 2 else content


def with_key_twice(content: bytes, number: int) -> bytes:
    """One of the objects in it has its first key twice, or what looks like a key in a text is there twice."""
    keys = [*re.finditer(rb'\{("[^"]*":)', content)]
    found = keys[number % len(keys)]
    return content[: found.start(1)] + found[1] + b"null," + content[found.start(1) :]


def outcome_of(decoder: EnvelopeDecoder, content: bytes) -> object:
    try:
        return decoder.decode(content)
    except RejectedRecordError as error:
        is_broken = error.reason in {Reason.NOT_JSON, Reason.NOT_UTF8}
        return error.reason, "" if is_broken else error.detail  # where it is broken counts the blank
    except OtherTableError as error:
        return error.table


DECODER = EnvelopeDecoder(SPEC)


def test_every_connector_is_among_them():
    assert CONNECTORS.keys() < BLOCKS.keys()


@settings(max_examples=80)
@given(st.lists(spelled(), min_size=1, max_size=4))
def test_what_was_read_before_and_how_it_is_spelled_makes_no_difference(contents):
    for content in contents:
        assert outcome_of(DECODER, content) == outcome_of(EnvelopeDecoder(SPEC), content + b" ")


def row_by_each_value(record: dict[str, Any]) -> tuple[Any, Any]:
    """Values and unknown columns of a record's row, each value by itself, or the reason and detail of a rejection."""
    payload, is_there = payload_of(record), build_detector()
    parts = record["schema"]["fields"] if "schema" in record else [{"fields": []}]
    fields = {field["field"]: field for field in parts[0]["fields"]}
    connector, image = str(payload["source"]["connector"]), payload["before" if payload["op"] == "d" else "after"]
    if image.get("SaleId") is None:
        return Reason.MISSING_KEY, "SaleId is missing"
    known = {name: value for name, value in image.items() if not is_there(value)}
    values = []
    try:
        readers = [
            (fields.get(c.source) and build_schema_converter(c, fields[c.source])) or build_converter(c, connector)
            for c in COLUMNS
        ]
        for column, read in zip(COLUMNS, readers, strict=True):
            value = known.get(column.source)
            values.append(None if value is None else read(value))
    except RejectedRecordError as error:
        return error.reason, error.detail
    except ValueError:
        return Reason.NOT_AN_ENVELOPE, "the record's schema cannot be read"
    return tuple(values), tuple(column.name for column in COLUMNS if column.source not in known) or None


@settings(max_examples=150)
@given(records())
def test_a_row_is_what_its_values_are_one_by_one_and_its_order_ends_in_the_hash_of_its_definition(record):
    content = json.dumps(record, separators=(",", ":")).encode()
    as_read = json.loads(content, parse_float=Decimal)
    found, expected = outcome_of(DECODER, content), row_by_each_value(as_read)
    if isinstance(found, DecodedEvent):
        assert (found.values, found.unknown) == expected
        assert found.event_order.rpartition("-")[2] == tie(found.op, payload_of(as_read))
    elif isinstance(found, str):
        assert payload_of(record)["source"]["table"] != "SALES"
    elif found != expected:  # the row can be read, and its source block cannot
        assert isinstance(found, tuple)
        assert not isinstance(expected[0], Reason)
        assert found[0] in {Reason.NOT_AN_ENVELOPE, Reason.MISSING_POSITION, Reason.BAD_TIMESTAMP}


@settings(max_examples=60)
@given(records(), st.integers(0, 30))
def test_a_key_given_twice_is_found_anywhere(record, number):
    content = with_key_twice(json.dumps(record, separators=(",", ":")).encode(), number)
    is_in_a_text = json.loads(content, object_pairs_hook=list) == json.loads(
        json.dumps(json.loads(content)), object_pairs_hook=list
    )
    found = outcome_of(DECODER, content)
    assert is_in_a_text or (isinstance(found, tuple) and found[0] == Reason.DUPLICATE_KEY)


def test_a_colon_written_otherwise_hides_no_key():
    """The text has as many colons as the record that is read: one text has its colon by number."""
    record = sqlserver("c", {"SaleId": 7, "AgentName": "a:b"}, 5)
    content = line(record).replace(b'"a:b"', b'"a\\u003ab"').replace(b'{"SaleId"', b'{"SaleId":8,"SaleId"')
    assert outcome_of(DECODER, content) == (Reason.DUPLICATE_KEY, "keys given twice: ['SaleId']")


def test_a_real_capture_is_read_the_same_in_each_form():
    schema = line(wrapped({}, CONNECT_FIELDS[:1])).removesuffix(b"{}}")
    for content in gzip.decompress(CAPTURE.read_bytes()).splitlines():
        expected = outcome_of(EnvelopeDecoder(SPEC), content + b" ")
        assert outcome_of(DECODER, content) == expected
        if content != b"null":
            assert outcome_of(DECODER, schema + content + b"}") == expected


def test_a_schema_is_the_same_object_as_long_as_its_bytes_are_the_same():
    wrap, records_ = WrappedRecords(), [wrapped(sqlserver("c", {"SaleId": 1}, 5), fields) for fields in SCHEMAS]
    first = [wrap.parse(line(record)) for record in records_]
    again = [[wrap.parse(line(record)) for record in records_] for _ in range(2)]
    assert first == again[0] == again[1] == records_
    kept = [[each["schema"] for each in of if each] for of in again]
    assert all(one is other for one, other in zip(*kept, strict=True))


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connect_schemas, "_MOST_SCHEMAS", 3)
    monkeypatch.setattr(identity, "_MOST_TEXT", 100)
    wrap, long = WrappedRecords(), {f"column{number}": number for number in range(20)}
    for number in range(10):
        record = wrapped(sqlserver("c", {"SaleId": 1}, 5), [{"field": f"column{number}", "type": "int64"}])
        found = [wrap.parse(line(record)) for _ in range(3)]
        assert found == [record] * 3
        is_kept = found[1]["schema"] is found[2]["schema"] if found[1] and found[2] else False
        assert is_kept == (number < 3)
    assert identity.look_at(long)[0] is not identity.look_at(long)[0]
