"""Every form in which a connector says that it does not have a value, and values that only look like one.

The forms are those of Debezium's PostgreSQL connector, written down here as it sends them, not computed.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.placeholders import build_detector
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.mirrors import TYPES, UNAVAILABLE, change, line_of

BYTES = [
    *(95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101),
    *(95, 118, 97, 108, 117, 101),
]
"""``__debezium_unavailable_value``, character by character."""
AS_BASE64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
ARRAY = {"type": "array", "items": {"type": "string"}}
FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    "text": (TYPES["string"], UNAVAILABLE),
    "jsonb": ({"type": "string", "name": "io.debezium.data.Json"}, UNAVAILABLE),
    "xml": ({"type": "string", "name": "io.debezium.data.Xml"}, UNAVAILABLE),
    "numeric as text": (TYPES["string"], UNAVAILABLE),
    "bytea as bytes": (TYPES["bytes"], AS_BASE64),
    "bytea as base64 or hex": (TYPES["string"], UNAVAILABLE),
    "bytea as base64 of its bytes": (TYPES["string"], AS_BASE64),
    "bytea as base64-url-safe": (TYPES["string"], "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ"),
    "bytea as hex of its bytes": (
        TYPES["string"],
        "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565",
    ),
    "text[]": (ARRAY, [UNAVAILABLE]),
    "bytea[]": ({"type": "array", "items": {"type": "bytes"}}, [AS_BASE64]),
    "int[]": ({"type": "array", "items": {"type": "int32"}}, BYTES),
    "date[]": ({"type": "array", "items": {"type": "int32", "name": "io.debezium.time.Date"}}, BYTES),
    "double precision[]": ({"type": "array", "items": {"type": "double"}}, [float(each) for each in BYTES]),
    "numeric[] as text": (ARRAY, [str(each) for each in BYTES]),
    "uuid[]": (ARRAY, ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
    "hstore as map": ({"type": "map"}, {UNAVAILABLE: UNAVAILABLE}),
    "hstore as json": (
        {"type": "string", "name": "io.debezium.data.Json"},
        json.dumps({UNAVAILABLE: UNAVAILABLE}, separators=(",", ":")),
    ),
    "hstore as json with blanks": (TYPES["string"], json.dumps({UNAVAILABLE: UNAVAILABLE})),
}
VALUES: list[Any] = [
    "", "x", f"{UNAVAILABLE} ", f"not {UNAVAILABLE}", f'{{"a": "{UNAVAILABLE}"}}', f"{{{UNAVAILABLE}",
    [], [UNAVAILABLE, UNAVAILABLE], [UNAVAILABLE, "x"], [[UNAVAILABLE]], ["b68a35a7-17ad-35b3-af2a-ae46edb4545b"],
    BYTES[:-1], [*BYTES, 95], [*BYTES[:-1], 102], [*BYTES[:-1], "sNaN"], [*BYTES[:-1], None], [True] * len(BYTES),
    {}, {UNAVAILABLE: "x"}, {"x": UNAVAILABLE}, {UNAVAILABLE: UNAVAILABLE, "x": "y"}, {UNAVAILABLE: [UNAVAILABLE]},
    0, 95, True, None, Decimal("95"), 1.5,
]  # fmt: skip
SPEC = parse_lake_spec({
    "lake": "shop",
    "source": {
        "topics": ["shop*"],
        "key": "id",
        "nulls": "value",
        "tables": ["shop.wide"],
        "columns": [
            {"name": "id", "source": "id", "type": "bigint"},
            {"name": "note", "source": "note", "type": "string"},
        ],
    },
    "log": "log",
    "quarantine": "bad",
    "tables": [
        {"name": "notes", "key": "id", "columns": ["note"]},
        {"name": "orders", "from": {"database": "shop", "table": "orders"}, "key": ["id"]},
    ],
})  # fmt: skip


def decode(record: Any, spec: LakeSpec = SPEC) -> DecodedEvent:
    event = EnvelopeDecoder(spec).decode(line_of(record))
    assert event is not None
    return event


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("has_schema", [True, False])
def test_no_form_of_the_placeholder_is_a_value_of_a_table(form: str, has_schema: bool) -> None:
    field, value = FORMS[form]
    fields = {"id": TYPES["int"], "v": field, "w": TYPES["string"]} if has_schema else None
    row = decode(change("u", "orders", {"id": 1, "v": value, "w": "new"}, 5, fields=fields)).mirrored
    assert row is not None
    assert (row.unknown, dict(row.values)) == (("v",), {"id": "1", "w": "new"})


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_the_placeholder_is_a_value_of_the_wide_log(form: str) -> None:
    event = decode(change("u", "wide", {"id": 1, "note": FORMS[form][1]}, 5))
    assert (event.values, event.unknown) == ((1, None), ("note",))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_that_only_looks_like_it_is_one(value: Any) -> None:
    assert not build_detector()(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(
    st.text(), of)))  # fmt: skip
def test_any_other_value_is_one(value: Any) -> None:
    assert not build_detector()(value)


@given(st.text(min_size=2).filter(lambda text: text.strip() and text.isprintable()))
def test_another_placeholder_has_the_same_forms_and_takes_the_place_of_the_first(placeholder: str) -> None:
    is_placeholder = build_detector(placeholder)
    signed = [int.from_bytes(bytes([each]), "big", signed=True) for each in placeholder.encode()]
    for form in (placeholder, [placeholder], {placeholder: placeholder}, signed, placeholder.encode().hex()):
        assert is_placeholder(form)
    assert is_placeholder(UNAVAILABLE) == (placeholder == UNAVAILABLE)


def test_a_connector_with_another_placeholder_is_declared() -> None:
    document = {"lake": "shop", "log": "log", "quarantine": "bad", "tables": [
        {"name": "orders", "from": {"database": "shop", "table": "orders"}, "key": ["id"]},
    ]}  # fmt: skip
    spec = parse_lake_spec({**document, "source": {"topics": ["shop*"], "placeholder": "<same>"}})
    row = decode(change("u", "orders", {"id": 1, "a": ["<same>"], "b": [UNAVAILABLE]}, 5), spec).mirrored
    assert row is not None
    assert (row.unknown, dict(row.values)) == (("a",), {"id": "1", "b": f'["{UNAVAILABLE}"]'})
    for wrong in ("", "  "):
        with pytest.raises(ContractError, match=r"is no text; give the connector's unavailable\.value\.placeholder"):
            parse_lake_spec({**document, "source": {"topics": ["shop*"], "placeholder": wrong}})
