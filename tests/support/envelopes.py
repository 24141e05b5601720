"""Envelopes as Debezium's connectors send them, for tests: small, with every field the product may look at."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SQLSERVER_TOPIC, POSTGRES_TOPIC = "erp.dbo.SALES", "erp.public.SALES"
START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: the source time of position 0; every position is one minute later."""
MINUTE_MS = 60_000

Envelope = dict[str, Any]

CONNECT_FIELDS: list[dict[str, Any]] = [
    {"field": "SaleId", "type": "int64"},
    {
        "field": "ContractSubtotal",
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "4"},
    },
    {"field": "ContractSigningDate", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
]
"""A Connect schema that says otherwise than the lake spec: a decimal in base64, a time in microseconds."""


def sqlserver(op: str, row: Mapping[str, Any], position: int, *, serial: int = 1, ts_ms: int | None = None) -> Envelope:
    """A change at commit ``position``; a delete carries ``row`` as its before image."""
    source = {
        "version": "3.3.1.Final",
        "connector": "sqlserver",
        "name": "erp",
        "ts_ms": START_MS + position * MINUTE_MS if ts_ms is None else ts_ms,
        "snapshot": "true" if op == "r" else "false",
        "db": "erp",
        "schema": "dbo",
        "table": "SALES",
        "commit_lsn": f"00000027:{position:08x}:0003",
        "change_lsn": None if op == "r" else f"00000027:{position:08x}:0002",
        "event_serial_no": None if op == "r" else serial,
    }
    return envelope(op, row, source)


def postgres(op: str, row: Mapping[str, Any], position: int, *, ts_ms: int | None = None) -> Envelope:
    """The same change from PostgreSQL, at LSN ``position``."""
    source = {
        "version": "3.3.1.Final",
        "connector": "postgresql",
        "name": "erp",
        "ts_ms": START_MS + position * MINUTE_MS if ts_ms is None else ts_ms,
        "snapshot": "true" if op == "r" else "false",
        "db": "erp",
        "schema": "public",
        "table": "SALES",
        "txId": 700 + position,
        "lsn": 22_000_000 + position,
    }
    return envelope(op, row, source)


def envelope(op: str, row: Mapping[str, Any], source: Mapping[str, Any]) -> Envelope:
    """Op, images and source block, with the connector's own time."""
    is_delete = op == "d"
    return {
        "before": dict(row) if is_delete else None,
        "after": None if is_delete else dict(row),
        "source": dict(source),
        "op": op,
        "ts_ms": source.get("ts_ms", 0) + 137,
    }


def wrapped(record: Envelope, fields: Iterable[Mapping[str, Any]] = ()) -> Envelope:
    """In the ``schema``/``payload`` wrapper; ``fields`` describes the columns of the row images."""
    image = {"type": "struct", "optional": True, "fields": [dict(field) for field in fields]}
    parts = [{**image, "field": "before"}, {**image, "field": "after"}]
    return {"schema": {"type": "struct", "name": "erp.Envelope", "fields": parts}, "payload": record}


def line(record: Any) -> bytes:
    """One JSON line without its end."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def write_lines(path: Path, lines: Iterable[bytes], *, is_gzip: bool = False) -> Path:
    """A landing file, put in place in one step as a careful sink does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b"".join(text + b"\n" for text in lines)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(gzip.compress(content, mtime=0) if is_gzip else content)
    temporary.rename(path)
    return path
