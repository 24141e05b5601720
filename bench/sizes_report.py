"""What was weighed, as numbers and as its section of the page; pure, so it needs no engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_WHOLE = 1000
"""Figures from here on are written without digits after the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """An entity table: bytes of a row in base files, and of a changed row in log files."""

    table: str
    rows: int
    row_bytes: float
    changed_rows: int
    changed_row_bytes: float

    @property
    def cells(self) -> tuple[str, ...]:
        """For the page."""
        return (
            *(self.table, f"{self.rows:,}", f"{self.row_bytes:.0f}"),
            *(f"{self.changed_rows:,}", f"{self.changed_row_bytes:.0f}"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Everything that was weighed; ``figures`` by name, which ends in the unit. ``events`` is how many came in."""

    title: str
    method: str
    events: int
    figures: Mapping[str, float]
    tables: tuple[TableSize, ...]

    @property
    def disagreements(self) -> list[str]:
        """None: nothing is compared here."""
        return []

    def lines(self) -> Iterator[str]:
        """Its section of the page."""
        yield from ("| figure | measured |", "|---|--:|", f"| events | {self.events:,} |")
        for name, value in self.figures.items():
            yield f"| {name} | {value:,.{1 if value < _WHOLE else 0}f} |"
        yield from ("", "| table | rows | bytes a row | rows in log files of the second arrival | bytes of each |")
        yield "|---|--:|--:|--:|--:|"
        for table in self.tables:
            yield f"| {' | '.join(table.cells)} |"


def read_sizes(fields: Mapping[str, Any]) -> Sizes:
    """What ``sizes.json`` holds."""
    return Sizes(**{**fields, "tables": tuple(TableSize(**table) for table in fields["tables"])})
