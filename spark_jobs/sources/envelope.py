"""A Debezium envelope, one line of bytes, to the values of a log row or to a rejection.

Event order is text that sorts as the source orders its changes: ``<position>-<tie>``. The position is that of the
connector (:mod:`spark_jobs.sources.positions`). Real events tie on it (snapshot rows share one), so it ends in a hash
of what belongs to the change itself: op, key and row images without their nulls. Where and when it was delivered has no
part in it. Where a source's positions began again, the number of the epoch comes before the position
(:mod:`spark_jobs.lake_spec.origins`).

Messages of the connector itself are no events and are passed over: heartbeats, changes of the schema, and PostgreSQL's
logical messages (op ``m``). An emptied table (op ``t``) goes to the quarantine: which rows it had, it does not say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from spark_jobs.contracts.names import plain
from spark_jobs.contracts.rejections import OtherTableError, Reason, RejectedRecordError
from spark_jobs.lake_spec.origins import BY_TIME, epoch_at, order_prefix, stream_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import NewTables
from spark_jobs.lake_spec.table_sources import matches
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, OriginRule
from spark_jobs.sources.identity import tie_of
from spark_jobs.sources.mirrored import MirroredRow, MirrorReader
from spark_jobs.sources.placeholders import build_detector
from spark_jobs.sources.positions import (
    EPOCH,
    Origin,
    build_origin,
    event_time_of,
    identity_of,
    mark_of,
    names_in,
    origin_key,
    position_of,
    time_position_of,
    transaction_of,
)
from spark_jobs.sources.record_keys import key_columns
from spark_jobs.sources.records import is_keyed, parse_record
from spark_jobs.sources.undeclared_columns import Beside, UndeclaredReader
from spark_jobs.sources.values import Converter, build_converter, build_schema_converter

UPSERTS, DELETE = frozenset("cru"), "d"

_MILLISECOND = timedelta(milliseconds=1)
_MOST_ORIGINS = 1_000
_MESSAGE, _TRUNCATE = "m", "t"
_HEARTBEAT = frozenset({"ts_ms", "ts_us", "ts_ns", "serverName"})
_SCHEMA_CHANGE = frozenset({"ddl", "tableChanges"})
_UNREADABLE_SCHEMA = "the record's schema cannot be read"


class DecodedEvent(NamedTuple):
    """One change: ``values`` in the order of the spec's source columns (the before image for a delete).

    Of a mirrored table's row they are null, and ``mirrored`` has it. ``unknown`` are the source columns, by their names
    in the lake, whose value did not travel; None when all did. ``beside`` is what the event has beside them. ``origin``
    is the table at the source, ``mark`` what rises in its stream, None where nothing does, ``identity`` the server.
    """

    event_id: str
    op: str
    event_order: str
    event_time: datetime
    transaction_id: str | None
    values: tuple[Any, ...]
    mirrored: MirroredRow | None = None
    unknown: tuple[str, ...] | None = None
    beside: Beside | None = None
    origin: str = ""
    mark: str | None = None
    identity: str = ""


class EnvelopeDecoder:
    """Decodes envelopes of one lake; keeps the converters of each connector it has met."""

    def __init__(self, spec: LakeSpec) -> None:
        self._columns: tuple[ColumnSpec, ...] = spec.source.columns
        self._did_not_travel = build_detector(spec.source.placeholder)
        key = spec.columns_by_name.get(spec.source.key)
        self._key = key.source if key else ""
        self._no_key = (None, "") if key and key.type is ColumnType.STRING else (None,)
        self._converters: dict[str, list[tuple[str, Converter]]] = {}
        self._names = tuple((column.name, column.source) for column in spec.source.columns)
        self._undeclared = UndeclaredReader(spec.source)
        self._wide, self._is_wide = spec.source.tables, dict[tuple[str, ...], bool]()
        self._ways, self._wide_ways = spec.ways, spec.source.ways
        self._spec, self._mirrors = spec, dict[str, list[TableSpec]]()
        self._readers, self._learns, self._skipped = dict[str, MirrorReader | None](), set[str](), set[str]()
        for mirror in spec.mirrors:
            for origin in () if mirror.shards else mirror.origins:
                self._mirrors.setdefault(origin, []).append(mirror)
        self._shards = [mirror for mirror in spec.mirrors if mirror.shards]
        self._has_mirrors = bool(spec.mirrors or spec.patterns)
        self._origins, self._epochs = dict[tuple[str, ...], Origin](), dict(spec.epochs)
        self._is_by_time = spec.source.origins is OriginRule.BY_TIME

    def decode(self, line: bytes, key: bytes = b"") -> DecodedEvent | None:
        """The event in ``line``; None for a tombstone (``null``, with or without its key) or a blank line.

        ``key`` is the key of its record where there is one; a line may have it beside the envelope too. It says which
        columns are the key of a table whose key no entry of the lake spec declares, and nothing else.

        Raises:
            RejectedRecordError: the record cannot be used; carries the reason for the quarantine.
            OtherTableError: it is of a table that the lake does not take.
        """
        record, beside = _without_key(parse_record(line))
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
        connector = str(source.get("connector"))
        values, mirrored = self._row(op, image, source, connector, schema)
        if mirrored and mirrored.origin in self._learns:
            mirrored = replace(mirrored, key=key_columns(key or beside, image))
        origin, time = self._origin(source, connector), event_time_of(source, connector, payload)
        if self._is_by_time and not mirrored:
            place, mark = f"{BY_TIME}{time_position_of(source, connector, payload)}", None
        else:
            prefix, position = self._prefix(origin, time), position_of(source, connector, payload)
            place, known = f"{prefix}{position}", mark_of(source, connector, position)
            mark = None if known is None else f"{prefix}{known}"
        order = f"{place}-{tie_of(op, payload.get('before'), payload.get('after'))}"
        return DecodedEvent(
            event_id=f"{origin.id_start}{order}{origin.id_end}",
            op=op,
            event_order=order,
            event_time=time,
            transaction_id=transaction_of(source, connector),
            values=values,
            mirrored=mirrored,
            unknown=None if mirrored else self._unknown(image),
            beside=None if mirrored else self._undeclared.read(image, connector, _fields_of(schema)),
            origin=origin.name,
            mark=mark,
            identity=identity_of(source, connector),
        )

    def _origin(self, source: dict[str, Any], connector: str) -> Origin:
        key = origin_key(source, connector)
        if key not in self._origins:
            if len(self._origins) >= _MOST_ORIGINS:
                self._origins.clear()
            self._origins[key] = build_origin(key)
        return self._origins[key]

    def _prefix(self, origin: Origin, time: datetime) -> str:
        """What comes before the position of an event, by the epoch that its stream had at its time."""
        if not self._epochs or not (epochs := self._epochs.get(stream_of(origin.name))):
            return ""
        return order_prefix(epoch_at(epochs, (time - EPOCH) // _MILLISECOND))

    def _row(
        self, op: str, image: dict[str, Any], source: dict[str, Any], connector: str, schema: Any
    ) -> tuple[tuple[Any, ...], MirroredRow | None]:
        """The row as a mirrored table's or as the wide log's; a table that is neither is skipped."""
        names = names_in(source, connector, self._ways) if self._has_mirrors or self._wide else ("",)
        if self._has_mirrors and (reader := next(filter(None, map(self._reader, names)), None)):
            return (None,) * len(self._columns), reader.read(op, image, connector, _fields_of(schema))
        wide = names if len(self._wide_ways) == 1 else (*names, *names_in(source, connector, self._wide_ways))
        if wide not in self._is_wide:
            if len(self._is_wide) >= _MOST_ORIGINS:
                self._is_wide.clear()
            # An event that names no table is broken, or of an unknown connector: it is looked at.
            names_none = names[-1].endswith(".")
            is_wide = names_none or any(matches(name, self._wide) for name in wide)
            self._is_wide[wide] = bool(self._columns) and is_wide
        if not self._is_wide[wide]:
            raise OtherTableError(plain(names[-1]))
        return self._convert(image, connector, schema), None

    def _reader(self, origin: str) -> MirrorReader | None:
        """How rows of a table at the source are read; None for one that no table is made of."""
        if origin in self._skipped:
            raise OtherTableError("")
        if origin not in self._readers:
            mirrors = [*self._mirrors.get(origin, ()), *(each for each in self._shards if each.is_from(origin))]
            if pattern := self._spec.pattern_of(origin):
                if not mirrors and pattern.new_tables is NewTables.IGNORE:
                    self._skipped.add(origin)
                    raise OtherTableError("")
                if not pattern.key_of(origin):
                    self._learns.add(origin)
                mirrors = mirrors or [pattern.like]
            placeholder = self._spec.source.placeholder
            self._readers[origin] = MirrorReader(origin, mirrors, placeholder=placeholder) if mirrors else None
        return self._readers[origin]

    def _unknown(self, image: dict[str, Any]) -> tuple[str, ...] | None:
        """Columns of the wide log that the image lacks, or whose value did not travel."""
        return (
            tuple(name for name, source in self._names if source not in image or self._did_not_travel(image[source]))
            or None
        )

    def _convert(self, image: dict[str, Any], connector: str, schema: Any) -> tuple[Any, ...]:
        if image.get(self._key) in self._no_key:
            raise RejectedRecordError(Reason.MISSING_KEY, f"{self._key} is missing")
        converters = self._converters.get(connector)
        if converters is None:
            converters = [(column.source, build_converter(column, connector)) for column in self._columns]
            self._converters[connector] = converters
        if fields := _fields_of(schema):
            converters = self._with_schema(converters, fields)
        get, did_not_travel = image.get, self._did_not_travel
        return tuple(
            [
                None if (value := get(name)) is None or did_not_travel(value) else convert(value)
                for name, convert in converters
            ]
        )

    def _with_schema(
        self, converters: list[tuple[str, Converter]], fields: dict[str, dict[str, Any]]
    ) -> list[tuple[str, Converter]]:
        try:
            chosen = []
            for column, (name, converter) in zip(self._columns, converters, strict=True):
                field = fields.get(name)
                chosen.append((name, (build_schema_converter(column, field) if field else None) or converter))
            return chosen
        except (AttributeError, KeyError, TypeError, ValueError):
            raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, _UNREADABLE_SCHEMA) from None


def _is_message(op: Any, payload: dict[str, Any]) -> bool:
    """True for what a connector says of itself and not of a row."""
    if op is not None:
        return bool(op == _MESSAGE)
    is_heartbeat = "ts_ms" in payload and payload.keys() <= _HEARTBEAT
    return is_heartbeat or payload.keys() >= _SCHEMA_CHANGE


def _without_key(record: dict[str, Any] | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The record, None for a tombstone, and the key that was beside it."""
    if record is None or not is_keyed(record):
        return record, {}
    key, value = record["key"], record["value"]
    for name, part in (("key", key), ("value", value)):
        if part is not None and not isinstance(part, dict):
            # Of a key that is no object it is not known which column it is, or whom it names.
            raise RejectedRecordError(
                Reason.NOT_AN_ENVELOPE, f"{name} is no object; let the sink's {name}.converter be JsonConverter"
            )
    return value, key or {}


def _unwrap(record: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    if "payload" not in record or "op" in record:
        return record, None
    payload = record["payload"]
    if payload is None:
        raise RejectedRecordError(Reason.NULL_PAYLOAD, "payload is null")
    if not isinstance(payload, dict):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "payload is not an object")
    return payload, record.get("schema")


def _fields_of(schema: Any) -> dict[str, dict[str, Any]]:
    """The fields of the row images, by name; none when the record has no schema."""
    if not isinstance(schema, dict):
        return {}
    try:
        for part in schema.get("fields") or ():
            if isinstance(part, dict) and part.get("field") in ("after", "before") and part.get("fields"):
                return {of["field"]: of for of in part["fields"] if isinstance(of, dict) and "field" in of}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, _UNREADABLE_SCHEMA) from None
    return {}
