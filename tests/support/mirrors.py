"""Change events of a shop's tables with the schema that Connect gives them, and what mirrors must hold of them.

The fold is plain Python and shares no code with the product: of each key the events in the source's order; a delete
voids the row; every other event sets all columns that it has, to null too, but those whose value did not travel.
"""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.envelopes import MINUTE_MS, START_MS, Envelope
from tests.support.oracle import tie

UNAVAILABLE = "__debezium_unavailable_value"
Field = dict[str, Any]
TYPES: dict[str, Field] = {
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "double": {"type": "double"},
    "bytes": {"type": "bytes"},
    "date": {"type": "int32", "name": "io.debezium.time.Date"},
    "timestamp": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
}
"""Fields of a Connect schema by the SQL type that the lake is to have."""


def decimal_field(precision: int, scale: int) -> Field:
    """A ``decimal.handling.mode`` of ``precise``."""
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters}


def shop_of(*tables: str) -> LakeSpec:
    """A lake of mirrors of some tables of a shop, each with the key ``id``, and of nothing else."""
    entries = [{"name": name, "from": {"database": "shop", "table": name}, "key": ["id"]} for name in tables]
    document = {"lake": "shop", "source": {"topics": ["shop*"]}, "log": "log", "quarantine": "bad", "tables": entries}
    return parse_lake_spec(document)


def change(
    op: str, table: str, row: Mapping[str, Any], lsn: int, *, fields: Mapping[str, Field] | None = None
) -> Envelope:
    """A change of ``shop.<table>`` at an LSN; ``fields`` describe the columns, none at all give no schema."""
    source = {
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": START_MS + lsn * MINUTE_MS // 60,
        "snapshot": "true" if op == "r" else "false",
        "db": "erp",
        "schema": "shop",
        "table": table,
        "lsn": lsn,
    }
    images = {"before": dict(row) if op == "d" else None, "after": None if op == "d" else dict(row)}
    record: Envelope = {**images, "source": source, "op": op, "ts_ms": source["ts_ms"]}
    if fields is None:
        return record
    image = {"type": "struct", "optional": True, "fields": [{"field": name, **of} for name, of in fields.items()]}
    parts = [{**image, "field": "before"}, {**image, "field": "after"}]
    return {"schema": {"type": "struct", "fields": parts}, "payload": record}


def keyed(record: Envelope, columns: Iterable[str]) -> Envelope:
    """The record with its key beside it, as sinks of Kafka Connect write both; in the form of the record."""
    body = record.get("payload", record)
    image = body["before" if body["op"] == "d" else "after"]
    key: Field = {name: image[name] for name in columns}
    if "schema" in record:
        fields = [{"field": name, "type": "int64", "optional": False} for name in key]
        key = {"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": key}
    return {"key": key, "value": record, "offset": body["source"]["lsn"], "timestamp": "2026-01-01T00:00:00Z"}


def packed(unscaled: int) -> str:
    """A decimal's bytes as Connect packs them."""
    return base64.b64encode(unscaled.to_bytes(9, "big", signed=True)).decode()


def line_of(record: Envelope) -> bytes:
    """As a file or a message has it."""
    return json.dumps(record, ensure_ascii=False).encode()


def fold(records: Iterable[Envelope], keys: Mapping[str, tuple[str, ...]]) -> dict[str, dict[tuple[Any, ...], Any]]:
    """By table and key the live rows, with the columns' names at the source and values as they came."""
    events: dict[tuple[str, tuple[Any, ...]], dict[Any, Any]] = defaultdict(dict)
    for record in records:
        body = record.get("payload", record)
        image, table = body["before" if body["op"] == "d" else "after"], body["source"]["table"]
        order = (body["source"]["lsn"], tie(body["op"], body))
        events[table, tuple(image[name] for name in keys[table])][order] = (body["op"], image)
    tables: dict[str, dict[tuple[Any, ...], Any]] = {table: {} for table in keys}
    for (table, key), of_key in events.items():
        row: dict[str, Any] | None = None
        for _, (op, image) in sorted(of_key.items()):
            if op == "d":
                row = None
            else:
                row = {
                    **dict.fromkeys(row or {}),
                    **{n: v if v != UNAVAILABLE else (row or {}).get(n) for n, v in image.items()},
                }
        if row is not None:
            tables[table][key] = row
    return tables
