"""Compares the lake's tables with the truth that the generator wrote beside the landing files."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnType

Row = Mapping[str, Any]
IS_DELETED = "is_deleted"
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What must be in the lake: good events, broken ones by reason, live rows by table and key, deleted keys."""

    events: int
    broken: Mapping[str, int]
    tables: Mapping[str, Mapping[str, Row]]
    deleted: frozenset[str]

    @classmethod
    def load(cls, landing_path: str, topic: str) -> Truth:
        """Read ``<landing>/_generator/<topic>.truth.json.gz``."""
        path = Path(landing_path) / "_generator" / f"{topic}.truth.json.gz"
        document = json.loads(gzip.decompress(path.read_bytes()))
        return cls(
            events=document["events"],
            broken=document["broken"],
            tables=document["tables"],
            deleted=frozenset(str(key) for key in document["deleted_sales"]),
        )


def check_table(table: TableSpec, rows: Sequence[Row], truth: Truth, spec: LakeSpec, *, reader: str) -> list[str]:
    """What is wrong with the rows that ``reader`` gave for ``table``; empty when they are the truth.

    Live rows must be the truth's, value by value. In a table that follows deletes every deleted key must be a
    tombstone: ``is_deleted``, and every value null.
    """
    live: dict[str, Row] = {}
    wrong: list[str] = []
    for row in rows:
        key = str(row[table.key_column])
        if row.get(IS_DELETED):
            if any(row[column] is not None for column in table.columns):
                wrong.append(f"tombstone {key} still has values")
            continue
        if key in live:
            wrong.append(f"key {key} is there twice")
        live[key] = {column: canonical(row[column], spec.columns_by_name[column].type) for column in table.columns}
    expected = {
        key: {column: canonical(row.get(column), spec.columns_by_name[column].type) for column in table.columns}
        for key, row in truth.tables[table.name].items()
    }
    wrong += [f"key {key} is missing" for key in expected.keys() - live.keys()]
    wrong += [f"key {key} should not be there" for key in live.keys() - expected.keys()]
    wrong += [
        f"key {key} is {live[key]}, not {expected[key]}"
        for key in expected.keys() & live.keys()
        if live[key] != expected[key]
    ]
    if table.follows_deletes:
        tombstones = {str(row[table.key_column]) for row in rows if row.get(IS_DELETED)}
        wrong += [f"deleted key {key} has no tombstone" for key in truth.deleted - tombstones]
    return _shortened(f"{table.name} as read by {reader}", sorted(wrong))


def check_count(what: str, found: int, expected: int) -> list[str]:
    """One line when two numbers differ."""
    return [] if found == expected else [f"{what}: {found}, not {expected}"]


def check_reasons(found: Mapping[str, int], truth: Truth) -> list[str]:
    """Quarantined records by reason must be the broken ones that were made."""
    expected = {reason: n for reason, n in truth.broken.items() if n}
    return [] if dict(found) == expected else [f"quarantine by reason: {dict(found)}, not {expected}"]


def same_rows(
    table: str, one: Iterable[Row], other: Iterable[Row], *, readers: str = "Spark and the Rust reader"
) -> list[str]:
    """What differs between the rows that two readers gave for one table, every column, order aside."""
    first, second = (
        Counter(repr(sorted((k, _plain(v)) for k, v in row.items())) for row in rows) for rows in (one, other)
    )
    differences = [*(first - second).elements(), *(second - first).elements()]
    return _shortened(f"{table}: {readers} differ in {len(differences)} rows", sorted(differences))


def canonical(value: Any, kind: ColumnType) -> Any:
    """One form for a value from JSON, Spark or Arrow: Decimal, aware UTC datetime, int, str or None."""
    if value is None:
        return None
    if kind is ColumnType.DECIMAL:
        return Decimal(str(value))
    if kind is ColumnType.TIMESTAMP:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return int(value) if kind is ColumnType.BIGINT else value


def _plain(value: Any) -> Any:
    """A form in which the two readers agree: nested rows as dicts, times in UTC, bytes as bytes."""
    if isinstance(value, datetime):
        return canonical(value, ColumnType.TIMESTAMP).isoformat()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return value


def _shortened(what: str, wrong: list[str]) -> list[str]:
    more = [f"{what}: and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return [f"{what}: {line}" for line in wrong[:SHOWN]] + more
