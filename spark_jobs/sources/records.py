"""The bytes of one record to a JSON object that every reader would take for the same, or to a rejection.

Python's own parser reads it, with every number looked at. By itself it keeps the last of equal keys without an error.
Of an envelope in its usual form the colons are counted, which takes less time than to look at each key: where the text
has as many as the keys and the texts that were read, none was given twice. Of everything else each key is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Never

from spark_jobs.contracts.rejections import Reason, RejectedRecordError

MAX_DEPTH = 32
MAX_RECORD_BYTES = 512 * 1024

_USUAL = b'{"before":'


def parse_record(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None for ``null`` or a blank line.

    Raises:
        RejectedRecordError: it is something else, or not what every reader would take for the same.
    """
    if not line.strip():
        return None
    if len(line) > MAX_RECORD_BYTES:
        raise RejectedRecordError(Reason.TOO_LONG, f"record of {len(line)} bytes, at most {MAX_RECORD_BYTES}")
    if (usual := read_usual(line)) is not None:
        return usual
    record = _read_json(line)
    if record is None:
        return None
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _is_deeper(record, MAX_DEPTH):
        raise RejectedRecordError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    if not isinstance(record, dict):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, f"a {type(record).__name__} instead of an object")
    return record


def read_usual(line: bytes) -> dict[str, Any] | None:
    """What is on a line with an envelope in its usual form; None when it has to be looked at more closely."""
    if not line.startswith(_USUAL):
        return None
    try:
        text = line.decode("utf-8")
        record, end = _PLAIN_JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if end != len(text) or ("[" in text and text.count("{") + text.count("[") > MAX_DEPTH):
        return None
    return record if _has_all_colons(text, record) else None


def _has_all_colons(text: str, record: dict[str, Any]) -> bool:
    """True when each colon of the text is that of a key that was kept, or in a text that was read.

    Then no key was given twice, and no object is anywhere but in the parts of an envelope.
    """
    colons = text.count(":") - len(record)
    parts = record.get("source"), record.get("after"), record.get("before")
    for part in (*parts, record.get("transaction")):
        if type(part) is dict:
            colons -= len(part)
    if not colons:
        return True
    if "\\" in text and "\\u" in text:  # a colon may be written \u003a
        return False
    for part in parts:
        if type(part) is dict:
            for value in part.values():
                if type(value) is str and ":" in value:
                    colons -= value.count(":")
            if not colons:
                return True
    return False


def is_keyed(record: Mapping[str, Any]) -> bool:
    """True for a record with its key beside it, ``{"key": …, "value": …}``, as sinks of Kafka Connect write both.

    Whatever else is there (offset, timestamp, headers) says nothing of the row. No envelope looks like that: it has
    ``op`` or ``payload``.
    """
    return "op" not in record and "payload" not in record and "key" in record and "value" in record


def _read_json(line: bytes) -> Any:
    """What Python reads; RejectedRecordError says why it cannot."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RejectedRecordError(Reason.NOT_UTF8, f"byte {error.start} is not UTF-8") from None
    try:
        if text.startswith("\ufeff"):
            raise ValueError("Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)")
        return _JSON.decode(text)
    except RecursionError:
        raise RejectedRecordError(Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise RejectedRecordError(Reason.NOT_JSON, str(error)[:200]) from None


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


_JSON = json.JSONDecoder(object_pairs_hook=_unique_pairs, parse_float=_read_number, parse_constant=_refuse_constant)
_PLAIN_JSON = json.JSONDecoder(parse_float=_read_number, parse_constant=_refuse_constant)


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
