"""A table in parts: ranges of a column, each a query of its own, which together hold every row once.

The first part has no lower end and the last no upper one, so that rows that came after the ends were queried are in a
part too; the first one has the rows without a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from itertools import pairwise

from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_PARTS = 10_000
CUTTABLE = (ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.DATE, ColumnKind.TIMESTAMP, ColumnKind.INSTANT)
"""Kinds of columns that parts can be made by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows whose value is at least ``start`` and below ``end``; None: there is no such end."""

    start: int | None
    end: int | None

    def predicate(self, column: str, kind: ColumnKind) -> str:
        """As a condition in SQL on ``column``, which is SQL already."""
        least = [] if self.start is None else [f"{column} >= {literal(kind, self.start)}"]
        below = [] if self.end is None else [f"{column} < {literal(kind, self.end)}"]
        if not least and not below:
            return "1 = 1"
        condition = " AND ".join([*least, *below])
        return condition if least else f"({condition} OR {column} IS NULL)"


def cut(low: int, high: int, parts: int) -> Iterator[Part]:
    """The parts between two values, alike in width; there are as many as the values allow."""
    count = part_count(low, high, parts)
    ends = [None, *(low + (high - low + 1) * number // count for number in range(1, count)), None]
    return (Part(start=start, end=end) for start, end in pairwise(ends))


def part_count(low: int, high: int, parts: int) -> int:
    """How many parts of ``parts`` that are wanted there can be."""
    return max(1, min(parts, high - low + 1, MOST_PARTS))


def to_bound(kind: ColumnKind, text: str, column: str) -> int:
    """The least or greatest value of a column as a number: of days, of seconds, or its whole part.

    Raises:
        ContractError: the value is none that parts can be made by, such as ``infinity``.
    """
    try:
        if kind is ColumnKind.DATE:
            return (date.fromisoformat(text) - _EPOCH.date()).days
        if kind in (ColumnKind.TIMESTAMP, ColumnKind.INSTANT):
            return (datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
        return int(Decimal(text).to_integral_value(rounding=ROUND_FLOOR))
    except (ValueError, OverflowError, InvalidOperation):
        raise ContractError(
            f"--partition-column {plain(column)} holds {plain(text)}, from which no parts can be made; choose another "
            f"column, or none"
        ) from None


def literal(kind: ColumnKind, value: int) -> str:
    """A bound as SQL; dates and times in the one form that every dialect reads the same."""
    if kind is ColumnKind.DATE:
        return f"'{(_EPOCH.date() + timedelta(days=value)).isoformat()}'"
    if kind in (ColumnKind.TIMESTAMP, ColumnKind.INSTANT):
        moment = _EPOCH + timedelta(seconds=value)
        return f"'{(moment if kind is ColumnKind.INSTANT else moment.replace(tzinfo=None)).isoformat()}'"
    return str(value)
