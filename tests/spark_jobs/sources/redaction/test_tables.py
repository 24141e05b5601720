"""Records of tables at the source name people by columns of their own; a key of another table names no person here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_jobs.lake_spec.people import Naming, Person, PersonSpec
from spark_jobs.sources.redaction import Redactor
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.mirrors import TYPES, change, keyed, line_of

SPEC = parse_lake_spec(
    {
        "lake": "shop",
        "source": {"topics": ["shop*"]},
        "log": "log",
        "quarantine": "bad",
        "tables": [
            {"name": name, "from": {"database": "shop", "table": name}, "key": [key]}
            for name, key in (("clients", "id"), ("orders", "id"), ("visits", "no"))
        ],
    }
)
PERSON = Person(
    spec=PersonSpec(
        role="client",
        tables=(("clients", Naming(key="id", columns=("name", "mail"))), ("orders", Naming(key="client"))),
    ),
    id="17",
    names=("Zoë Quux",),
)
REDACTOR = Redactor.build(SPEC, PERSON)


def redacted(table: str, op: str = "u", **row: Any) -> dict[str, Any]:
    record = line_of(change(op, table, row, 5))
    found = REDACTOR.redact(record)
    assert len(found) == len(record)
    body = json.loads(found)
    return dict(body["before" if op == "d" else "after"])


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        ("clients", {"id": 17, "name": "Zoë Quux", "mail": "z@q"}, {"id": 0, "name": None, "mail": None}),
        ("clients", {"id": "17", "name": "other"}, {"id": "0", "name": None}),
        ("clients", {"id": 18, "name": "Zoë Quux"}, {"id": 18, "name": "Zoë Quux"}),
        ("clients", {"id": 0, "name": "Zoë Quux"}, {"id": 0, "name": None}),
        ("orders", {"id": 17, "client": 17, "note": "x"}, {"id": 17, "client": 0, "note": "x"}),
        ("orders", {"id": 17, "client": 3}, {"id": 17, "client": 3}),
        ("visits", {"no": 17, "id": 17, "client": 17}, {"no": 17, "id": 17, "client": 17}),
    ],
    ids=str,
)
def test_the_columns_of_its_own_table_alone_are_looked_at(table: str, row: dict[str, Any], expected: dict[str, Any]):
    assert redacted(table, **row) == expected
    assert redacted(table, "d", **row) == expected


@pytest.mark.parametrize("has_schema", [False, True])
def test_the_key_beside_a_record_is_looked_at_as_the_record_is(has_schema: bool):
    fields = {"id": TYPES["bigint"], "client": TYPES["bigint"]} if has_schema else None
    for table, row, expected in (
        ("clients", {"id": 17, "name": "Zoë Quux"}, {"id": 0, "name": None}),
        ("orders", {"id": 17, "client": 17}, {"id": 17, "client": 0}),
        ("visits", {"no": 17, "id": 17}, {"no": 17, "id": 17}),
    ):
        record = keyed(change("u", table, row, 5, fields=fields), ["id"])
        found = json.loads(REDACTOR.redact(line_of(record)))
        key, body = found["key"], found["value"]
        body = body["payload"] if has_schema else body
        assert (key["payload"] if has_schema else key)["id"] == expected["id"]
        assert body["after"] == expected


def test_a_key_without_a_row_may_be_of_any_table():
    record = b'{"key":{"id":17},"value":null}'
    assert REDACTOR.redact(record) == b'{"key":{"id":0 },"value":null}'
    other = b'{"key":{"id":18},"value":null}'
    assert REDACTOR.redact(other) == other


def test_a_record_that_cannot_be_used_is_blank_when_it_has_a_name_and_stays_when_it_has_a_number_like_the_key():
    torn = b'{"after": {"id": 17, "name": "Zo\\u00eb Quux"'
    assert REDACTOR.redact(torn) == b" " * len(torn)
    number = b'{"after": {"id": 17, "client": 17'
    assert REDACTOR.redact(number) == number, "it is not known of which table it is"


def test_records_about_others_are_left_byte_for_byte():
    for record in (line_of(change("u", "clients", {"id": 170, "name": "Ann"}, 5)), b"", b"null", b'{"id": 17}'):
        assert REDACTOR.redact(record) == record
