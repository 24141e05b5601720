"""What a preview finds of a column of a mart: as people see it, and as it travels in a job's result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

PREVIEW_HEADER = ("column", "type now", "type then", "sum now", "sum then", "rows changed", "percent")
Number = int | Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPreview:
    """One column: its types and sums as stored and as they would be, None where there is none.

    ``changed`` are rows of both states that have another value of it; ``percent`` is of all rows of both states.
    """

    name: str
    type_now: str | None
    type_then: str | None
    sum_now: Number
    sum_then: Number
    changed: int
    percent: Decimal | None

    def cells(self) -> tuple[object, ...]:
        """One row of a table, under ``PREVIEW_HEADER``."""
        return (self.name, self.type_now, self.type_then, self.sum_now, self.sum_then, self.changed, self.percent)

    def facts(self) -> dict[str, Any]:
        """Itself for JSON; numbers with a fraction are text, which keeps every digit."""
        return {name: str(value) if isinstance(value, Decimal) else value for name, value in asdict(self).items()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> ColumnPreview:
        """What :meth:`facts` gave."""
        return cls(**{**facts, **{name: _number(facts[name]) for name in ("sum_now", "sum_then", "percent")}})


def _number(value: str | int | None) -> Any:
    return Decimal(value) if isinstance(value, str) else value
