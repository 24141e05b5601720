"""Tables of a page of the docs, so that its worked examples are tested."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

Table = list[dict[str, Any]]


def read_tables(page: Path) -> dict[str, Table]:
    """Under each heading the first table; cells are values, empty ones None."""
    tables: dict[str, Table] = {}
    rows: Table = []
    header: list[str] = []
    heading = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header, rows = cells, []
            tables.setdefault(heading, rows)
        elif set(line) - set("|-: "):
            rows.append({name: read_cell(cell) for name, cell in zip(header, cells, strict=True)})
    return tables


def read_cell(text: str) -> Any:
    """A time (UTC), a list, a decimal, a whole number, yes or no; else the text itself, None when there is none."""
    if text in ("", "yes", "no"):
        return text == "yes" if text else None
    if text.startswith("["):
        return ast.literal_eval(text)
    for read in (int, Decimal, datetime.fromisoformat):
        try:
            value: Any = read(text)
        except (ValueError, ArithmeticError):
            continue
        if not isinstance(value, datetime):
            return value
        if " " in text:
            return value.replace(tzinfo=UTC)
    return text
