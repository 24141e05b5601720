"""Kinds of columns, and how a value that the database gave as text is written in a change event.

Databases write every value as text themselves, in a form that their dialect selects: nothing is rounded on the way,
and no session's zone has a part in a time. What the text says becomes what Debezium's connectors send of the same;
a time that they could not send (``infinity``, the year 10000) stays text, and goes to quarantine with its row.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any

_WIDE = Context(prec=1000)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:\+00:00)?"
)
_TIME = re.compile(r"(-?)([0-9]{2,3}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")
_SECOND_NS = 1_000_000_000
_PACKED = "org.apache.kafka.connect.data.Decimal"


class ColumnKind(StrEnum):
    """What the values of a column are."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    JSON = "json"
    DATE = "date"
    TIMESTAMP = "timestamp"
    """A date and time of a wall clock, whose zone is not known."""
    NANO_TIMESTAMP = "nano_timestamp"
    """The same with more than six digits of a second."""
    INSTANT = "instant"
    """A moment, which the database gives in UTC."""
    TIME = "time"
    BYTES = "bytes"
    """Given in hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcColumn:
    """A column that is read: its name at the source, its kind, and the SQL around it that makes a text of a value."""

    name: str
    kind: ColumnKind
    before: str
    behind: str
    type: str = ""
    """The type of Kafka Connect that its connector sends, where the kind alone does not say it: a mirror takes it."""
    digits: tuple[int, int] | None = None
    """Precision and scale of a decimal that travels in bytes, as ``decimal.handling.mode`` ``precise`` has it."""

    def event_value(self, text: str | None) -> Any:
        """The event's value for one that the database gave as ``text``; None where nothing is known."""
        if text is None:
            return None
        return _packed(text, self.digits[1]) if self.digits else _VALUES[self.kind](text)

    def as_text(self, value: str) -> str:
        """The SQL that gives ``value``, which is the column or its least or greatest value, as text."""
        return f"{self.before}{value}{self.behind}"

    @property
    def field(self) -> dict[str, Any]:
        """Its field of the event's schema, as Kafka Connect writes it."""
        if self.digits:
            precision, scale = map(str, self.digits)
            parameters = {"scale": scale, "connect.decimal.precision": precision}
            return {"type": "bytes", "optional": True, "field": self.name, "name": _PACKED, "parameters": parameters}
        type_, name = _FIELDS[self.kind]
        return {"type": self.type or type_, "optional": True, "field": self.name} | ({"name": name} if name else {})


_FIELDS = {
    ColumnKind.INTEGER: ("int64", ""),
    ColumnKind.DECIMAL: ("string", ""),
    ColumnKind.FLOAT: ("double", ""),
    ColumnKind.BOOLEAN: ("boolean", ""),
    ColumnKind.TEXT: ("string", ""),
    ColumnKind.JSON: ("string", "io.debezium.data.Json"),
    ColumnKind.DATE: ("int32", "io.debezium.time.Date"),
    ColumnKind.TIMESTAMP: ("int64", "io.debezium.time.MicroTimestamp"),
    ColumnKind.NANO_TIMESTAMP: ("int64", "io.debezium.time.NanoTimestamp"),
    ColumnKind.INSTANT: ("string", "io.debezium.time.ZonedTimestamp"),
    ColumnKind.TIME: ("int64", "io.debezium.time.MicroTime"),
    ColumnKind.BYTES: ("bytes", ""),
}
"""Of each kind the type of Kafka Connect, and the name that says what it means."""


def _packed(text: str, scale: int) -> str:
    """The unscaled bytes of a decimal in base64; what is no number (``NaN``) is no base64 either, for quarantine."""
    number = Decimal(text)
    if not number.is_finite():
        return f"*{text}"
    unscaled = int(number.scaleb(scale, context=_WIDE))
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)).decode("ascii")


def _float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _date(text: str) -> int | str | None:
    match = _DATE.fullmatch(text)
    if not match:
        return text
    year, month, day = map(int, match.groups())
    return (date(year, month, day) - _EPOCH.date()).days if _is_date(year, month, day) else None


def _nanoseconds(text: str) -> int | str | None:
    match = _MOMENT.fullmatch(text)
    if not match:
        return text
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    if not _is_date(year, month, day):
        return None
    since = datetime(year, month, day, hour, minute, tzinfo=UTC) - _EPOCH
    return (since // timedelta(seconds=1) + second) * _SECOND_NS + int((match[7] or "").ljust(9, "0"))


def _microseconds(text: str) -> int | str | None:
    value = _nanoseconds(text)
    return value // 1000 if isinstance(value, int) else value


def _instant(text: str) -> str | None:
    match = _MOMENT.fullmatch(text)
    if not match:
        return text
    is_date = _is_date(*map(int, match.groups()[:3]))
    return f"{text[:10]}T{text[11:].removesuffix('+00:00')}Z" if is_date else None


def _time(text: str) -> int | str:
    match = _TIME.fullmatch(text)
    if not match:
        return text
    seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4])
    microseconds = seconds * 1_000_000 + int((match[5] or "").ljust(9, "0")) // 1000
    return -microseconds if match[1] else microseconds


def _is_date(year: int, month: int, day: int) -> bool:
    """False for what MySQL calls a zero date, ``0000-00-00`` and ``2026-00-10``: it says that none is known."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_VALUES: dict[ColumnKind, Callable[[str], Any]] = {
    ColumnKind.INTEGER: int,
    ColumnKind.DECIMAL: str,
    ColumnKind.FLOAT: _float,
    ColumnKind.BOOLEAN: lambda text: text in ("true", "1"),
    ColumnKind.TEXT: str,
    ColumnKind.JSON: str,
    ColumnKind.DATE: _date,
    ColumnKind.TIMESTAMP: _microseconds,
    ColumnKind.NANO_TIMESTAMP: _nanoseconds,
    ColumnKind.INSTANT: _instant,
    ColumnKind.TIME: _time,
    ColumnKind.BYTES: lambda text: base64.b64encode(bytes.fromhex(text)).decode("ascii"),
}


def to_json(value: Any) -> str:
    """A value as an event has it, on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
