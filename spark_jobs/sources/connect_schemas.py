"""The schema that a record has with it, as ``schemas.enable`` of Kafka Connect's JsonConverter writes it.

It is most of the record's bytes and the same in record after record, so it is parsed once: its bytes say that it is
the same, nothing else does. Records in any other form are parsed as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.sources.records import MAX_RECORD_BYTES, parse_record, read_usual

Fields = Mapping[str, dict[str, Any]]
UNREADABLE = "the record's schema cannot be read"

_BEFORE_SCHEMA, _BEFORE_PAYLOAD = b'{"schema":', b',"payload":'
_MOST_SCHEMAS = 128
_MOST_BYTES = 128 * 1024
"""Of one schema that is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class RowSchema:
    """The fields of the row images by name, none when the record has no schema.

    ``is_kept``: records whose schema has the same bytes have this very object.
    """

    fields: Fields
    is_kept: bool = False


NO_SCHEMA = RowSchema({}, is_kept=True)


class WrappedRecords:
    """Parses records, and keeps the schemas of those that begin with one; the first ones, when there are very many."""

    def __init__(self) -> None:
        self._kept: dict[bytes, dict[str, Any]] = {}
        self._last = _BEFORE_PAYLOAD  # no record begins with that
        self._row_schemas: dict[int, RowSchema] = {}

    def parse(self, line: bytes) -> dict[str, Any] | None:
        """As :func:`parse_record`; a schema that is kept is in the record as the same object each time."""
        if not line.startswith(_BEFORE_SCHEMA):
            return parse_record(line)
        if not line.startswith(self._last):
            prefix = line[: line.find(_BEFORE_PAYLOAD) + len(_BEFORE_PAYLOAD)]
            if prefix not in self._kept:
                return self._learn(prefix, parse_record(line))
            self._last = prefix
        payload = None
        if line.endswith(b"}") and len(line) <= MAX_RECORD_BYTES:
            payload = read_usual(line[len(self._last) : -1])
        if payload is None:
            return parse_record(line)
        return {"schema": self._kept[self._last], "payload": payload}

    def prefix_of(self, line: bytes) -> bytes:
        """What is before the payload of a record that was parsed just now: all up to it, when its schema is kept."""
        return self._last if line.startswith(_BEFORE_SCHEMA) and line.startswith(self._last) else b""

    def row_schema(self, schema: Any) -> RowSchema:
        """What a record's schema says of the row images.

        Raises:
            RejectedRecordError: it cannot be read.
        """
        if schema is None:
            return NO_SCHEMA
        return self._row_schemas.get(id(schema)) or _row_schema_of(schema)

    def _learn(self, prefix: bytes, record: dict[str, Any] | None) -> dict[str, Any] | None:
        """Keep the schema of a record that was parsed as a whole, where the bytes before the payload are that alone."""
        if len(self._kept) >= _MOST_SCHEMAS or len(prefix) > _MOST_BYTES or list(record or ()) != ["schema", "payload"]:
            return record
        try:
            schema = parse_record(prefix[len(_BEFORE_SCHEMA) : -len(_BEFORE_PAYLOAD)])
            row_schema = _row_schema_of(schema)
        except RejectedRecordError:
            return record
        if schema is not None:
            self._kept[prefix] = schema
            self._row_schemas[id(schema)] = (
                RowSchema(row_schema.fields, is_kept=True) if row_schema.fields else NO_SCHEMA
            )
        return record


def _row_schema_of(schema: Any) -> RowSchema:
    if not isinstance(schema, dict):
        return NO_SCHEMA
    try:
        for part in schema.get("fields") or ():
            if isinstance(part, dict) and part.get("field") in ("after", "before") and part.get("fields"):
                fields = {of["field"]: of for of in part["fields"] if isinstance(of, dict) and "field" in of}
                return RowSchema(fields) if fields else NO_SCHEMA
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, UNREADABLE) from None
    return NO_SCHEMA
