"""What a table service is: a need that a table may have of it, and the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.storage.services.retention import Retention
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What decides whether a service is due: a table as it is, and what of its past has to stay."""

    state: TableState
    retention: Retention
    targets: ServiceTargets
    clock: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one service would find in a table.

    ``keep_commits`` is how many of the newest writes it has to leave, ``buckets`` in how many it writes the table.
    """

    table: str
    service: Service
    is_due: bool
    why: str
    keep_commits: int = 0
    buckets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a service did; ``did`` is a sentence, and ``is_done`` False when the table did not need it."""

    did: str
    is_done: bool = True


class Kind(ABC):
    """A table service."""

    service: ClassVar[Service]

    @abstractmethod
    def need(self, facts: Facts) -> Need | None:
        """What the service would find in the table; None for a table that it is not for."""


class HeldKind(Kind):
    """A service that works while no writer does, under the table's own lease."""

    @abstractmethod
    def work(self, table: ServedTable, need: Need) -> Done:
        """Do what the table needs."""


class PlannedKind(Kind):
    """A service that plans under the table's lease, and merges files while writers go on."""

    action: ClassVar[str]
    """What the timeline calls its plans."""
    procedure: ClassVar[str]
    """Hudi's procedure, which plans and carries plans out."""
    operation: ClassVar[str]
    """What the procedure calls carrying a plan out."""

    @abstractmethod
    def plan(self, table: ServedTable, state: TableState, *, is_forced: bool) -> None:
        """Write a plan, if there is anything to plan."""

    def waiting(self, state: TableState) -> str:
        """Says that a plan of this service waits to be carried out, or ""."""
        waiting = [time for time, action in state.timeline.pending_plans.items() if action == self.action]
        return f"planned at {waiting[0]} and not finished" if waiting else ""
