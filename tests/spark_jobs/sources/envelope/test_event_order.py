"""Event order is the source's own, total, and knows nothing of how a record was delivered.

Changes are drawn with few positions, keys and values, so that many share a position, as real snapshots do.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import OtherTableError, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support import oracle
from tests.support.envelopes import Envelope, envelope, line, postgres, sqlserver, wrapped
from tests.support.mirrors import TYPES, change, shop_of

SPEC = load_lake_spec(Settings().lake_spec)
DECODER = EnvelopeDecoder(SPEC)

rows = st.fixed_dictionaries(
    {"SaleId": st.integers(1, 3)},
    optional={
        "UnitId": st.none() | st.integers(1, 3),
        "UnitName": st.none() | st.sampled_from(["a", "b", "é", "1"]),
        "ContractSubtotal": st.none() | st.sampled_from(["1", "1.0", "2.5000"]),
        "CustomerId": st.none() | st.integers(1, 2),
        "Unknown": st.none() | st.booleans() | st.floats(0, 1) | st.integers(0, 3),
    },
)
ops = st.sampled_from("cruud")
from_sqlserver = st.builds(sqlserver, ops, rows, st.integers(0, 4), serial=st.integers(1, 2))
from_postgres = st.builds(postgres, ops, rows, st.integers(0, 4))
logs = st.lists(from_sqlserver, min_size=2, max_size=12) | st.lists(from_postgres, min_size=2, max_size=12)


def decode(record: Envelope) -> DecodedEvent:
    event = DECODER.decode(line(record))
    assert event is not None
    return event


@given(logs)
def test_it_sorts_as_the_oracle_sorts(log):
    """The product's text and the oracle's numbers agree on every pair: which comes first, and which are the same."""
    decoded = [(decode(record).event_order, oracle.read_line(line(record))) for record in log]
    by_text = sorted(decoded, key=lambda pair: pair[0])
    for (text, event), (next_text, next_event) in pairwise(by_text):
        assert event is not None
        assert next_event is not None
        assert event.order <= next_event.order
        assert (text == next_text) == (event.order == next_event.order)


@given(logs)
def test_different_changes_have_different_identities(log):
    """What distinguishes changes: op, position and the images without nulls."""
    contents = {
        json.dumps(
            [
                record["op"],
                record["source"].get("lsn"),
                record["source"].get("commit_lsn"),
                record["source"].get("change_lsn"),
                record["source"].get("event_serial_no"),
                *({k: str(v) for k, v in (record[i] or {}).items() if v is not None} for i in ("before", "after")),
            ],
            sort_keys=True,
        )
        for record in log
    }
    assert len({decode(record).event_id for record in log}) == len(contents)


def shuffled(value: Any, draw: Any) -> Any:
    """The same JSON with the fields of every object in another order."""
    if not isinstance(value, dict):
        return value
    return {name: shuffled(value[name], draw) for name in draw(st.permutations(list(value)))}


@given(st.data(), from_sqlserver | from_postgres)
def test_a_second_delivery_is_the_same_event(data, record):
    """Order of fields, wrapper, spaces, delivery time, absent or null columns, where it was delivered: all no part.

    Which columns were absent is noted beside the event, for tables where null is a value.
    """
    expected = decode(record)._replace(unknown=None)
    again = {**shuffled(record, data.draw), "ts_ms": record["ts_ms"] + data.draw(st.integers(0, 10**6))}
    image = "before" if record["op"] == "d" else "after"
    again[image] = {**{column.source: None for column in SPEC.source.columns}, **again[image]}
    forms = [line(again), line(wrapped(again)), json.dumps(again, indent=None, ensure_ascii=True).encode() + b"  \r"]
    for form in forms:
        assert DECODER.decode(form) == expected


@given(rows, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from([sqlserver, postgres]))
def test_position_goes_before_everything_else(row, one, other, connector):
    first, second = (decode(connector("c", row, position, ts_ms=0)) for position in (one, other))
    if one != other:
        assert (first.event_order < second.event_order) == (one < other)


def test_positions_of_any_length_sort_as_numbers():
    lsns = [0, 9, 10, 255, 256, 2**31, 2**32, 2**63, 2**64 - 1]
    records = [postgres("c", {"SaleId": 1}, 0) for _ in lsns]
    for record, lsn in zip(records, lsns, strict=True):
        record["source"]["lsn"] = lsn
    orders = [decode(record).event_order for record in records]
    assert orders == sorted(set(orders))


places = st.tuples(*(st.sampled_from([0, 9, 10, 0xAF, 0xFA0]) | st.integers(0, 2**32 - 1) for _ in range(3)))
"""Small numbers beside large ones: their digits have other lengths, and A to F other capitals."""


def at_lsn(place: tuple[int, int, int], *, capitals: bool) -> Envelope:
    commit, change, serial = place
    record = sqlserver("c", {"SaleId": 1}, 0, serial=serial)
    lsns = {"commit_lsn": f"{commit:08x}:{change:08x}:0001", "change_lsn": f"{change:08x}:{commit:08x}:0002"}
    record["source"] |= {name: text.upper() if capitals else text for name, text in lsns.items()}
    return record


def at_binlog(place: tuple[int, int, int], *, capitals: bool) -> Envelope:
    number, position, row = place
    source = {"connector": "mysql", "name": "erp", "db": "erp", "table": "SALES", "ts_ms": 0}
    file = f"{'BINLOG' if capitals else 'binlog'}.{number:06d}"
    return envelope("c", {"SaleId": 1}, {**source, "file": file, "pos": position, "row": row})


@pytest.mark.parametrize("at", [at_lsn, at_binlog])
@given(st.data())
def test_every_part_of_a_position_sorts_as_a_number_however_it_is_written(at, data):
    """Neighbours share their first parts, so that each part decides in its turn."""
    first = data.draw(places)
    others = [(*first[:n], *data.draw(places)[n:]) for n in (0, 1, 2)]
    written = [(place, decode(at(place, capitals=data.draw(st.booleans())))) for place in (first, *others)]
    for place, event in written:
        again = decode(at(place, capitals=True))
        assert (again.event_order, again.event_id) == (event.event_order, event.event_id)
        for other, next_event in written:
            assert (place < other) == (event.event_order < next_event.event_order)


SHOP = shop_of("orders", "lines")
mirrored = st.builds(
    change,
    st.sampled_from("cud"),
    st.sampled_from(["orders", "lines", "others"]),
    st.fixed_dictionaries({"id": st.integers(1, 2)}, optional={"v": st.sampled_from([0, 5, 70_000, "5", None, 1.5])}),
    st.integers(0, 3),
    fields=st.none() | st.fixed_dictionaries({"id": st.just(TYPES["int"]), "v": st.sampled_from([*TYPES.values()])}),
)
signed = st.fixed_dictionaries({"SaleId": st.integers(1, 2), "ContractSigningDate": st.integers(0, 10**15)})
wide = st.builds(
    lambda make, op, row, fields: make(op, row, 5) if fields is None else wrapped(make(op, row, 5), fields),
    st.sampled_from([sqlserver, postgres]),
    ops,
    signed,
    st.none() | st.sampled_from(["MicroTimestamp", "Timestamp", "NanoTimestamp"]).map(
        lambda name: [{"field": "ContractSigningDate", "type": "int64", "name": f"io.debezium.time.{name}"}]
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "drawn"), [(SPEC, wide), (SHOP, mirrored)], ids=["wide log", "mirrors"])
@given(data=st.data())
def test_a_record_is_read_the_same_whatever_was_read_before_it(spec, drawn, data):
    """One decoder reads records of several connectors, tables and schemas, as the task of an executor does."""
    decoder = EnvelopeDecoder(spec)
    for record in data.draw(st.lists(drawn, min_size=2, max_size=8)):
        assert outcome(decoder, record) == outcome(EnvelopeDecoder(spec), record)


def outcome(decoder: EnvelopeDecoder, record: Envelope) -> object:
    try:
        return decoder.decode(line(record))
    except (RejectedRecordError, OtherTableError) as error:
        return repr(error)


def test_both_halves_of_a_change_of_the_key_are_events():
    """PostgreSQL sends a delete of the old key and an insert of the new one with one LSN."""
    gone, come = decode(postgres("d", {"SaleId": 1}, 9)), decode(postgres("c", {"SaleId": 2}, 9))
    assert gone.event_id != come.event_id
    assert gone.event_order.split("-")[0] == come.event_order.split("-")[0]
