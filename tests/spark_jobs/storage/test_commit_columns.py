"""Columns that commits keep: Avro as Hudi writes it, against the types of which it was made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import DataType, StructType

from spark_jobs.storage.commit_columns import (
    columns_of,
    has_types_of,
    is_plain_list,
    lacks_nulls_of,
    pack_columns,
    unpack_columns,
)

PLAIN: dict[str, Any] = {
    "string": "string",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
    "decimal(18,4)": {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4},
}
Kind = tuple[str, Any]
"""A type as Spark writes it, and as Avro does."""


def _or_null(kind: Kind) -> st.SearchStrategy[Any]:
    return st.sampled_from([kind[1], ["null", kind[1]], [kind[1], "null"]])


def _list(of: Kind) -> st.SearchStrategy[Kind]:
    return _or_null(of).map(lambda items: (f"array<{of[0]}>", {"type": "array", "items": items}))


def _map(of: Kind) -> st.SearchStrategy[Kind]:
    return _or_null(of).map(lambda values: (f"map<string,{of[0]}>", {"type": "map", "values": values}))


def _record(fields: list[Kind]) -> Kind:
    avro = [{"name": f"c{n}", "type": ["null", kind[1]], "default": None} for n, kind in enumerate(fields)]
    text = ",".join(f"c{n}:{kind[0]}" for n, kind in enumerate(fields))
    return f"struct<{text}>", {"type": "record", "name": "r", "fields": avro}


def _nested(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return inner.flatmap(_list) | inner.flatmap(_map) | st.lists(inner, min_size=1, max_size=3).map(_record)


rows = st.lists(st.recursive(st.sampled_from(list(PLAIN.items())), _nested, max_leaves=4), min_size=1, max_size=5)
OTHERS: list[Any] = [
    {"type": "enum", "name": "e", "symbols": ["A"]},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "fixed", "name": "f", "size": 4},
    ["null", "int", "string"],
    "r",
    "null",
]


@given(rows)
def test_the_columns_of_a_schema_are_those_that_it_was_made_of(kinds: list[Kind]) -> None:
    text, avro = _record(kinds)
    found = columns_of(json.dumps(avro))
    assert found is not None
    assert found.simpleString() == text
    assert unpack_columns(pack_columns(found)) == found


@given(rows, st.sampled_from(OTHERS), st.data())
def test_a_schema_with_any_other_type_is_not_known(kinds: list[Kind], other: Any, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(kinds)))
    wrapped = data.draw(st.sampled_from([other, {"type": "array", "items": other}, {"type": "map", "values": other}]))
    assert columns_of(json.dumps(_record([*kinds[:place], ("", wrapped), *kinds[place:]])[1])) is None


@pytest.mark.parametrize("text", ["", "{", "null", '"string"', '{"type": "record"}'])
def test_what_is_no_record_has_no_columns(text: str) -> None:
    assert columns_of(text) is None


def test_columns_are_compared_by_name_and_type_and_not_by_what_may_be_null() -> None:
    table = row("a array<string>, b int")
    assert has_types_of(StructType.fromJson(json.loads(table.json().replace("true", "false"))), table)
    assert has_types_of(row("b int, more string"), table)
    assert not has_types_of(row("a array<string>, b bigint"), table)
    assert unpack_columns(None) is None


ELEMENTS = st.sampled_from([*PLAIN, "array<int>"])
LISTS = st.dictionaries(st.sampled_from("abc"), st.tuples(ELEMENTS, st.booleans()), max_size=3)
"""By the name of a column the type of its elements, and whether they may be null."""


@given(LISTS, LISTS)
def test_files_may_not_have_nulls_where_the_table_has_none(
    table: dict[str, tuple[str, bool]], file: dict[str, tuple[str, bool]]
) -> None:
    literal = {"int", "bigint", "double", "string", "boolean", "date", "timestamp"}
    plain = {name for name, (kind, is_nullable) in table.items() if kind in literal and not is_nullable}
    assert {field.name for field in lists(table) if is_plain_list(field.dataType)} == plain
    doubtful = {name for name, (kind, is_nullable) in file.items() if is_nullable or kind not in literal}
    assert lacks_nulls_of(lists(file), lists(table)) == plain.isdisjoint(doubtful)


def lists(columns: dict[str, tuple[str, bool]]) -> StructType:
    avro: dict[str, Any] = {**PLAIN, "array<int>": {"type": "array", "items": "int"}}
    items = {name: ["null", avro[kind]] if is_nullable else avro[kind] for name, (kind, is_nullable) in columns.items()}
    fields = [{"name": name, "type": {"type": "array", "items": of}} for name, of in items.items()]
    found = columns_of(json.dumps({"type": "record", "name": "r", "fields": fields}))
    assert isinstance(found, StructType)
    return found


def row(columns: str) -> StructType:
    kinds: dict[str, Any] = {"array<string>": {"type": "array", "items": "string"}, **PLAIN}
    fields = [(name, kinds[kind]) for name, kind in (column.split() for column in columns.split(", "))]
    avro = [{"name": name, "type": type_} for name, type_ in fields]
    found: DataType | None = columns_of(json.dumps({"type": "record", "name": "r", "fields": avro}))
    assert isinstance(found, StructType)
    return found
