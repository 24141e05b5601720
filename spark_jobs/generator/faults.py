"""Broken records: what a source, a converter or a disk can do to an event. None of them is an event of the life.

Every kind starts from a good event and carries log positions of its own, so that no two broken records are alike and
none is a redelivery of a good one. The names of the kinds are the reasons that quarantine gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from spark_jobs.generator.envelope import INSERT_SERIAL, LogPosition, encode, envelope, image, lsn
from spark_jobs.generator.events import ALL_COLUMNS, Event, Row, Value
from spark_jobs.generator.wrapper import wrap

LONG_TEXT: Final = 1 << 20
DEEP: Final = 5_000
MOST_LONG_TEXTS: Final = 3
_SLOT, _SLOTS = 0x8000, 0x8000
_DECIMALS: Final = ("123456789012345.6789", "1234.56789", "12,50", "NaN", "1e30", "abc")
_DATES: Final[tuple[Value, ...]] = ("2026-02-30T10:00:00", 10**18, "next week", "2026-13-01", -(10**18))
_OPS: Final = ("x", "insert", "", "U")


def _record(event: Event, number: int, after: str, *, op: str = "c") -> str:
    position = lsn(event.sequence, _SLOT + number % _SLOTS)
    place = LogPosition(position, position, INSERT_SERIAL)
    return envelope(op, "null", after, place, ts_ms=event.ts_ms, lag_ms=100 + number % 800)


def _with(event: Event, column: str, value: object) -> str:
    row = list(event.row or ())
    columns = ALL_COLUMNS[: len(row)]
    return encode({**dict(zip(columns, row, strict=True)), column: value})


def _image(event: Event) -> str:
    row: Row = event.row or ()
    return image(row, has_customer_columns=event.has_customer_columns)


def _not_json(event: Event, number: int) -> str:
    record = _record(event, number, _image(event))
    return (
        record[: len(record) * 3 // 4],
        f"<html><body>502 Bad Gateway, request {number}</body></html>",
        f"{record},",
        record.replace('"', "'"),
    )[number // len(KINDS) % 4]


def _not_utf8(event: Event, number: int) -> str:
    name = ("M\udcfcller", "\udcff\udcfe", "caf\udce9")[number // len(KINDS) % 3]
    return _record(event, number, _with(event, "AgentName", f"{name} {number}"))


def _duplicate_key(event: Event, number: int) -> str:
    record = _record(event, number, _image(event))
    if number // len(KINDS) % 2:
        return f'{record[:-1]},"op":"d"}}'
    return record.replace('"SaleId":', f'"SaleId":{number},"SaleId":', 1)


def _too_deep(event: Event, number: int) -> str:
    after = _with(event, "AgentName", "\0").replace('"\\u0000"', "[" * DEEP + "]" * DEEP)
    return _record(event, number, after)


def _null_payload(event: Event, number: int) -> str:
    name = f"erp.dbo.SALES.Envelope.{event.sequence}.{number}"
    return f'{{"schema":{{"type":"struct","fields":[],"optional":false,"name":"{name}"}},"payload":null}}'


def _unknown_op(event: Event, number: int) -> str:
    return _record(event, number, _image(event), op=_OPS[number // len(KINDS) % len(_OPS)])


def _missing_key(event: Event, number: int) -> str:
    after = _with(event, "SaleId", None)
    return _record(event, number, after if number // len(KINDS) % 2 else after.replace('"SaleId":null,', "", 1))


def _bad_decimal(event: Event, number: int) -> str:
    return _record(event, number, _with(event, "ContractSubtotal", _DECIMALS[number // len(KINDS) % len(_DECIMALS)]))


def _bad_timestamp(event: Event, number: int) -> str:
    return _record(event, number, _with(event, "ContractSigningDate", _DATES[number // len(KINDS) % len(_DATES)]))


def _too_long(event: Event, number: int) -> str:
    return _record(event, number, _with(event, "UnitName", "long " * (LONG_TEXT // 5 + 1)))


KINDS: Final[dict[str, Callable[[Event, int], str]]] = {
    "not_json": _not_json,
    "bad_decimal": _bad_decimal,
    "missing_key": _missing_key,
    "unknown_op": _unknown_op,
    "bad_timestamp": _bad_timestamp,
    "duplicate_key_in_json": _duplicate_key,
    "null_payload": _null_payload,
    "not_utf8": _not_utf8,
    "nested_too_deep": _too_deep,
    "text_too_long": _too_long,
}
_REASONS: Final = tuple(KINDS)
_BARE: Final = frozenset({"not_json", "null_payload"})


def broken_record(event: Event, number: int, *, is_wrapped: bool) -> tuple[str, str]:
    """Reason and text of broken record ``number`` (from 0), made from an insert or update.

    The kinds take turns, so a run with ten broken records has them all; long texts stop after a few, for they are big.
    Bytes that are not UTF-8 are lone surrogates in the text: write it with ``surrogateescape``.
    """
    reason = _REASONS[number % len(_REASONS)]
    if reason == "text_too_long" and number // len(_REASONS) >= MOST_LONG_TEXTS:
        reason = _REASONS[number // len(_REASONS) % (len(_REASONS) - 1)]
    text = KINDS[reason](event, number)
    if is_wrapped and reason not in _BARE:
        text = wrap(text, has_customer_columns=event.has_customer_columns)
    return reason, text
