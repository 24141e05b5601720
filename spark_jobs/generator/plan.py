"""What the generator is to make: the run as a whole. Nonsense is refused with one sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.lake_spec.tables import Nulls

DEFAULT_EVENTS = 10_000
DEFAULT_DAYS = 90
DEFAULT_TOPIC = "erp.dbo.SALES"
_TOPIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,248}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often something happens, per good event; the last is the share of the run after which a column is there."""

    partial: float = 0.10
    correction: float = 0.02
    late: float = 0.02
    redelivery: float = 0.02
    delete: float = 0.01
    broken: float = 0.002
    added_column_at: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0.0 <= getattr(self, field.name) <= 1.0:
                value = getattr(self, field.name)
                raise ContractError(f"--{option_of(field.name)} {value} is no share; give a number from 0 to 1")
        if self.correction + self.delete > 0.9:
            raise ContractError("--correction-rate and --delete-rate leave no room for sales; keep their sum under 0.9")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run: ``total_events`` distinct good events between ``start`` and ``end`` (exclusive), however many calls."""

    seed: int
    total_events: int
    start: datetime
    end: datetime
    rates: Rates
    topic: str = DEFAULT_TOPIC
    is_wrapped: bool = False
    has_tombstones: bool = True
    nulls: Nulls = Nulls.UNKNOWN
    """What null means in the records: with ``value`` each has the whole row, and a cancelled contract loses its
    amount and its date."""

    def __post_init__(self) -> None:
        if self.total_events < 1:
            raise ContractError(f"--total-events {self.total_events} must be at least 1")
        if self.end - self.start < timedelta(minutes=1):
            raise ContractError(f"--start {self.start} is not a minute before --end {self.end}; give an earlier one")
        if not 1990 <= self.start.year <= self.end.year <= 2200:
            raise ContractError(f"--start {self.start} to --end {self.end} is out of reach; stay between 1990 and 2200")
        if not _TOPIC.fullmatch(self.topic):
            raise ContractError(f"--topic {show(self.topic)} is no topic name; use letters, digits, '.', '_' and '-'")

    @property
    def start_ms(self) -> int:
        """Start as epoch milliseconds."""
        return epoch_ms(self.start)

    @property
    def end_ms(self) -> int:
        """End as epoch milliseconds."""
        return epoch_ms(self.end)

    def to_state(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "start": self.start.isoformat(), "end": self.end.isoformat()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`to_state` described."""
        moments = {name: datetime.fromisoformat(state[name]) for name in ("start", "end")}
        nulls = Nulls(state.get("nulls", Nulls.UNKNOWN))
        return cls(**{**state, **moments, "rates": Rates(**state["rates"]), "nulls": nulls})


def option_of(rate: str) -> str:
    """The option of the command line that sets this field of Rates."""
    return "added-column-at" if rate == "added_column_at" else f"{rate}-rate"


def epoch_ms(moment: datetime) -> int:
    """Milliseconds since 1970 in UTC, exactly."""
    return (moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
