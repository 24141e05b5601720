"""A sale while the company still works on it, or may still correct it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spark_jobs.generator.events import Row
from spark_jobs.generator.funnel import LEAD, RESERVATION, SIGNED, STATUS_NAMES
from spark_jobs.generator.world import Entity, Unit, World


@dataclass(slots=True)
class Sale:
    """State of one sale; ``image`` is its row at the source as last written, None when it is not there.

    ``subtotal`` is in ten-thousandths of the currency, ``signed_ms`` epoch milliseconds of the company's wall clock.
    ``due_ms`` is when it goes on to ``next_status``.
    """

    id: int
    agent: Entity
    unit: Unit
    customer: Entity | None = None
    status: int = LEAD
    subtotal: int | None = None
    signed_ms: int | None = None
    image: str | None = None
    next_status: int = LEAD
    due_ms: int = 0

    def row(self, world: World) -> Row:
        """The row as everybody is called today."""
        unit, customer = self.unit, self.customer
        building = world.buildings[unit.building_id - 1]
        project = world.projects[unit.project_id - 1]
        subtotal = None if self.subtotal is None else f"{self.subtotal // 10_000}.{self.subtotal % 10_000:04d}"
        return (
            self.id, self.agent.id, self.agent.name, unit.id, unit.name, building.id, building.name, project.id,
            project.name, self.status, STATUS_NAMES[self.status], subtotal, self.signed_ms,
            customer.id if customer else None, customer.name if customer else None,
        )  # fmt: skip

    @property
    def has_unit(self) -> bool:
        """True while the unit is taken by this very sale: reserved, drafted or signed, and not deleted."""
        return self.image is not None and RESERVATION <= self.status <= SIGNED

    def to_state(self) -> list[Any]:
        """A plain list for JSON: agent and unit by id, the customer whole, for the world forgets customers."""
        customer = [self.customer.id, self.customer.name] if self.customer else None
        return [
            self.id, self.agent.id, self.unit.id, customer, self.status, self.subtotal, self.signed_ms, self.image,
            self.next_status, self.due_ms,
        ]  # fmt: skip

    @classmethod
    def from_state(cls, state: list[Any], world: World, customers: dict[int, Entity]) -> Sale:
        """The sale :meth:`to_state` described; sales of one customer share the object, found in ``customers``."""
        sale_id, agent_id, unit_id, customer, *rest = state
        who = customers.setdefault(customer[0], Entity(*customer)) if customer else None
        return cls(sale_id, world.agents[agent_id - 1], world.units[unit_id - 1], who, *rest)
