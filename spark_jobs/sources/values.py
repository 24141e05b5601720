"""One JSON value of a change event to the value of its declared column, or a rejection."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Never

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit

Converter = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WIDE = Context(prec=80)
INT64 = 2**63
YEAR_2200 = 7_258_118_400_000_000
"""Microseconds since 1970."""
_MICROSECONDS = {
    NumberUnit.MILLISECONDS: Decimal(1000),
    NumberUnit.MICROSECONDS: Decimal(1),
    NumberUnit.NANOSECONDS: Decimal("0.001"),
    NumberUnit.DAYS: Decimal(86_400_000_000),
}
_SCHEMA_MICROSECONDS = {
    "io.debezium.time.Timestamp": Decimal(1000),
    "org.apache.kafka.connect.data.Timestamp": Decimal(1000),
    "io.debezium.time.MicroTimestamp": Decimal(1),
    "io.debezium.time.NanoTimestamp": Decimal("0.001"),
    "io.debezium.time.Date": Decimal(86_400_000_000),
    "org.apache.kafka.connect.data.Date": Decimal(86_400_000_000),
}
"""Microseconds in one unit of a number, by the name a Connect schema gives the type."""

# Python would also read "1_000", " 7 " and digits of other scripts, which no connector sends.
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_SCALE_TEXT = re.compile(r"-?[0-9]{1,3}")

CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_FLOATS = frozenset({"float", "double"})
_VARIABLE_SCALE = frozenset({"scale", "value"})
"""Members of Debezium's ``VariableScaleDecimal``: a number whose column has no scale of its own."""


def build_converter(column: ColumnSpec, connector: str) -> Converter:
    """The function that reads values of ``column`` as ``connector`` sends them without a schema.

    Values in their usual form are read at once; all others go through the readers below, with the same result.
    """
    if column.type is ColumnType.BIGINT:
        return _build_integer_reader(column)
    if column.type is ColumnType.DECIMAL:
        if column.packed:
            return lambda value: read_decimal(_unpacked(value, column), column)
        return _build_decimal_reader(column)
    if column.type is ColumnType.TIMESTAMP:
        return _build_timestamp_reader(column, _MICROSECONDS[column.unit_for(connector)])
    if column.type is ColumnType.BOOLEAN:
        return lambda value: read_boolean(value, column)
    return _build_text_reader(column)


def _build_integer_reader(column: ColumnSpec) -> Converter:
    def read(value: Any) -> Any:
        return value if type(value) is int and -INT64 <= value < INT64 else read_integer(value, column)

    return read


def _build_decimal_reader(column: ColumnSpec) -> Converter:
    if not (form := decimal_form(column)):
        return lambda value: read_decimal(value, column)
    as_declared = re.compile(form).fullmatch

    def read(value: Any) -> Any:
        return Decimal(value) if type(value) is str and as_declared(value) else read_decimal(value, column)

    return read


def decimal_form(column: ColumnSpec) -> str:
    """A pattern of texts that are a value of the column with all its digits; "" where none is common."""
    if not 0 < column.scale < column.precision:
        return ""
    return rf"-?[0-9]{{1,{column.precision - column.scale}}}\.[0-9]{{{column.scale}}}"


def units_of_time(column: ColumnSpec, connector: str, field: Mapping[str, Any] | None) -> Decimal:
    """The microseconds in one unit of a number that is a time: as its schema says, or as it is declared."""
    name = field.get("name") if field else None
    return _SCHEMA_MICROSECONDS[name] if name in _SCHEMA_MICROSECONDS else _MICROSECONDS[column.unit_for(connector)]


def _build_timestamp_reader(column: ColumnSpec, microseconds: Decimal) -> Converter:
    whole = int(microseconds)  # 0 for nanoseconds, of which none is common
    most = YEAR_2200 // whole if whole else -1
    unit = timedelta(microseconds=whole)

    def read(value: Any) -> Any:
        if type(value) is int and 0 <= value <= most:
            return _EPOCH + unit * value
        return read_timestamp(value, column, microseconds)

    return read


def _build_text_reader(column: ColumnSpec) -> Converter:
    longest = column.max_length

    def read(value: Any) -> Any:
        is_common = type(value) is str and value.isascii() and len(value) <= longest
        return value if is_common else read_text(value, column)

    return read


def build_schema_converter(column: ColumnSpec, field: dict[str, Any]) -> Converter | None:
    """The reader that the record's own Connect schema requires, or None when the declared one serves."""
    name = field.get("name")
    if column.type is ColumnType.TIMESTAMP and name in _SCHEMA_MICROSECONDS:
        factor = _SCHEMA_MICROSECONDS[name]
        return lambda value: read_timestamp(value, column, factor)
    if column.type is ColumnType.DECIMAL and name == CONNECT_DECIMAL and field.get("type") == "bytes":
        scale = _read_scale((field.get("parameters") or {}).get("scale", 0))
        return lambda value: read_decimal(unpack_decimal(value, scale, column.source), column)
    if column.type is ColumnType.DECIMAL and field.get("type") == "string":
        return lambda value: read_decimal(value, column)
    if column.type is ColumnType.DECIMAL and field.get("type") in _FLOATS:
        return lambda value: _refuse_float(column)
    return None


def read_integer(value: Any, column: ColumnSpec) -> int:
    """A whole number of 64 bits, as a JSON number or as text."""
    if isinstance(value, str):
        value = int(value) if _INTEGER_TEXT.fullmatch(value) else None
    if type(value) is not int or not -INT64 <= value < INT64:
        raise RejectedRecordError(Reason.BAD_INTEGER, f"{column.source} is not a 64-bit whole number")
    return value


def read_decimal(value: Any, column: ColumnSpec) -> Decimal:
    """An exact decimal that fits the declared precision and scale; nothing is rounded."""
    if isinstance(value, dict) and value.keys() == _VARIABLE_SCALE:
        value = unpack_decimal(value["value"], _scale_of(value["scale"], column), column.source)
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{column.source} is not a decimal")
    try:
        if isinstance(value, str) and not _DECIMAL_TEXT.fullmatch(value):
            raise ValueError
        number = Decimal(value)
        exact = number.quantize(Decimal(1).scaleb(-column.scale), context=_WIDE)
    except (InvalidOperation, ValueError):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{column.source} is not a {column.sql_type}") from None
    if exact != number or abs(exact) >= Decimal(10) ** (column.precision - column.scale):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{column.source} does not fit {column.sql_type}")
    return exact


def read_timestamp(value: Any, column: ColumnSpec, microseconds: Decimal) -> datetime:
    """A time from a number of units since 1970, or from ISO 8601 text; years 1 to 9999."""
    try:
        if isinstance(value, str) and not value.isdigit():  # bare digits would be read as some date or other
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if type(value) is int:
            return _EPOCH + timedelta(microseconds=int(value * microseconds))
    except (ValueError, OverflowError):
        pass_on = "is no date of the years 1 to 9999"
    else:
        pass_on = "is neither a number nor ISO 8601 text"
    raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"{column.source} {pass_on}")


def read_boolean(value: Any, column: ColumnSpec) -> bool:
    """A JSON boolean, or 0 and 1 as SQL Server's bit is sometimes sent."""
    if value in (0, 1) and isinstance(value, (bool, int)):
        return bool(value)
    raise RejectedRecordError(Reason.BAD_BOOLEAN, f"{column.source} is not a boolean")


def read_text(value: Any, column: ColumnSpec) -> str:
    """Text no longer than declared, without lone surrogates."""
    if not isinstance(value, str):
        raise RejectedRecordError(Reason.BAD_TEXT, f"{column.source} is not text")
    if len(value) > column.max_length:
        raise RejectedRecordError(
            Reason.TOO_LONG, f"{column.source} has {len(value)} characters, at most {column.max_length}"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RejectedRecordError(Reason.NOT_UTF8, f"{column.source} holds half a surrogate pair") from None
    return value


def _refuse_float(column: ColumnSpec) -> Never:
    raise RejectedRecordError(
        Reason.BAD_DECIMAL,
        f"{column.source} comes as a floating-point number, which is not exact; set decimal.handling.mode of the "
        f"connector to string or precise",
    )


def _scale_of(value: Any, column: ColumnSpec) -> int:
    try:
        return _read_scale(value)
    except ValueError:
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{column.source} has no scale") from None


def _read_scale(value: Any) -> int:
    """The scale a schema names; ValueError for one that no database has, whose power of ten could not be held."""
    if not _SCALE_TEXT.fullmatch(str(value)):
        raise ValueError(value)
    return int(value)


def _unpacked(value: Any, column: ColumnSpec) -> Any:
    """The number of a column that is declared as packed; what is no text says itself what it is."""
    return unpack_decimal(value, column.scale, column.source) if column.packed and isinstance(value, str) else value


def unpack_decimal(value: Any, scale: int, name: str) -> Decimal:
    """The number whose unscaled bytes came in base64, as Connect packs it."""
    try:
        packed = base64.b64decode(value or "-", validate=True)  # no bytes are no number
        unscaled = int.from_bytes(packed, "big", signed=True)
        return Decimal(unscaled).scaleb(-scale, context=_WIDE)
    except (TypeError, ValueError, binascii.Error, InvalidOperation):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{name} is not a base64 decimal") from None
