"""A Debezium envelope, one line of bytes, to the values of a log row or to a rejection.

Event order is text that sorts as the source orders its changes: ``<position>-<tie>``. The position is that of the
connector (:mod:`spark_jobs.sources.positions`). Real events tie on it (snapshot rows share one), so it ends in a hash
of what belongs to the change itself: op, key and row images without their nulls. Where and when it was delivered has no
part in it. Where a source's positions began again, the number of the epoch comes before the position
(:mod:`spark_jobs.lake_spec.origins`).

Messages of the connector itself are no events and are skipped: heartbeats, changes of the schema, and PostgreSQL's
logical messages (op ``m``). An emptied table (op ``t``) goes to the quarantine: which rows it had, it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from spark_jobs.connectors.events import Blocks
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.origins import BY_TIME, epoch_at, order_prefix, stream_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import OriginRule
from spark_jobs.sources.connect_schemas import WrappedRecords
from spark_jobs.sources.identity import look_at, tie_of
from spark_jobs.sources.layouts import Example
from spark_jobs.sources.mirrored import MirroredRow
from spark_jobs.sources.positions import (
    EPOCH,
    INCREMENTAL,
    Origin,
    event_time_of,
    mark_of,
    time_position_of,
    transaction_of,
)
from spark_jobs.sources.record_keys import key_columns
from spark_jobs.sources.records import is_keyed
from spark_jobs.sources.row_images import RowReader
from spark_jobs.sources.source_blocks import EventTable, EventTables
from spark_jobs.sources.undeclared_columns import Beside

UPSERTS, DELETE = frozenset("cru"), "d"

_MILLISECOND = timedelta(milliseconds=1)
_MESSAGE, _TRUNCATE = "m", "t"
_HEARTBEAT = frozenset({"ts_ms", "ts_us", "ts_ns", "serverName"})
_SCHEMA_CHANGE = frozenset({"ddl", "tableChanges"})


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
    """Decodes envelopes of one lake; keeps how those of each table, schema and shape that it has met are read."""

    def __init__(self, spec: LakeSpec) -> None:
        self._records, self._tables, self._rows = WrappedRecords(), EventTables(spec), RowReader(spec)
        self._no_values = (None,) * len(spec.source.columns)
        self._epochs = dict(spec.epochs)
        self._is_by_time = spec.source.origins is OriginRule.BY_TIME

    def decode(self, line: bytes, key: bytes = b"") -> DecodedEvent | None:
        """The event in ``line``; None for a tombstone (``null``, with or without its key) or a blank line.

        ``key`` is the key of its record where there is one; a line may have it beside the envelope too. It says which
        columns are the key of a table whose key no entry of the lake spec declares, and nothing else.

        Raises:
            RejectedRecordError: the record cannot be used; carries the reason for the quarantine.
            OtherTableError: it is of a table that the lake does not take.
        """
        record, beside = _without_key(self._records.parse(line))
        if record is None:
            return None
        payload, schema = _unwrap(record)
        op: Any = payload.get("op")
        if _is_message(op, payload):
            return None
        image, other = _images(op, payload)
        source = payload.get("source")
        if not isinstance(image, dict) or not isinstance(source, dict):
            raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "row image or source block is not an object")
        table, look = self._tables.find(source), look_at(image)
        mirrored = None
        if table.reader:
            mirrored = table.reader.read(op, image, look, table.connector, self._records.row_schema(schema))
            values, unknown, undeclared = self._no_values, None, None
            if table.learns_key:
                mirrored = replace(mirrored, key=key_columns(key or beside, image))
        else:
            self._rows.check_key(image)
            row_schema = self._records.row_schema(schema)
            values, unknown, undeclared = self._rows.read(image, look, table.connector, row_schema)
        origin, of = table.origin, table.of
        time = event_time_of(source, of, payload)
        place, mark = self.place_of(table, source, payload, (time - EPOCH) // _MILLISECOND if self._epochs else 0)
        seen = image, look
        unseen = other, look_at(other) if isinstance(other, dict) else None
        tie = tie_of(op, seen, unseen) if op == DELETE else tie_of(op, unseen, seen)
        order = f"{place}-{tie}"
        return DecodedEvent(
            f"{origin.id_start}{order}{origin.id_end}",
            op,
            order,
            time,
            transaction_of(source, of),
            values,
            mirrored,
            unknown,
            undeclared,
            origin.name,
            mark,
            of.identity_of(source),
        )

    def place_of(
        self, table: EventTable, source: dict[str, Any], payload: dict[str, Any], time_ms: int
    ) -> tuple[str, str | None]:
        """The position of an event of ``table``, with its epoch, and its mark; ``time_ms`` is when it happened.

        RejectedRecordError when its connector gives it no position.
        """
        if self._is_by_time and not table.reader:
            return f"{BY_TIME}{time_position_of(source, table.connector, payload)}", None
        place = table.of.position_of(source, payload)
        mark = mark_of(source, table.of, place)
        if prefix := self._prefix(table.origin, time_ms):
            return f"{prefix}{place}", None if mark is None else f"{prefix}{mark}"
        return place, mark

    def places_of(
        self, table: EventTable, blocks: Blocks, count: int
    ) -> tuple[Sequence[str | None], Sequence[str | None]]:
        """Positions and marks of so many events of a table; no position where it has none."""
        of, has_epochs = table.of, stream_of(table.origin.name) in self._epochs
        is_by_time = self._is_by_time and not table.reader
        if not is_by_time and not has_epochs and INCREMENTAL not in blocks.get("snapshot", ()):
            try:
                places = of.places_of(blocks)
            except RejectedRecordError:
                places = None
            if places is not None:
                return places, of.marks_of(blocks, places)
        found = list[tuple[str | None, str | None]]()
        for values in zip(*blocks.values(), strict=True):
            source = dict(zip(blocks, values, strict=True))
            try:
                found.append(self.place_of(table, source, {}, source["ts_ms"]))
            except RejectedRecordError:
                found.append((None, None))
        return [place for place, _ in found], [mark for _, mark in found]

    def _prefix(self, origin: Origin, time_ms: int) -> str:
        """What comes before the position of an event, by the epoch that its stream had at its time."""
        if not self._epochs or not (epochs := self._epochs.get(stream_of(origin.name))):
            return ""
        return order_prefix(epoch_at(epochs, time_ms))

    def example(self, line: bytes) -> Example | None:
        """What a record that was decoded says of others like it; None where each is looked at by itself.

        Those are records with their key beside them, with a schema that is not kept, of connectors that are not known,
        and of tables whose key is what each record says.
        """
        record, prefix = self._records.parse(line), self._records.prefix_of(line)
        if not record or ("payload" in record) != bool(prefix):
            return None
        payload, schema = _unwrap(record)
        source = payload.get("source")
        if not isinstance(source, dict):
            return None
        table = self._tables.find(source)
        if not table.of.place_field or table.learns_key:
            return None
        return Example(payload=payload, table=table, schema=self._records.row_schema(schema), prefix=prefix)


def _images(op: Any, payload: dict[str, Any]) -> tuple[Any, Any]:
    """The image that counts, of what kind it may be, and the other one; RejectedRecordError when there is none."""
    if op == _TRUNCATE:
        raise RejectedRecordError(
            Reason.TRUNCATE, "the table was emptied at the source; its rows stay until each is deleted there"
        )
    if op != DELETE and (not isinstance(op, str) or op not in UPSERTS):
        raise RejectedRecordError(Reason.UNKNOWN_OP, f"op {str(op)[:40]!r} is none of c, r, u, d")
    image, other = payload.get("after"), payload.get("before")
    if op == DELETE:
        image, other = other, image
    if image is None:
        raise RejectedRecordError(Reason.NULL_PAYLOAD, f"op {op} without its row image")
    return image, other


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
