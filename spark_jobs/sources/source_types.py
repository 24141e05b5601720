"""What a column of a source is in the lake when it is not declared: by the schema of its records, or by the value.

A value travels as text that Spark turns back into exactly the same value (:mod:`spark_jobs.transforms.texts`):

| type | text |
|---|---|
| boolean | ``true``, ``false`` |
| int, bigint, decimal(p,s) | digits |
| float, double | the shortest that is the same number; ``NaN``, ``Infinity``, ``-Infinity`` |
| date | days since 1970 |
| timestamp | microseconds since 1970, UTC |
| binary | base64 |
| string | itself |

Types of schemas: Kafka Connect's ``org.apache.kafka.connect.data``, and Debezium's "Data type mappings".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Never

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.sources.values import CONNECT_DECIMAL, unpack_decimal

Reader = Callable[[Any], str]
"""A JSON value that is not null to its text; RejectedRecordError when it is none of the type."""

MOST_TEXT = 400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US = 86_400_000_000
_MOST_PRECISION = 38
_FIRST_US = int((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) / timedelta(microseconds=1))
_END_US = int((datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) / timedelta(microseconds=1)) + _DAY_US
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,40}")
_MOMENTS = {
    "io.debezium.time.Timestamp": Decimal(1000),
    "org.apache.kafka.connect.data.Timestamp": Decimal(1000),
    "io.debezium.time.MicroTimestamp": Decimal(1),
    "io.debezium.time.NanoTimestamp": Decimal("0.001"),
}
"""Microseconds in one unit."""
_TIMES = {
    "io.debezium.time.Time": Decimal(1000),
    "org.apache.kafka.connect.data.Time": Decimal(1000),
    "io.debezium.time.MicroTime": Decimal(1),
    "io.debezium.time.NanoTime": Decimal("0.001"),
}
"""Times of a day, in which no engine agrees with another: text, ``15:30:00.123456``."""


def column_of(name: str, field: Mapping[str, Any]) -> tuple[str, Reader]:
    """The SQL type of a field of a Connect schema, and how its values are read.

    What has no type of its own in the lake (structures, lists, times of a day, numbers without a scale) is text.
    """
    meaning = field.get("name")
    if meaning == CONNECT_DECIMAL:
        return _decimal_column(name, field)
    if meaning in _MOMENTS:
        return "timestamp", lambda value: _moment(_number(value, name) * _MOMENTS[meaning], name)
    if meaning in _TIMES:
        return "string", lambda value: _time(_number(value, name) * _TIMES[meaning], name)
    type_, read = _READERS.get(str(meaning)) or _READERS.get(str(field.get("type")), ("string", _document))
    return type_, lambda value: read(value, name)


def column_by_value(name: str, value: Any) -> tuple[str, str]:
    """The SQL type and the text of a value that came without a schema."""
    if isinstance(value, bool):
        return "boolean", _truth(value, name)
    if type(value) is int:
        return "bigint", _integer(value, name, 64)
    if isinstance(value, Decimal):
        return "double", _real(value, name)
    if isinstance(value, str):
        return "string", _text(value, name)
    return "string", _document(value, name)


def _decimal_column(name: str, field: Mapping[str, Any]) -> tuple[str, Reader]:
    known = field.get("parameters") or {}
    try:
        scale, precision = int(known.get("scale", 0)), int(known.get("connect.decimal.precision", _MOST_PRECISION))
    except (TypeError, ValueError):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, f"{name}: its schema has no scale") from None
    if not 0 <= scale <= precision <= _MOST_PRECISION or not precision:
        return "string", lambda value: format(unpack_decimal(value, scale, name), "f")

    def read(value: Any) -> str:
        number = unpack_decimal(value, scale, name)
        if abs(number) >= Decimal(10) ** (precision - scale):
            raise RejectedRecordError(Reason.BAD_DECIMAL, f"{name} does not fit decimal({precision},{scale})")
        return format(number, "f")

    return f"decimal({precision},{scale})", read


def _variable(value: Any, name: str) -> str:
    if not isinstance(value, dict) or type(value.get("scale")) is not int or not -999 <= value["scale"] <= 999:
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{name} has no scale")
    return format(unpack_decimal(value.get("value"), value["scale"], name), "f")


def _integer(value: Any, name: str, bits: int) -> str:
    if isinstance(value, str) and _INTEGER_TEXT.fullmatch(value):
        value = int(value)
    if type(value) is not int or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise RejectedRecordError(Reason.BAD_INTEGER, f"{name} is not a {bits}-bit whole number")
    return str(value)


def _number(value: Any, name: str) -> Decimal:
    if type(value) is not int:
        raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"{name} is not a number of units of time")
    return Decimal(value)


def _moment(microseconds: Decimal, name: str) -> str:
    if not _FIRST_US <= microseconds < _END_US:
        raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"{name} is no date of the years 1 to 9999")
    return str(int(microseconds // 1))


def _zoned(value: Any, name: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        _refuse(Reason.BAD_TIMESTAMP, f"{name} is no time with a zone")
    if moment.tzinfo is None:
        _refuse(Reason.BAD_TIMESTAMP, f"{name} is no time with a zone")
    return str((moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1))


def _time(microseconds: Decimal, name: str) -> str:
    whole = int(microseconds // 1)
    if not 0 <= whole <= _DAY_US:
        raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"{name} is no time of a day")
    seconds, rest = divmod(whole, 1_000_000)
    fraction = f".{rest:06d}" if rest else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def _real(value: Any, name: str) -> str:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{name} is not a number")
    return repr(_nearest(value, name))


def _nearest(value: int | Decimal, name: str) -> float:
    """The nearest number that a double holds; of decimals beyond all of them Python says infinity."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise RejectedRecordError(Reason.BAD_DECIMAL, f"{name} is a number that nothing can hold")
    return number


def _truth(value: Any, name: str) -> str:
    if not isinstance(value, bool):
        raise RejectedRecordError(Reason.BAD_BOOLEAN, f"{name} is not a boolean")
    return "true" if value else "false"


def _base64(value: Any, name: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except (TypeError, ValueError, binascii.Error):
        _refuse(Reason.BAD_TEXT, f"{name} is not base64")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise RejectedRecordError(Reason.BAD_TEXT, f"{name} is not text")
    if len(value) > MOST_TEXT:
        raise RejectedRecordError(Reason.TOO_LONG, f"{name} has {len(value)} characters, at most {MOST_TEXT}")
    if any("\ud800" <= character <= "\udfff" for character in value) if not value.isascii() else False:
        raise RejectedRecordError(Reason.NOT_UTF8, f"{name} holds half a surrogate pair")
    return value


def _document(value: Any, name: str) -> str:
    """A structure or a list as JSON, members in their order."""
    return _text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=partial(_plain, name=name)), name)


def _plain(value: Decimal, name: str) -> int | float:
    number = _nearest(value, name)
    return int(value) if number.is_integer() and abs(number) < 2**53 else number


def _refuse(reason: Reason, detail: str) -> Never:
    raise RejectedRecordError(reason, detail)


def _bits(count: int) -> Callable[[Any, str], str]:
    return lambda value, name: _integer(value, name, count)


_READERS: Mapping[str, tuple[str, Callable[[Any, str], str]]] = {
    "io.debezium.time.Date": ("date", _bits(32)),
    "org.apache.kafka.connect.data.Date": ("date", _bits(32)),
    "io.debezium.time.ZonedTimestamp": ("timestamp", _zoned),
    "io.debezium.data.VariableScaleDecimal": ("string", _variable),
    "int8": ("int", _bits(32)),
    "int16": ("int", _bits(32)),
    "int32": ("int", _bits(32)),
    "int64": ("bigint", _bits(64)),
    "float": ("float", _real),
    "float32": ("float", _real),
    "double": ("double", _real),
    "float64": ("double", _real),
    "boolean": ("boolean", _truth),
    "bytes": ("binary", _base64),
    "string": ("string", _text),
}
"""By the meaning of a field, or else by its type: the SQL type and the reader."""
