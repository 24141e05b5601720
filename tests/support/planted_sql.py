"""The planted tables as SELECTs of constants, for Spark and for Trino."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.support.planted_lake import ROWS, SCHEMAS


def select(table: str, *, in_trino: bool = False) -> str:
    """The rows of a table, as a SELECT of constants."""
    columns = [column.split() for column in SCHEMAS[table].split(", ")]
    kinds = [_trino_type(kind) if in_trino else kind for _, kind in columns]
    rows = (
        ", ".join(f"CAST({_literal(value, in_trino)} AS {kind})" for kind, value in zip(kinds, row, strict=True))
        for row in ROWS[table]
    )
    values, names = ", ".join(f"({row})" for row in rows), ", ".join(name for name, _ in columns)
    return " ".join(("SELECT * FROM (VALUES", values, f") AS planted ({names})"))


def _trino_type(kind: str) -> str:
    kind = kind.replace("string", "varchar").replace("timestamp", "timestamp(6)")
    return kind.replace("<", "(").replace(">", ")")


def _literal(value: Any, in_trino: bool) -> str:
    if isinstance(value, list):
        items = ", ".join(_literal(each, in_trino) for each in value)
        return f"ARRAY[{items}]" if in_trino else f"ARRAY({items})"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'"
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
