"""What an event of the wide log has beside the declared columns: nothing of it is lost, nothing refuses a record."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.decoding import RecordDecoder
from spark_jobs.sources.source_types import MOST_TEXT
from spark_jobs.sources.undeclared_columns import UndeclaredReader
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.mirrors import TYPES, UNAVAILABLE, change, decimal_field, line_of, packed


def spec_of(**source: Any) -> LakeSpec:
    columns = [{"name": "id", "source": "Id", "type": "bigint"}, {"name": "note", "source": "Note", "type": "string"}]
    return parse_lake_spec({
        "lake": "shop",
        "source": {"topics": ["shop*"], "key": "id", "columns": columns, **source},
        "log": "log",
        "quarantine": "bad",
        "tables": [{"name": "notes", "key": "id", "columns": ["note"]}],
    })  # fmt: skip


def decoded(
    row: dict[str, Any], fields: dict[str, Any] | None = None, *, op: str = "c", **source: Any
) -> dict[str, Any]:
    """The row of the log for one event."""
    decoder, known = RecordDecoder(spec_of(**source)), fields and {"Id": TYPES["bigint"], **fields}
    decoder.add("a.jsonl", 0, line_of(change(op, "wide", {"Id": 1, **row}, 5, fields=known)))
    (record,) = decoder.flush().to_pylist()
    assert record["reason"] is None
    return record


def test_columns_that_are_not_declared_are_kept_with_their_types() -> None:
    row = {"Note": "x", "Discount": packed(125), "Vip": True, "Tags": ["a", 1], "Gone": None, "Same": UNAVAILABLE}
    fields = {"Note": TYPES["string"], "Discount": decimal_field(9, 2), "Vip": TYPES["boolean"]}
    record = decoded(row, {**fields, "Tags": {"type": "array"}, "Gone": TYPES["int"], "Same": TYPES["string"]})
    assert (record["id"], record["note"], record["source_table"], record["row_unknown"]) == (1, "x", None, None)
    assert dict(record["row_values"]) == {"Discount": "1.25", "Vip": "true", "Tags": '["a",1]', "Gone": None}
    assert dict(record["row_types"]) == {
        "Discount": "postgresql:decimal(9,2)",
        "Vip": "postgresql:boolean",
        "Tags": "postgresql:string",
        "Gone": "postgresql:int",
    }


def test_without_a_schema_they_are_what_they_look_like() -> None:
    record = decoded({"Discount": 125, "City": "Łódź", "Rate": 1.5, "Gone": None}, op="d")
    assert dict(record["row_values"]) == {"Discount": "125", "City": "Łódź", "Rate": "1.5", "Gone": None}
    assert [kind.partition(":")[2] for _, kind in record["row_types"]] == ["string", "bigint", "", "double"]
    assert record["row_unknown"] == ["note"]


def test_an_event_with_nothing_more_keeps_nothing_more() -> None:
    record = decoded({"Note": None})
    assert (record["row_types"], record["row_values"], record["row_unknown"]) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (TYPES["int"], "seven"),
        (TYPES["bytes"], "not base64"),
        (decimal_field(4, 2), packed(10**6)),
        ({"type": "int64", "name": "io.debezium.time.Timestamp"}, 10**18),
        ({"name": "org.apache.kafka.connect.data.Decimal", "type": "bytes", "parameters": {"scale": "x"}}, "AA=="),
        (None, "half \ud800"),
    ],
)
def test_what_cannot_be_read_is_kept_as_json(field: dict[str, Any] | None, value: Any) -> None:
    reader = UndeclaredReader(spec_of().source)
    beside = reader.read({"Id": 1, "More": value}, "mysql", {"More": field} if field else {})
    assert beside is not None
    assert beside.types == (("More", "mysql:json"),)
    assert json.loads(beside.values[0][1] or "") == value
    (beside.values[0][1] or "").encode()


def test_of_what_is_too_long_it_is_kept_that_it_was_there() -> None:
    record = decoded({"Scan": "x" * (MOST_TEXT + 1)})
    assert dict(record["row_types"]) == {"Scan": "postgresql:too long"}
    assert dict(record["row_values"]) == {"Scan": None}


def test_columns_that_are_not_wanted_are_dropped() -> None:
    record = decoded({"Secret": 1, "Tmp_1": 2, "City": "x"}, drop=["Secret", "Tmp_*"])
    assert dict(record["row_values"]) == {"City": "x"}
    assert decoded({"Secret": 1}, drop=["*"])["row_types"] is None
    with pytest.raises(ContractError, match="source drop: 'Note' is declared below columns"):
        spec_of(drop=["Note"])


numbers = st.integers(-(2**70), 2**70) | st.decimals(allow_nan=False, allow_infinity=False).map(Decimal)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(alphabet=st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(row=st.dictionaries(st.text(alphabet=st.characters(), max_size=5), values, max_size=4))
def test_whatever_comes_is_kept_by_its_name_and_can_be_written(row: dict[str, Any]) -> None:
    beside = UndeclaredReader(spec_of().source).read(row, "sqlserver", {})
    kept = {name for name in row if name not in ("Id", "Note") and not any("\ud800" <= c <= "\udfff" for c in name)}
    assert {name for name, _ in (beside.types if beside else ())} == kept
    for name, text in beside.values if beside else ():
        assert (text is None) == (row[name] is None)
        (text or "").encode()
