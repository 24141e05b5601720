"""Envelopes of Debezium's connectors become log rows, or rejections with a reason.

Good records are those of tests.support.envelopes: sale 7 of unit 3 at commit 5 of SQL Server or LSN 22,000,005 of
PostgreSQL. Broken ones are the catalogue of tests.support.broken.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support import oracle
from tests.support.broken import BROKEN, nested
from tests.support.envelopes import CONNECT_FIELDS, Envelope, envelope, line, postgres, sqlserver, wrapped

SPEC = load_lake_spec(Settings().lake_spec)
NAMES = [column.name for column in SPEC.source.columns]
SIGNED = datetime(2026, 3, 4, 5, 6, 7, 123000, tzinfo=UTC)
SIGNED_MS = int(SIGNED.timestamp() * 1000)
ROW = {"SaleId": 7, "UnitId": 3, "UnitName": "unit 3", "ContractSubtotal": "1250000.5000", "CustomerId": None}


def decode(record: Envelope | bytes) -> DecodedEvent:
    event = EnvelopeDecoder(SPEC).decode(record if isinstance(record, bytes) else line(record))
    assert event is not None
    return event


def row_of(event: DecodedEvent) -> dict[str, object]:
    return {name: value for name, value in zip(NAMES, event.values, strict=True) if value is not None}


def test_a_change_of_sql_server():
    event = decode(sqlserver("c", {**ROW, "ContractSigningDate": SIGNED_MS}, 5))
    assert event.op == "c"
    assert event.event_time == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert event.event_order.startswith("00000027000000050003" + "00000027000000050002" + "00000001" + "-")
    assert event.event_id == f"erp.dbo.SALES:{event.event_order}@sqlserver/erp"
    assert (event.origin, event.mark) == ("sqlserver/erp/erp/dbo.SALES", event.event_order.partition("-")[0])
    assert row_of(event) == {
        "sale_id": 7,
        "unit_id": 3,
        "unit_name": "unit 3",
        "contract_subtotal": Decimal("1250000.5000"),
        "contract_signing_date": SIGNED,
    }


def test_a_change_of_postgresql_has_times_in_microseconds():
    event = decode(postgres("u", {**ROW, "ContractSigningDate": SIGNED_MS * 1000}, 5))
    assert event.event_order.startswith(f"{22_000_005:016x}-")
    assert row_of(event)["contract_signing_date"] == SIGNED


def test_an_unknown_connector_is_ordered_by_source_time():
    source = {"connector": "oracle", "name": "erp", "ts_ms": 1_767_225_600_000}
    assert decode(envelope("c", ROW, source)).event_order.startswith(f"{1_767_225_600_000:016x}-")
    del source["ts_ms"]
    late = {**envelope("c", ROW, source), "ts_ms": 1_767_225_600_001}
    assert decode(late).event_order.startswith(f"{1_767_225_600_001:016x}-")
    assert decode(late).event_time == datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (sqlserver("u", ROW, 5), "commit_lsn"),
        (postgres("u", ROW, 5), "lsn"),
        (envelope("u", ROW, {"connector": "mysql", "name": "erp", "pos": 4, "row": 0, "ts_ms": 5}), "file"),
    ],
)
def test_a_change_without_its_connectors_place_is_not_ordered_by_time(record, field):
    """By its time it would be above every place of the connector."""
    source = {name: value for name, value in record["source"].items() if name != field}
    with pytest.raises(RejectedRecordError, match=rf"source\.{field} is missing in a change of") as caught:
        decode({**record, "source": source})
    assert caught.value.reason is Reason.MISSING_POSITION


def test_a_change_without_its_own_time_is_not_of_the_day_on_which_it_was_sent():
    """It would be in the log once for each day on which it is delivered."""
    record = sqlserver("u", ROW, 5)
    source = {name: value for name, value in record["source"].items() if name != "ts_ms"}
    with pytest.raises(RejectedRecordError, match="ts_ms 'None' is no time") as caught:
        decode({**record, "source": source})
    assert caught.value.reason is Reason.BAD_TIMESTAMP


def test_a_delete_carries_its_before_image():
    event = decode(sqlserver("d", ROW, 5))
    assert (event.op, row_of(event)["sale_id"], row_of(event)["unit_name"]) == ("d", 7, "unit 3")


@pytest.mark.parametrize("text", [b"null", b" null ", b"", b"  ", b"\r", b"\xe2\x80\x83"[:0]])
def test_a_record_without_a_value_is_nothing(text):
    assert EnvelopeDecoder(SPEC).decode(text) is None


def test_a_windows_end_of_line_is_no_part_of_the_record():
    assert decode(line(sqlserver("c", ROW, 5)) + b"\r") == decode(sqlserver("c", ROW, 5))


def test_the_records_own_schema_says_how_to_read_it():
    """Connect's Decimal is base64 of an unscaled number, MicroTimestamp a number of microseconds."""
    unscaled = base64.b64encode((-12_505_000).to_bytes(4, "big", signed=True)).decode()
    row = {**ROW, "ContractSubtotal": unscaled, "ContractSigningDate": SIGNED_MS * 1000}
    for op in ("c", "d"):
        got = row_of(decode(wrapped(sqlserver(op, row, 5), CONNECT_FIELDS)))
        assert got["contract_subtotal"] == Decimal("-1250.5000")
        assert got["contract_signing_date"] == SIGNED
    decoder = EnvelopeDecoder(SPEC)
    decoder.decode(line(wrapped(sqlserver("c", row, 5), CONNECT_FIELDS)))
    plain = decoder.decode(line(sqlserver("c", {**ROW, "ContractSigningDate": SIGNED_MS}, 6)))
    assert plain is not None
    assert row_of(plain)["contract_signing_date"] == SIGNED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("io.debezium.time.Timestamp", SIGNED_MS),
        ("org.apache.kafka.connect.data.Timestamp", SIGNED_MS),
        ("io.debezium.time.MicroTimestamp", SIGNED_MS * 1000),
        ("io.debezium.time.NanoTimestamp", SIGNED_MS * 1_000_000 + 999),
        ("io.debezium.time.ZonedTimestamp", "2026-03-04T07:06:07.123+02:00"),
        (None, "2026-03-04T05:06:07.123"),
    ],
)
def test_every_way_to_send_a_time(name, value):
    fields: list[dict[str, Any]] = [{"field": "ContractSigningDate", "name": name}]
    record = wrapped(postgres("c", {"SaleId": 7, "ContractSigningDate": value}, 5), fields)
    assert row_of(decode(record))["contract_signing_date"] == SIGNED


def test_a_date_is_the_first_moment_of_its_day():
    days: list[dict[str, Any]] = [{"field": "ContractSigningDate", "name": "io.debezium.time.Date", "type": "int32"}]
    got = row_of(decode(wrapped(sqlserver("c", {"SaleId": 7, "ContractSigningDate": 20_516}, 5), days)))
    assert got["contract_signing_date"] == datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize("kind", BROKEN)
def test_each_kind_of_broken_record_has_its_reason(kind):
    reason, make = BROKEN[kind]
    with pytest.raises(RejectedRecordError) as caught:
        EnvelopeDecoder(SPEC).decode(make(1))
    assert str(caught.value.reason) == reason
    assert caught.value.detail
    assert len(caught.value.detail) < 400
    with pytest.raises(oracle.UnusableError):
        oracle.read_line(make(1))


def test_a_broken_record_leaves_the_decoder_as_it_was():
    decoder = EnvelopeDecoder(SPEC)
    expected = decode(sqlserver("c", ROW, 5))
    for _, make in BROKEN.values():
        with pytest.raises(RejectedRecordError):
            decoder.decode(make(1))
        assert decoder.decode(line(sqlserver("c", ROW, 5))) == expected


def test_ordinary_nesting_passes():
    assert decode(nested(7, 20)).op == "c"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("ContractSubtotal", "99999999999999.9999"),
        ("ContractSubtotal", "-99999999999999.9999"),
        ("ContractSubtotal", "1E+3"),
        ("ContractSubtotal", 12),
        ("ContractSubtotal", "0.50000000"),
        ("UnitId", 2**63 - 1),
        ("UnitId", -(2**63)),
        ("UnitName", "x" * 4000),
        ("UnitName", ""),
        ("UnitName", "Zürich ☃ 漢字 \u0000 '\"\\"),
        ("ContractSigningDate", -62_135_596_800_000),
        ("ContractSigningDate", 253_402_300_799_999),
    ],
)
def test_values_at_the_edge_are_read_as_the_oracle_reads_them(column, value):
    text = line(sqlserver("c", {"SaleId": 7, column: value}, 5))
    expected = oracle.read_line(text)
    assert expected is not None
    assert row_of(decode(text)) == expected.row


@pytest.mark.parametrize(("type_", "reason"), [("string", "missing_key"), ("bigint", "bad_integer")])
def test_an_empty_text_is_no_key_of_the_wide_log(type_, reason):
    columns = [
        {"name": "id", "source": "SaleId", "type": type_},
        {"name": "unit", "source": "UnitName", "type": "string"},
    ]
    document = {"lake": "shop", "source": {"topics": ["t"], "key": "id", "columns": columns}, "log": "log"}
    tables = [{"name": "units", "key": "id", "columns": ["unit"]}]
    decoder = EnvelopeDecoder(parse_lake_spec({**document, "quarantine": "bad", "tables": tables}))
    with pytest.raises(RejectedRecordError) as refused:
        decoder.decode(line(sqlserver("c", {**ROW, "SaleId": ""}, 5)))
    assert refused.value.reason == reason
