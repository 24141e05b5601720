"""A line with its key beside the envelope is the same event as the bare envelope, or is refused for the same reason.

Law: for every record, good or broken, and every key and whatever else a sink writes beside it, by any lake: identity,
order, values and all that is read of a row but the columns of its key. The forms are those that the sinks of Aiven
(``offset``, ``timestamp``, ``headers`` as a list) and Lenses (``headers``, ``metadata`` as objects) write.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import OtherTableError, Reason, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support.broken import BROKEN, good
from tests.support.envelopes import CONNECT_FIELDS, line, postgres, wrapped
from tests.support.mirrors import TYPES, UNAVAILABLE, change
from tests.support.shop_lakes import shop_spec

ENTRIES = [
    {"name": "{table}", "from": {"database": "shop", "table": "*"}},
    {"name": "own", "from": {"database": "shop", "table": "own"}, "key": ["id"]},
]
DECODERS = [
    EnvelopeDecoder(load_lake_spec(Settings().lake_spec)),
    EnvelopeDecoder(parse_lake_spec(shop_spec(ENTRIES))),
]
FIELDS = {"id": TYPES["bigint"], "value": TYPES["string"], "key": TYPES["string"]}
ROW = {"id": 7, "value": "a", "key": None}
RECORDS = [
    good(3),
    postgres("d", {"SaleId": 7, "UnitId": 3}, 5),
    wrapped(postgres("u", {"SaleId": 7, "ContractSubtotal": "1.5"}, 5), CONNECT_FIELDS),
    change("c", "orders", ROW, 1),
    change("d", "orders", ROW, 2, fields=FIELDS),
    change("u", "own", {**ROW, "value": UNAVAILABLE}, 3, fields=FIELDS),
    change("r", "other.table", ROW, 4),
    {"op": "m", "ts_ms": 1},
    {"ts_ms": 1},
    None,
]
LINES = [*map(line, RECORDS), *(make(5) for _, make in BROKEN.values()), b""]

objects = st.dictionaries(st.sampled_from(["id", "SaleId", "op", "payload", "schema", "x"]), st.integers(), max_size=3)
keys = st.none() | objects | objects.map(lambda payload: {"schema": {"type": "struct"}, "payload": payload})
BESIDE: list[dict[str, Any]] = [
    {},
    {"offset": 12, "timestamp": "2026-01-01T00:00:01Z", "headers": [{"key": "a", "value": "Yg=="}]},
    {"headers": {"op": "d"}, "metadata": {"timestamp": 1, "topic": "erp", "partition": 0, "offset": 1}},
]


def outcome_of(decoder: EnvelopeDecoder, text: bytes) -> tuple[str, Any]:
    """The event without what only the key says; or why there is none. What is no JSON is another text in a line."""
    try:
        event = decoder.decode(text)
    except RejectedRecordError as error:
        return error.reason, error.detail if error.reason not in (Reason.NOT_JSON, Reason.NOT_UTF8) else ""
    except OtherTableError as error:
        return "other table", error.table
    if event is not None and event.mirrored:
        event = event._replace(mirrored=replace(event.mirrored, key=None))
    return "event", event


@pytest.mark.parametrize("decoder", DECODERS, ids=["wide log", "found tables"])
@settings(max_examples=100)
@given(text=st.sampled_from(LINES), key=keys, beside=st.sampled_from(BESIDE), is_last=st.booleans())
def test_a_line_with_its_key_is_the_same_event(
    decoder: EnvelopeDecoder, text: bytes, key: Any, beside: dict[str, Any], is_last: bool
):
    parts = [b'"key":' + line(key), b'"value":' + (text or b"null"), *([line(beside)[1:-1]] if beside else [])]
    found, bare = (outcome_of(decoder, each) for each in (b"{%s}" % b",".join(parts[::-1] if is_last else parts), text))
    if bare[0] == Reason.TOO_LONG:
        assert found[0] == Reason.TOO_LONG, "the whole line counts"
    elif bare[0] == Reason.NOT_AN_ENVELOPE and not text.startswith(b"{"):
        assert found == (Reason.NOT_AN_ENVELOPE, "value is no object; let the sink's value.converter be JsonConverter")
    else:
        assert found == bare


@pytest.mark.parametrize("key", [5, "5", '{"id": 5}', [5], True])
def test_a_key_that_is_no_object_is_refused_with_what_to_do(key: object):
    """Whom it names, an erasure could not see."""
    with pytest.raises(RejectedRecordError) as caught:
        DECODERS[1].decode(line({"key": key, "value": change("c", "orders", ROW, 1)}))
    assert caught.value.reason == Reason.NOT_AN_ENVELOPE
    assert caught.value.detail == "key is no object; let the sink's key.converter be JsonConverter"


@pytest.mark.parametrize(
    "record",
    [
        {"value": change("c", "orders", ROW, 1)},
        {"key": {"id": 7}, "value": {"key": {"id": 7}, "value": change("c", "orders", ROW, 1)}},
        {"key": {"id": 7}, "op": None, "value": change("c", "orders", ROW, 1)},
    ],
    ids=["no key", "twice", "op"],
)
def test_what_no_sink_writes_is_refused_as_before(record: dict[str, Any]):
    with pytest.raises(RejectedRecordError) as caught:
        DECODERS[1].decode(line(record))
    assert caught.value.reason == Reason.UNKNOWN_OP


def test_columns_that_are_called_key_and_value_are_columns():
    event = DECODERS[1].decode(json.dumps(change("c", "orders", ROW, 1)).encode())
    assert isinstance(event, DecodedEvent)
    assert event.mirrored is not None
    assert dict(event.mirrored.values) == {"id": "7", "value": "a", "key": None}
