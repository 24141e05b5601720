"""Keys as Debezium's connectors give them to records, and what is none."""

from __future__ import annotations

import json

import pytest

from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.record_keys import key_columns
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.mirrors import TYPES, change, keyed, line_of

ROW = {"id": 5, "line": 2, "text": None}
SCHEMA = {"type": "struct", "fields": [{"type": "int32", "field": "id"}], "optional": False, "name": "erp.orders.Key"}


@pytest.mark.parametrize(
    ("key", "columns"),
    [
        ({"id": 5}, ("id",)),
        ({"line": 2, "id": 5}, ("line", "id")),
        ({"schema": SCHEMA, "payload": {"id": 5}}, ("id",)),
        ({"id": 5, "__dbz__physicalTableIdentifier": "erp.shop.orders_1"}, ("id",)),
        ({"schema": SCHEMA, "payload": 5}, None),
        ({"schema": SCHEMA, "payload": None}, None),
        ({"other": 5}, None),
        ({"id": 5, "text": None}, None),
        ({}, None),
        (5, None),
        ("5", None),
        (None, None),
        ([1], None),
    ],
)
def test_the_columns_that_a_key_names(key: object, columns: tuple[str, ...] | None):
    assert key_columns(json.dumps(key).encode(), ROW) == columns
    if isinstance(key, dict):
        assert key_columns(key, ROW) == columns


@pytest.mark.parametrize("key", [b"", b"\x00\x01id", b"{", b"[" * 50_000, b"x" * 70_000], ids=len)
def test_a_key_that_is_no_json_says_nothing(key: bytes):
    assert key_columns(key, ROW) is None


ENTRIES = [
    {"name": "{table}", "from": {"database": "shop", "table": "*"}, "key": {"for": {"declared": ["id"]}}},
    {"name": "own", "from": {"database": "shop", "table": "own"}, "key": ["id"]},
    {"name": "crm_{table}", "from": {"database": "crm", "table": "*"}, "new_tables": "ignore"},
]
LAKE = parse_lake_spec({"lake": "s", "source": {"topics": ["*"]}, "log": "l", "quarantine": "q", "tables": ENTRIES})


FIELDS = {"id": TYPES["bigint"], "line": TYPES["int"], "text": TYPES["string"]}


def learnt(line: bytes, key: bytes = b"") -> tuple[str, tuple[str, ...] | None]:
    event = EnvelopeDecoder(LAKE).decode(line, key)
    assert event is not None
    assert event.mirrored is not None
    return event.mirrored.origin, event.mirrored.key


@pytest.mark.parametrize("fields", [None, FIELDS], ids=["bare", "with schemas"])
@pytest.mark.parametrize(("table", "key"), [("orders", ("line",)), ("declared", None), ("own", None)])
def test_a_key_is_learnt_where_no_entry_declares_it(table: str, key: tuple[str, ...] | None, fields):
    record = change("c", table, ROW, 1, fields=fields)
    assert learnt(line_of(record), b'{"line": 2}') == (f"shop.{table}", key)
    assert learnt(line_of(keyed(record, ["line"]))) == (f"shop.{table}", key)


def test_the_key_of_a_message_comes_before_one_that_is_in_it():
    record = change("c", "orders", ROW, 1)
    assert learnt(line_of(keyed(record, ["line"])), b'{"id": 5}') == ("shop.orders", ("id",))


@pytest.mark.parametrize("key", [None, {}, {"other": 5}, {"schema": SCHEMA, "payload": None}], ids=str)
def test_a_key_beside_the_envelope_that_names_no_columns_of_the_row_says_nothing(key: object):
    assert learnt(line_of({"key": key, "value": change("c", "orders", ROW, 1)})) == ("shop.orders", None)
