"""Rows of a database as envelopes: what the decoder makes of them is what the database gave."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.connectors.values import ColumnKind, JdbcColumn
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, SourceSpec
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.sources.jdbc.envelopes import EnvelopeBuilder
from spark_jobs.sources.record_keys import key_columns
from spark_jobs.sources.values import unpack_decimal
from tests.support.envelopes import START_MS, line, postgres, wrapped

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AMOUNT = ColumnSpec(name="amount", source="Amount", type=ColumnType.DECIMAL, precision=38, scale=10)
SPEC = LakeSpec(
    lake="things",
    source=SourceSpec(
        topics=("*.things",),
        key="id",
        columns=(
            ColumnSpec(name="id", source="Id", type=ColumnType.BIGINT),
            ColumnSpec(name="name", source='Näme "of" it', type=ColumnType.STRING),
            AMOUNT,
            ColumnSpec(name="moment", source="At", type=ColumnType.TIMESTAMP),
            ColumnSpec(name="day", source="Day", type=ColumnType.TIMESTAMP),
            ColumnSpec(name="is_good", source="Good", type=ColumnType.BOOLEAN),
        ),
    ),
    tables=(TableSpec(name="things", key=("id",), columns=("name",)),),
    log="things_log",
    quarantine="quarantine",
)
SOURCES: dict[str, dict[str, Any]] = {
    "postgresql": {"db": "erp", "schema": "public", "lsn": 22_000_100},
    "mariadb": {"db": "erp", "file": "binlog.000003", "pos": 154, "row": 0},
    "sqlserver": {"db": "erp", "schema": "dbo", "commit_lsn": "00000027:00000ac0:0002", "change_lsn": None},
}
KINDS = {
    "Id": ColumnKind.INTEGER,
    'Näme "of" it': ColumnKind.TEXT,
    "Amount": ColumnKind.DECIMAL,
    "At": ColumnKind.TIMESTAMP,
    "Day": ColumnKind.DATE,
    "Good": ColumnKind.BOOLEAN,
}


def build(*values: str | None, connector: str = "postgresql", **kinds: ColumnKind) -> bytes:
    columns = [JdbcColumn(name=n, kind=k, before="", behind="") for n, k in {**KINDS, **kinds}.items()]
    source = {**SOURCES[connector], "connector": connector, "name": "erp", "table": "things"}
    return EnvelopeBuilder(columns, {**source, "ts_ms": START_MS, "snapshot": "true"}).build(values)


def decode(record: bytes) -> DecodedEvent:
    event = EnvelopeDecoder(SPEC).decode(record)
    assert event is not None
    return event


moments = st.datetimes()
"""A database's wall clock, which has no zone."""
amounts = st.decimals(-(10**27), 10**27, places=10, allow_nan=False)


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    st.none() | amounts,
    st.none() | moments,
    st.none() | st.dates(),
    st.none() | st.booleans(),
)
@pytest.mark.parametrize("connector", SOURCES)
def test_the_decoder_gives_what_the_database_gave(connector, key, name, amount, moment, day, is_good):
    texts = (None if value is None else str(value) for value in (key, name, amount, moment, day))
    event = decode(build(*texts, None if is_good is None else str(is_good).lower(), connector=connector))
    midnight = day and datetime(day.year, day.month, day.day, tzinfo=UTC)
    exact = None if amount is None else Decimal(amount)
    assert event.values == (key, name, exact, moment and moment.replace(tzinfo=UTC), midnight, is_good)
    assert (event.op, event.event_time) == ("r", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["", "+00:00"])
def test_a_moment_is_the_same_instant(zone):
    event = decode(build("1", None, None, f"2026-01-01 10:00:00.5{zone}", None, None, At=ColumnKind.INSTANT))
    assert event.values[3] == datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)


def test_rows_of_a_snapshot_share_a_place_and_are_told_apart():
    one, other, again = (decode(build(key, None, None, None, None, None)) for key in ("1", "2", "1"))
    assert one.event_order[:16] == other.event_order[:16] == f"{22_000_100:016x}"
    assert one.event_id != other.event_id
    assert one == again
    assert one.event_id.startswith("erp.public.things:")


def test_a_later_change_wins_over_it_with_or_without_a_schema():
    snapshot = decode(build("1", None, None, None, None, None))
    for place, is_later in ((101, True), (99, False)):
        change = postgres("u", {"Id": 1}, place)
        for record in (change, wrapped(change)):
            assert (decode(line(record)).event_order > snapshot.event_order) is is_later


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((), b""),
        (("Id",), b'{"Id":7}'),
        (("Day", "Id"), b'{"Day":1,"Id":7}'),
        (("Id", "Place"), b'{"Id":7,"Place":null}'),
    ],
    ids=["none", "one column", "in the order of the key", "a column that is not read"],
)
def test_the_key_of_a_row_is_that_of_its_table(key: tuple[str, ...], expected: bytes):
    columns = [JdbcColumn(name=name, kind=KINDS[name], before="", behind="") for name in ("Id", "Day")]
    builder = EnvelopeBuilder(columns, {"ts_ms": START_MS}, key=key)
    assert builder.build_key(["7", "1970-01-02"]) == expected
    image = json.loads(builder.build(["7", "1970-01-02"]))["payload"]["after"]
    assert key_columns(builder.build_key(["7", "1970-01-02"]), image) == (key if set(key) <= {*image} and key else None)


@pytest.mark.parametrize(
    ("place", "text", "reason"),
    [
        (2, "NaN", Reason.BAD_DECIMAL),
        (2, "1" * 40, Reason.BAD_DECIMAL),
        (3, "infinity", Reason.BAD_TIMESTAMP),
        (3, "10000-01-01 00:00:00", Reason.BAD_TIMESTAMP),
        (3, "0044-03-15 00:00:00 BC", Reason.BAD_TIMESTAMP),
        (4, "-infinity", Reason.BAD_TIMESTAMP),
        (1, "x" * 4001, Reason.TOO_LONG),
        (0, "18446744073709551615", Reason.BAD_INTEGER),
        (0, None, Reason.MISSING_KEY),
    ],
)
def test_what_the_lake_cannot_hold_is_rejected_for_its_own_reason(place, text, reason):
    values: list[str | None] = ["1", None, None, None, None, None]
    values[place] = text
    with pytest.raises(RejectedRecordError) as caught:
        decode(build(*values))
    assert caught.value.reason == reason


def test_a_floating_point_number_is_refused_for_an_amount():
    with pytest.raises(RejectedRecordError, match="not exact"):
        decode(build("1", None, "0.1", None, None, None, Amount=ColumnKind.FLOAT))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ColumnKind.DATE, "0000-00-00", None),
        (ColumnKind.TIMESTAMP, "2026-00-10 00:00:00.000000", None),
        (ColumnKind.INSTANT, "0000-00-00 00:00:00", None),
        (ColumnKind.TIMESTAMP, "1969-12-31T23:59:59.999999", -1),
        (ColumnKind.NANO_TIMESTAMP, "1970-01-01T00:00:00.1234567", 123_456_700),
        (ColumnKind.TIME, "-838:59:59.000001", -((838 * 60 + 59) * 60 + 59) * 1_000_000 - 1),
        (ColumnKind.TIME, "10:00:00", 36_000_000_000),
        (ColumnKind.TIME, "24:00:00+01", "24:00:00+01"),
        (ColumnKind.INSTANT, "infinity", "infinity"),
        (ColumnKind.INSTANT, "10000-01-01 00:00:00+00:00", "10000-01-01 00:00:00+00:00"),
        (ColumnKind.FLOAT, "0.1", 0.1),
        (ColumnKind.FLOAT, "Infinity", "Infinity"),
        (ColumnKind.BYTES, "00fF", base64.b64encode(b"\x00\xff").decode()),
        (ColumnKind.BYTES, "", ""),
        (ColumnKind.BOOLEAN, "0", False),
        (ColumnKind.BOOLEAN, "1", True),
    ],
)
def test_values_are_in_events_as_connectors_send_them(kind, text, value):
    """MySQL's zero dates say that none is known; a time that no connector could send stays what it is."""
    assert JdbcColumn(name="v", kind=kind, before="", behind="").event_value(text) == value


def test_the_schema_names_each_value():
    record = json.loads(build("1", None, None, None, None, None, Day=ColumnKind.INSTANT))
    (after,) = record["schema"]["fields"]
    named = {field["field"]: (field["type"], field.get("name")) for field in after["fields"]}
    assert named["At"] == ("int64", "io.debezium.time.MicroTimestamp")
    assert named["Day"] == ("string", "io.debezium.time.ZonedTimestamp")
    assert named["Amount"] == ("string", None)
    assert record["payload"]["after"].keys() == named.keys()


def test_times_are_exact_to_the_microsecond():
    late = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    text = late.replace(tzinfo=None).isoformat(sep=" ")
    column = JdbcColumn(name="v", kind=ColumnKind.TIMESTAMP, before="", behind="")
    assert column.event_value(text) == (late - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize("text", ["0", "0.00", "-1.25", "123456789.99", "-0.01", "1e2"])
def test_a_decimal_in_bytes_is_the_same_number(text):
    column = JdbcColumn(name="v", kind=ColumnKind.DECIMAL, before="", behind="", digits=(11, 2))
    packed = column.event_value(text)
    assert unpack_decimal(packed, 2, "v") == Decimal(text)
    assert column.field["parameters"] == {"scale": "2", "connect.decimal.precision": "11"}


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_decimal_in_bytes_keeps_every_digit(unscaled: int, scale: int):
    """As many as a database has, which are twice those of a floating-point number."""
    column = JdbcColumn(name="v", kind=ColumnKind.DECIMAL, before="", behind="", digits=(38, scale))
    exact = Decimal(unscaled).scaleb(-scale, Context(prec=80))
    assert unpack_decimal(column.event_value(format(exact, "f")), scale, "v").as_tuple() == exact.as_tuple()


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_cannot_be_read_as_one(text):
    column = JdbcColumn(name="v", kind=ColumnKind.DECIMAL, before="", behind="", digits=(11, 2))
    with pytest.raises(RejectedRecordError):
        unpack_decimal(column.event_value(text), 2, "v")
