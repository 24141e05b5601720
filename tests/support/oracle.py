"""The oracle: what the lake must hold, in plain Python, from envelope lines. It shares no code with the product.

Order. The source says in which order its changes happened, and the oracle sorts by nothing else:

1. the position: SQL Server's (commit_lsn, change_lsn, event_serial_no), PostgreSQL's lsn, MySQL's and MariaDB's binlog
   file, position and row, for any other connector the source time in milliseconds;
2. where real events share a position (snapshot rows do, and both halves of a change of the key): a hash of the change
   itself: SHA-256 of the compact JSON ``[op,[before,after]]``, where an image is its sorted ``[name, text of value]``
   pairs without nulls, or null; the first 16 hexadecimal digits.

Folding. For every row and column: the newest value that is not null (law 1). Deletes concern ``sales`` alone (law 3):
values older than the newest delete of the key are void, and a row with nothing newer than it is a tombstone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

COLUMNS = {
    "SaleId": ("sale_id", "integer"),
    "AgentId": ("agent_id", "integer"),
    "AgentName": ("agent_name", "text"),
    "UnitId": ("unit_id", "integer"),
    "UnitName": ("unit_name", "text"),
    "BuildingId": ("building_id", "integer"),
    "BuildingName": ("building_name", "text"),
    "ProjectId": ("project_id", "integer"),
    "ProjectName": ("project_name", "text"),
    "StatusId": ("status_id", "integer"),
    "StatusName": ("status_name", "text"),
    "ContractSubtotal": ("contract_subtotal", "money"),
    "ContractSigningDate": ("contract_signing_date", "time"),
    "CustomerId": ("customer_id", "integer"),
    "CustomerName": ("customer_name", "text"),
}
TABLES = {
    "units": ("unit_id", ("unit_name", "building_id", "project_id")),
    "buildings": ("building_id", ("building_name",)),
    "projects": ("project_id", ("project_name",)),
    "statuses": ("status_id", ("status_name",)),
    "agents": ("agent_id", ("agent_name",)),
    "customers": ("customer_id", ("customer_name",)),
    "sales": (
        "sale_id",
        ("unit_id", "status_id", "contract_subtotal", "contract_signing_date", "agent_id", "customer_id"),
    ),
}
OWNERS = {"mysql": ("db",), "mariadb": ("db",)}
"""Connectors whose tables are of a database, and of no schema."""
Row = dict[str, Any]
Tables = dict[str, dict[int, Row]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UnusableError(Exception):
    """The record must be in quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A usable record; ``row`` holds its columns that are not null, by their names in the lake."""

    origin: str
    order: tuple[tuple[int, ...], str]
    op: str
    time: datetime
    row: Row

    @property
    def identity(self) -> tuple[Any, ...]:
        """Two deliveries of one change have the same."""
        return (self.origin, self.order)


def read_lines(lines: Iterable[bytes]) -> tuple[list[Event], set[bytes]]:
    """Every usable event once, in the source's order, and the distinct unusable records."""
    events: dict[tuple[Any, ...], Event] = {}
    unusable = set()
    for line in lines:
        try:
            event = read_line(line)
        except UnusableError:
            unusable.add(line)
        else:
            if event:
                events[event.identity] = event
    return sorted(events.values(), key=lambda event: (event.order, event.origin)), unusable


def read_line(line: bytes) -> Event | None:
    """The event of one line; None for a record without a value. UnusableError when it belongs in quarantine."""
    if line.strip() in (b"", b"null"):
        return None
    require(len(line) <= 512 * 1024)
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=without_duplicates, parse_float=Decimal)
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise UnusableError from error
    require(depth(record) <= 32)
    require(isinstance(record, dict))
    envelope = record["payload"] if "payload" in record and "op" not in record else record
    require(isinstance(envelope, dict))
    op, source = envelope.get("op"), envelope.get("source")
    if op == "m" or (op is None and is_message(envelope)):
        return None
    require(op in ("c", "r", "u", "d"))
    image = envelope.get("before") if op == "d" else envelope.get("after")
    require(isinstance(image, dict) and isinstance(source, dict))
    row, connector = {}, str(source.get("connector"))
    for column, (name, kind) in COLUMNS.items():
        if image.get(column) is not None:
            row[name] = read_value(image[column], kind, connector)
    require("sale_id" in row)
    milliseconds = source.get("ts_ms")
    if milliseconds is None and connector not in ("sqlserver", "postgresql", *OWNERS):
        milliseconds = envelope.get("ts_ms")
    require(isinstance(milliseconds, int) and abs(milliseconds) < 253_402_300_800_000)
    origin = "/".join(str(source.get(name, "")) for name in ("name", *OWNERS.get(connector, ("schema",)), "table"))
    require(origin.isprintable())
    return Event(
        origin=origin,
        order=(position(source, milliseconds), tie(op, envelope)),
        op=op,
        time=EPOCH + timedelta(milliseconds=milliseconds),
        row=row,
    )


def is_message(envelope: dict[str, Any]) -> bool:
    """True for a heartbeat, and for a connector's messages about changes of the schema."""
    is_heartbeat = "ts_ms" in envelope and set(envelope) <= {"ts_ms", "ts_us", "ts_ns", "serverName"}
    return is_heartbeat or {"ddl", "tableChanges"} <= set(envelope)


def require(is_fine: object) -> None:
    """UnusableError unless it is."""
    if not is_fine:
        raise UnusableError


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose names are all different."""
    require(len({name for name, _ in pairs}) == len(pairs))
    return dict(pairs)


def depth(value: Any) -> int:
    """How many objects and lists are inside each other."""
    if isinstance(value, dict | list):
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)
    return 0


def position(source: dict[str, Any], milliseconds: int) -> tuple[int, ...]:
    """Where the source itself puts the change."""
    if source.get("connector") == "sqlserver":
        require(source.get("commit_lsn") is not None)
        serial = source.get("event_serial_no") or 0
        require(isinstance(serial, int) and 0 <= serial < 2**32)
        lsns = [str(source.get(name) or "00000000:00000000:0000").split(":") for name in ("commit_lsn", "change_lsn")]
        require(all([len(part) for part in lsn] == [8, 8, 4] for lsn in lsns))
        try:
            return (*(int(part, 16) for lsn in lsns for part in lsn), serial)
        except ValueError as error:
            raise UnusableError from error
    if source.get("connector") == "postgresql":
        require(source.get("lsn") is not None)
        require(int(source["lsn"]) >= 0)
        return (int(source["lsn"]),)
    if source.get("connector") in OWNERS:
        require(bool(source.get("file")))
        name, dot, number = source["file"].rpartition(".")
        require(name and dot and number.isdigit() and isinstance(source.get("pos"), int))
        return (int(number), source["pos"], source.get("row") or 0)
    return (milliseconds,)


def tie(op: str, envelope: dict[str, Any]) -> str:
    """A hash of the change itself, for changes that share a position."""
    images: list[Any] = []
    for name in ("before", "after"):
        image = envelope.get(name)
        pairs = sorted(image.items()) if isinstance(image, dict) else []
        images.append([[key, str(value)] for key, value in pairs if value is not None] if image is not None else None)
    text = json.dumps([op, images], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def read_value(value: Any, kind: str, connector: Any) -> Any:
    """A value as the lake holds it."""
    try:
        if kind != "text" and isinstance(value, str):
            require(value.isascii() and not {" ", "_", "\t", "\n"} & set(value))
        if kind == "integer":
            require(not isinstance(value, bool | Decimal) and -(2**63) <= int(value) < 2**63)
            return int(value)
        if kind == "money":
            require(not isinstance(value, bool))
            number = Decimal(value)
            require(number.is_finite() and abs(number) < 10**14)
            require(number == number.quantize(Decimal("0.0001")))
            return number.quantize(Decimal("0.0001"))
        if kind == "time":
            require(type(value) is int)
            return EPOCH + timedelta(microseconds=value if connector == "postgresql" else value * 1000)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise UnusableError from error
    require(isinstance(value, str) and len(value) <= 4000)
    require(not any("\ud800" <= character <= "\udfff" for character in value))
    return value


def fold(events: Iterable[Event]) -> Tables:
    """The seven tables after all of ``events``, whatever order they are given in."""
    in_order = sorted(events, key=lambda event: event.order)
    tables: Tables = {name: {} for name in TABLES}
    for event in in_order:
        for name, (key, columns) in TABLES.items():
            if name == "sales" or key not in event.row or event.op == "d":
                continue
            row = tables[name].setdefault(event.row[key], dict.fromkeys(columns))
            row.update({column: event.row[column] for column in columns if column in event.row})
    key, columns = TABLES["sales"]
    for event in in_order:
        if event.op == "d":
            tables["sales"][event.row[key]] = {**dict.fromkeys(columns), "is_deleted": True}
        else:
            row = tables["sales"].setdefault(event.row[key], dict.fromkeys(columns))
            row["is_deleted"] = False
            row.update({column: event.row[column] for column in columns if column in event.row})
    return tables
