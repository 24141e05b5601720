"""No record can break a batch: whatever is in it, it is decoded or rejected, and both can be stored.

Each example is a good record (PostgreSQL's or SQL Server's, with a schema, with its key beside it, or bare) in which a
few places, chosen anywhere in it, hold any JSON value.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import OtherTableError, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.envelopes import CONNECT_FIELDS, line, postgres, sqlserver, wrapped
from tests.support.hostile_names import HOSTILE

DECODER = EnvelopeDecoder(load_lake_spec(Settings().lake_spec))
DECLARED = {column.source for column in load_lake_spec(Settings().lake_spec).source.columns}
ROW = {"SaleId": 7, "UnitId": 3, "ContractSubtotal": "1.5", "ContractSigningDate": 1}
RECORDS = [
    sqlserver("c", ROW, 5),
    postgres("d", ROW, 5),
    wrapped(postgres("u", ROW, 5), CONNECT_FIELDS),
    {"key": {"SaleId": 7}, "value": sqlserver("u", ROW, 6), "offset": 3},
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\ud83d", "1E+9999999", "x" * 5000, "\x00", "d", "postgresql", "sqlserver", 10**17, 10**400])
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in inner for place in places(child, (*path, key)))]


def with_value(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at ``path``; unchanged when an earlier replacement removed the place."""
    if not path:
        return new
    if isinstance(value, dict) and path[0] in value:
        return {**value, path[0]: with_value(value[path[0]], path[1:], new)}
    if isinstance(value, list) and isinstance(path[0], int) and path[0] < len(value):
        return [*value[: path[0]], with_value(value[path[0]], path[1:], new), *value[path[0] + 1 :]]
    return value


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    record: Any = draw(st.sampled_from(RECORDS))
    for path in draw(st.lists(st.sampled_from(places(record)), min_size=1, max_size=3)):
        record = with_value(record, path, draw(anything))
    return json.dumps(record).encode()


def assert_decoded_or_rejected(text: bytes) -> None:
    try:
        event = DECODER.decode(text)
    except RejectedRecordError as error:
        f"{error.reason}{error.detail}".encode()
    except OtherTableError as error:
        error.table.encode()
    else:
        if event is not None:
            f"{event.event_id}{event.event_order}".encode()
            assert isinstance(dict(zip("k", event.values, strict=False))["k"], int)


@settings(max_examples=400)
@given(damaged())
def test_any_value_anywhere(text):
    assert_decoded_or_rejected(text)


@settings(max_examples=300)
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8")))
def test_any_bytes(text):
    assert_decoded_or_rejected(text)


@settings(max_examples=300)
@given(st.sampled_from(RECORDS).map(line), st.integers(0, 1000), st.integers(0, 255))
def test_any_byte_changed(text, place, value):
    assert_decoded_or_rejected(text[: place % len(text)] + bytes([value]) + text[place % len(text) + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        line(
            wrapped(
                sqlserver("c", ROW, 5),
                [{"field": "ContractSubtotal", "type": "bytes", **CONNECT_FIELDS[1], "parameters": 5}],
            )
        ),
        line(wrapped(sqlserver("c", ROW, 5), [{**CONNECT_FIELDS[1], "parameters": {"scale": "four"}}])),
        *(
            line(wrapped(sqlserver("c", ROW, 5), [{**CONNECT_FIELDS[1], "parameters": {"scale": scale}}]))
            for scale in (10**30, "-99999", None, True)
        ),
        line(wrapped(sqlserver("c", ROW, 5), [{**CONNECT_FIELDS[1], "parameters": {"scale": 7}}])).replace(
            b'"scale":7', b'"scale":1e999999999'
        ),
        line(wrapped(sqlserver("c", ROW, 5), [{**CONNECT_FIELDS[2], "name": ["io.debezium.time.MicroTimestamp"]}])),
        line({"schema": {"fields": 5}, "payload": sqlserver("c", ROW, 5)}),
        line(sqlserver("c", ROW, 5)).replace(b'"name":"erp"', b'"name":"\\ud83d"'),
    ],
    ids=[
        *("parameters", "scale", "huge scale", "scale below", "no scale", "true", "a scale that would fill the memory"),
        "type name",
        "fields",
        "half a surrogate pair in the source's name",
    ],
)
def test_a_schema_or_source_that_makes_no_sense_is_rejected(text):
    with pytest.raises(RejectedRecordError) as caught:
        DECODER.decode(text)
    assert caught.value.reason == "not_an_envelope"


def test_a_duplicate_key_that_is_no_text_can_still_be_reported():
    with pytest.raises(RejectedRecordError) as caught:
        DECODER.decode(b'{"\\ud83d":1,"\\ud83d":2}')
    assert caught.value.detail.encode("utf-8")


def is_json(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=12) | st.sampled_from(list(HOSTILE.values())), scalars.filter(is_json), max_size=5
    )
)
def test_fields_that_are_not_declared_are_data_that_is_not_read(fields):
    """They change the identity of the change they belong to, as any other value of the row does, and nothing else."""
    unknown = {name: value for name, value in fields.items() if name not in DECLARED}
    plain, more = sqlserver("c", ROW, 5), sqlserver("c", {**unknown, **ROW}, 5)
    known, decoded = DECODER.decode(line(plain)), DECODER.decode(json.dumps(more).encode())
    assert known is not None
    assert decoded is not None
    assert decoded.values == known.values
    assert decoded.event_id.isprintable()
