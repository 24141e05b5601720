"""Schemas of commits in the words of catalogs; Spark's own parser is the second opinion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.catalog.schemas import fields_of, hive_type, spark_schema
from spark_jobs.storage.layouts import HUDI_COLUMNS

PLAIN = st.one_of(
    st.sampled_from(["boolean", "int", "long", "float", "double", "bytes", "string"]),
    st.sampled_from(
        [
            {"type": "int", "logicalType": "date"},
            {"type": "long", "logicalType": "timestamp-micros"},
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "enum", "name": "e", "symbols": ["A"]},
        ]
    ),
    st.tuples(st.integers(1, 38), st.integers(0, 38)).map(
        lambda both: {"type": "bytes", "logicalType": "decimal", "precision": max(both), "scale": min(both)}
    ),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    either = st.one_of(inner, inner.map(lambda avro: ["null", avro]))
    names = st.sampled_from(["a", "b", "c_d"])
    return st.one_of(
        either.map(lambda avro: {"type": "array", "items": avro}),
        either.map(lambda avro: {"type": "map", "values": avro}),
        st.dictionaries(names, either, min_size=1).map(
            lambda fields: {
                "type": "record",
                "name": "r",
                "fields": [{"name": name, "type": avro} for name, avro in fields.items()],
            }
        ),
    )


TYPES = st.recursive(PLAIN, nested, max_leaves=6)


@given(TYPES, st.booleans())
def test_hive_and_spark_mean_the_same_type(avro: Any, is_nullable: bool):
    column = ["null", avro] if is_nullable else avro
    parsed = StructType.fromJson(json.loads(spark_schema([("x", column)], {"x": "why"})))
    assert [field.name for field in parsed] == [*HUDI_COLUMNS, "x"]
    assert parsed["x"].dataType.simpleString() == hive_type(column)
    assert (parsed["x"].nullable, parsed["x"].metadata) == (is_nullable, {"comment": "why"})


def test_a_commits_schema():
    fixed = {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}
    stamp = {"type": "long", "logicalType": "timestamp-micros"}
    fields = [
        {"name": "sale_id", "type": ["null", "long"], "default": None},
        {"name": "total", "type": ["null", fixed], "default": None},
        {"name": "at", "type": ["null", stamp], "default": None},
        {"name": "is_deleted", "type": "boolean"},
    ]
    found = fields_of(json.dumps({"type": "record", "name": "sales_record", "fields": fields}))
    assert [(name, hive_type(avro)) for name, avro in found] == [
        ("sale_id", "bigint"), ("total", "decimal(18,4)"), ("at", "timestamp"), ("is_deleted", "boolean")
    ]  # fmt: skip


def test_a_column_of_two_types_is_refused():
    with pytest.raises(ContractError, match=r"one type or be unknown, not \['int', 'string'\]"):
        hive_type(["null", "int", "string"])


@given(TYPES)
def test_a_type_in_a_type_is_that_type(avro: Any):
    """As some writers of Avro have it: ``{"type": {"type": "long", ...}}``."""
    within = {"type": avro if isinstance(avro, dict) else {"type": avro}}
    assert hive_type(within) == hive_type(avro)
    assert spark_schema([("x", ["null", within])], {}) == spark_schema([("x", ["null", avro])], {})
