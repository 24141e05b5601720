"""What each connector sends: its own order of changes, its own messages, its own forms of a value."""

from __future__ import annotations

import base64
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.connectors.registry import connector_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.positions import transaction_of
from spark_jobs.sources.values import build_converter, build_schema_converter
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.envelopes import START_MS, Envelope, envelope, line, postgres, sqlserver, wrapped
from tests.support.mirrors import UNAVAILABLE

SPEC = load_lake_spec(Settings().lake_spec)
ROW = {"SaleId": 7, "UnitName": "A 1"}
AMOUNT = ColumnSpec(name="amount", source="Amount", type=ColumnType.DECIMAL, precision=18, scale=4)
MOMENT = ColumnSpec(name="moment", source="Moment", type=ColumnType.TIMESTAMP)

places = st.tuples(st.integers(1, 2**32 - 1), st.integers(4, 2**40), st.integers(0, 500))
"""Number of the binlog file, position in it, row of the event."""


def binlog(place: tuple[int, int, int], *, op: str = "u", connector: str = "mariadb", **changes: Any) -> Envelope:
    """A change as the connectors of MySQL and MariaDB send it; servers write at least six digits."""
    number, position, row = place
    source = {
        "version": "3.2.0.Final",
        "connector": connector,
        "name": "erp",
        "ts_ms": START_MS,
        "snapshot": "true" if op == "r" else "false",
        "db": "shop",
        "table": "SALES",
        "server_id": 223344,
        "gtid": None if op == "r" else "0-223344-17",
        "file": f"{connector}-bin.{number:06d}",
        "pos": position,
        "row": row,
    }
    return envelope(op, ROW, {**source, **changes})


def decode(record: Any) -> DecodedEvent:
    event = EnvelopeDecoder(SPEC).decode(line(record))
    assert event is not None
    return event


@given(st.lists(places, min_size=2, max_size=8, unique=True))
def test_binlog_changes_sort_as_the_server_wrote_them(found: list[tuple[int, int, int]]):
    orders = {place: decode(binlog(place)).event_order for place in found}
    assert sorted(found) == sorted(found, key=orders.__getitem__)


def test_the_database_is_part_of_an_events_identity():
    one, other = (decode(binlog((3, 154, 0), db=db)) for db in ("shop", "shop_of_another"))
    assert one.event_id.startswith("erp.shop.SALES:")
    assert one.event_id != other.event_id
    assert one.event_order == other.event_order


def test_a_place_may_be_a_number_or_its_digits():
    """As converters write it that keep 64 bits in texts."""
    for record, name in ((binlog((3, 154, 0)), "pos"), (postgres("u", ROW, 5), "lsn")):
        as_text = {**record, "source": {**record["source"], name: str(record["source"][name])}}
        assert decode(as_text) == decode(record)
        for wrong in ("-5", "5.0", "\u0665", "18446744073709551616", "", "1" + "0" * 23, "1" * 5000):
            with pytest.raises(RejectedRecordError, match=f"{name} gives no place") as caught:
                decode({**record, "source": {**record["source"], name: wrong}})
            assert caught.value.reason is Reason.MISSING_POSITION


@pytest.mark.parametrize("connector", ["mysql", "mariadb"])
def test_rows_of_a_snapshot_come_before_what_followed_it(connector: str):
    """They share the place at which the snapshot began, and tie on it; the binlog goes on behind it."""
    snapshot = decode(binlog((3, 154, 0), op="r", connector=connector))
    assert snapshot.op == "r"
    assert snapshot.event_order < decode(binlog((3, 155, 0), connector=connector)).event_order


def test_a_new_binlog_file_begins_again_and_comes_later():
    assert decode(binlog((9, 10**9, 400))).event_order < decode(binlog((10, 4, 0))).event_order
    assert decode(binlog((999_999, 4, 0))).event_order < decode(binlog((1_000_000, 4, 0))).event_order


@pytest.mark.parametrize(
    "record",
    [
        {"ts_ms": START_MS},
        {"serverName": "erp", "ts_ms": START_MS},
        {"op": "m", "ts_ms": START_MS, "source": {"connector": "postgresql", "lsn": 5}, "message": {"prefix": "a"}},
        {
            "source": {"connector": "mysql"},
            "ts_ms": 5,
            "databaseName": "shop",
            "ddl": "ALTER TABLE …",
            "tableChanges": [],
        },
    ],
    ids=["heartbeat", "heartbeat of a server", "logical message", "schema change"],
)
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_what_a_connector_says_of_itself_is_no_event(record: Envelope, is_wrapped: bool):
    content = {"schema": {"type": "struct"}, "payload": record} if is_wrapped else record
    assert EnvelopeDecoder(SPEC).decode(line(content)) is None


@pytest.mark.parametrize("record", [{}, {"hello": 1}, {"ts_ms": 1, "hello": 1}, {"ddl": "DROP TABLE x"}])
def test_what_is_not_known_is_kept(record: Envelope):
    with pytest.raises(RejectedRecordError) as caught:
        EnvelopeDecoder(SPEC).decode(line(record))
    assert caught.value.reason is Reason.UNKNOWN_OP


def test_an_emptied_table_is_kept_and_says_what_it_means():
    with pytest.raises(RejectedRecordError, match="was emptied at the source") as caught:
        EnvelopeDecoder(SPEC).decode(line({**postgres("c", ROW, 1), "op": "t", "after": None}))
    assert caught.value.reason is Reason.TRUNCATE


def test_a_value_that_did_not_travel_is_not_known():
    event = decode(postgres("u", {**ROW, "UnitName": UNAVAILABLE, "AgentName": "Ann"}, 5))
    known = dict(zip((column.name for column in SPEC.source.columns), event.values, strict=True))
    assert (known["unit_name"], known["agent_name"], known["sale_id"]) == (None, "Ann", 7)


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_a_packed_number_without_a_schema_has_the_declared_scale(unscaled: int):
    """What ``decimal.handling.mode`` precise sends where the converter writes no schemas."""
    column = replace(AMOUNT, packed=True)
    text = base64.b64encode(unscaled.to_bytes(8, "big", signed=True)).decode()
    for connector in ("sqlserver", "postgresql", "mysql"):
        assert build_converter(column, connector)(text) == Decimal(unscaled).scaleb(-4)


@pytest.mark.parametrize("value", ["12.5", "", "AB", "A===", "not base64", "=" * 8])
def test_what_is_not_packed_is_no_packed_number(value: str):
    with pytest.raises(RejectedRecordError) as caught:
        build_converter(replace(AMOUNT, packed=True), "sqlserver")(value)
    assert caught.value.reason == Reason.BAD_DECIMAL


def test_a_schema_says_that_a_number_is_text_after_all():
    read = build_schema_converter(replace(AMOUNT, packed=True), {"field": "Amount", "type": "string"})
    assert read is not None
    assert read("12.5000") == Decimal("12.5")


def test_only_a_decimal_is_packed():
    with pytest.raises(ContractError, match="column moment: packed is for decimals, and this is a timestamp"):
        replace(MOMENT, packed=True)


@given(st.integers(-(10**17), 10**17), st.integers(0, 4))
def test_a_number_that_brings_its_own_scale_is_the_same_number(unscaled: int, scale: int):
    packed = base64.b64encode(unscaled.to_bytes(12, "big", signed=True)).decode()
    expected = Decimal(unscaled).scaleb(-scale)
    convert = build_converter(AMOUNT, "postgresql")
    if abs(expected) < 10**14:
        assert convert({"scale": scale, "value": packed}) == expected


@pytest.mark.parametrize("kind", ["double", "float"])
def test_a_sum_of_money_is_no_floating_point_number(kind: str):
    record = wrapped(
        sqlserver("c", {**ROW, "ContractSubtotal": 10.5}, 1), [{"field": "ContractSubtotal", "type": kind}]
    )
    with pytest.raises(RejectedRecordError, match=r"set decimal\.handling\.mode of the connector to string or precise"):
        EnvelopeDecoder(SPEC).decode(line(record))


@pytest.mark.parametrize(
    ("unit", "moment"),
    [
        (NumberUnit.DAYS, datetime(2026, 3, 18, tzinfo=UTC)),
        (NumberUnit.MILLISECONDS, datetime(2026, 3, 18, 15, 30, 0, 123_000, tzinfo=UTC)),
        (NumberUnit.MICROSECONDS, datetime(2026, 3, 18, 15, 30, 0, 123_456, tzinfo=UTC)),
        (NumberUnit.NANOSECONDS, datetime(2026, 3, 18, 15, 30, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_the_unit_that_is_declared_for_the_connector(unit: NumberUnit, moment: datetime):
    length = {"days": 86_400_000_000, "milliseconds": 1000, "microseconds": 1}
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    number = microseconds * 1000 if unit is NumberUnit.NANOSECONDS else microseconds // length[unit.value]
    column = replace(MOMENT, unit=(("mysql", unit), ("default", NumberUnit.MILLISECONDS)))
    assert build_converter(column, "mysql")(number) == moment


def test_the_schema_of_a_record_has_the_last_word_on_its_unit():
    """``time.precision.mode`` adaptive and connect differ in what they send; the schema names it."""
    for name, number in (
        ("io.debezium.time.Date", 20_530),
        ("org.apache.kafka.connect.data.Timestamp", 20_530 * 86_400_000),
    ):
        read = build_schema_converter(MOMENT, {"field": "Moment", "name": name})
        assert read is not None
        assert read(number) == datetime(2026, 3, 18, tzinfo=UTC)


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_delivery_gives_the_same_events(seed: int):
    chance = random.Random(seed)
    records = [binlog((chance.randrange(1, 4), chance.randrange(4, 10**6), chance.randrange(3))) for _ in range(50)]
    shuffled = chance.sample(records, len(records))
    assert {decode(record).event_id for record in records} == {decode(record).event_id for record in shuffled}


@pytest.mark.parametrize(
    ("connector", "facts", "known"),
    [
        ("mysql", {"gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"}, "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"),
        ("mariadb", {"gtid": "0-1-77"}, "0-1-77"),
        ("mariadb", {"gtid": None}, None),
        ("postgresql", {"txId": 743}, "743"),
        ("sqlserver", {"commit_lsn": "00000027:00000758:0003"}, "00000027:00000758:0003"),
        ("mysql", {"gtid": ["a"]}, None),
        ("mysql", {"gtid": "x" * 201}, None),
        ("postgresql", {"txId": True}, None),
        ("oracle", {"txId": "7"}, None),
    ],
)
def test_the_transaction_is_recorded_as_the_source_calls_it(connector, facts, known):
    assert transaction_of(facts, connector_of(connector)) == known
