"""A Debezium envelope, one line of bytes, to the values of a log row or to a rejection.

Event order is text that sorts as the source orders its changes: ``<position>-<tie>``. The position is that of the
connector (:mod:`spark_jobs.sources.positions`). Real events tie on it (snapshot rows share one), so it ends in a hash
of what belongs to the change itself: op, key and row images without their nulls. Where and when it was delivered has no
part in it.

Messages of the connector itself are no events and are passed over: heartbeats, changes of the schema, and PostgreSQL's
logical messages (op ``m``). An emptied table (op ``t``) goes to the quarantine: which rows it had, it does not say.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Never

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnSpec
from spark_jobs.sources.positions import origin_of, position_of
from spark_jobs.sources.values import Converter, build_converter, build_schema_converter

MAX_DEPTH = 32
MAX_RECORD_BYTES = 512 * 1024
UPSERTS, DELETE = frozenset("cru"), "d"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MESSAGE, _TRUNCATE = "m", "t"
_HEARTBEAT = frozenset({"ts_ms", "ts_us", "ts_ns", "serverName"})
_SCHEMA_CHANGE = frozenset({"ddl", "tableChanges"})
UNAVAILABLE = "__debezium_unavailable_value"
"""In place of a large value that did not change and that the database does not send again: it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedEvent:
    """One change: ``values`` in the order of the spec's source columns (the before image for a delete)."""

    event_id: str
    op: str
    event_order: str
    event_time: datetime
    values: tuple[Any, ...]


class EnvelopeDecoder:
    """Decodes envelopes of one lake; keeps the converters of each connector it has met."""

    def __init__(self, spec: LakeSpec) -> None:
        self._columns: tuple[ColumnSpec, ...] = spec.source.columns
        self._key = spec.columns_by_name[spec.source.key]
        self._converters: dict[str, list[tuple[str, Converter]]] = {}

    def decode(self, line: bytes) -> DecodedEvent | None:
        """The event in ``line``; None for a tombstone (a bare ``null``) or a blank line.

        Raises:
            RejectedRecordError: the record cannot be used; carries the reason for the quarantine.
        """
        record = _parse(line)
        if record is None:
            return None
        payload, schema = _unwrap(record)
        op = payload.get("op")
        if _is_message(op, payload):
            return None
        if op == _TRUNCATE:
            raise RejectedRecordError(
                Reason.TRUNCATE, "the table was emptied at the source; its rows stay until each is deleted there"
            )
        if op != DELETE and (not isinstance(op, str) or op not in UPSERTS):
            raise RejectedRecordError(Reason.UNKNOWN_OP, f"op {str(op)[:40]!r} is none of c, r, u, d")
        image = payload.get("before" if op == DELETE else "after")
        if image is None:
            raise RejectedRecordError(Reason.NULL_PAYLOAD, f"op {op} without its row image")
        source = payload.get("source")
        if not isinstance(image, dict) or not isinstance(source, dict):
            raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "row image or source block is not an object")
        if image.get(self._key.source) is None:
            raise RejectedRecordError(Reason.MISSING_KEY, f"{self._key.source} is missing")
        connector = str(source.get("connector"))
        values = self._convert(image, connector, schema)
        order = f"{position_of(source, connector, payload)}-{_tie(op, payload)}"
        return DecodedEvent(
            event_id=f"{origin_of(source, connector)}:{order}",
            op=op,
            event_order=order,
            event_time=_event_time(source, payload),
            values=values,
        )

    def _convert(self, image: dict[str, Any], connector: str, schema: Any) -> tuple[Any, ...]:
        converters = self._converters.get(connector)
        if converters is None:
            converters = [(column.source, build_converter(column, connector)) for column in self._columns]
            self._converters[connector] = converters
        if isinstance(schema, dict):
            try:
                converters = self._with_schema(converters, schema)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "the record's schema cannot be read") from None
        get = image.get
        return tuple(
            None if (value := get(name)) is None or value == UNAVAILABLE else convert(value)
            for name, convert in converters
        )

    def _with_schema(
        self, converters: list[tuple[str, Converter]], schema: dict[str, Any]
    ) -> list[tuple[str, Converter]]:
        fields = _row_fields(schema)
        chosen = []
        for column, (name, converter) in zip(self._columns, converters, strict=True):
            field = fields.get(name)
            chosen.append((name, (build_schema_converter(column, field) if field else None) or converter))
        return chosen


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    if len(line) > MAX_RECORD_BYTES:
        raise RejectedRecordError(Reason.TOO_LONG, f"record of {len(line)} bytes, at most {MAX_RECORD_BYTES}")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RejectedRecordError(Reason.NOT_UTF8, f"byte {error.start} is not UTF-8") from None
    try:
        record = json.loads(
            text, object_pairs_hook=_unique_pairs, parse_float=_read_number, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise RejectedRecordError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise RejectedRecordError(Reason.NOT_JSON, str(error)[:200]) from None
    if record is None:
        return None
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _is_deeper(record, MAX_DEPTH):
        raise RejectedRecordError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    if not isinstance(record, dict):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, f"a {type(record).__name__} instead of an object")
    return record


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise RejectedRecordError(Reason.DUPLICATE_KEY, f"keys given twice: {ascii(twice)[:200]}")
    return unique


def _read_number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text[:40]} is a number that nothing can hold") from None


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            child
            for container in layer
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list))
        ]
        if not layer:
            return False
    return True


def _is_message(op: Any, payload: dict[str, Any]) -> bool:
    """True for what a connector says of itself and not of a row."""
    if op is not None:
        return bool(op == _MESSAGE)
    is_heartbeat = "ts_ms" in payload and payload.keys() <= _HEARTBEAT
    return is_heartbeat or payload.keys() >= _SCHEMA_CHANGE


def _unwrap(record: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    if "payload" not in record or "op" in record:
        return record, None
    payload = record["payload"]
    if payload is None:
        raise RejectedRecordError(Reason.NULL_PAYLOAD, "payload is null")
    if not isinstance(payload, dict):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "payload is not an object")
    return payload, record.get("schema")


def _row_fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    for part in schema.get("fields") or ():
        if isinstance(part, dict) and part.get("field") in ("after", "before") and part.get("fields"):
            return {field["field"]: field for field in part["fields"] if isinstance(field, dict) and "field" in field}
    return {}


def _tie(op: str, payload: dict[str, Any]) -> str:
    images = [
        sorted((k, str(v)) for k, v in image.items() if v is not None) if isinstance(image, dict) else None
        for image in (payload.get("before"), payload.get("after"))
    ]
    return hashlib.sha256(json.dumps([op, images], separators=(",", ":")).encode()).hexdigest()[:16]


def _event_time(source: dict[str, Any], payload: dict[str, Any]) -> datetime:
    moment = source.get("ts_ms")
    if moment is None:
        moment = payload.get("ts_ms")
    try:
        if type(moment) is int:
            return _EPOCH + timedelta(milliseconds=moment)
    except OverflowError:
        moment = "out of range"
    raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"source.ts_ms {str(moment)[:40]!r} is no time")
