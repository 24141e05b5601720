"""Rows as text, for people."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def format_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side: numbers to the right with thousands marked, text to the left, nothing as ``-``."""
    cells = [[cell_text(value) for value in row] for row in rows]
    widths = [max(len(header[at]), *(len(row[at]) for row in cells), 0) for at in range(len(header))]
    is_number = number_columns(header, rows)

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if right else v.ljust(w) for v, w, right in zip(values, widths, is_number, strict=True))
        return "  " + "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def number_columns(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Of each column, whether it holds numbers and nothing else."""
    return [
        bool(rows) and all(isinstance(row[at], int | Decimal) or row[at] is None for row in rows)
        for at in range(len(header))
    ]


def cell_text(value: Any) -> str:
    """One value as a table shows it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | Decimal) and not isinstance(value, bool) else str(value)
