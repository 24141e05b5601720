"""The company's world: projects, buildings, units, agents and customers. It grows, people come, names change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from random import Random
from typing import Any, TypeVar

from spark_jobs.generator.names import (
    BUILDING_KINDS,
    COMPANY_ENDINGS,
    FIRST_NAMES,
    LAST_NAMES,
    PROJECT_FIRST,
    PROJECT_LAST,
)

Item = TypeVar("Item")
FLOORS, UNITS_A_FLOOR = 10, 5
_KNOWN_CUSTOMERS = 500
_TRIES = 12


def choose(rng: Random, items: Sequence[Item]) -> Item:
    """One of the items; quicker than ``rng.choice``, which is felt at a million events."""
    return items[int(rng.random() * len(items))]


@dataclass(slots=True)
class Entity:
    """Anything with an id and a name: a project, an agent, a customer."""

    id: int
    name: str


@dataclass(slots=True)
class Building(Entity):
    """A building, which belongs to one project."""

    project_id: int


@dataclass(slots=True)
class Unit(Entity):
    """A unit of a building; ``price`` is in ten-thousandths of the currency, ``is_taken`` from reservation on."""

    building_id: int
    project_id: int
    price: int
    is_taken: bool = False


class World:
    """Everything a sale can name. Ids count from 1, so the thing with id n is at position n - 1 of its list."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.projects: list[Entity] = []
        self.buildings: list[Building] = []
        self.units: list[Unit] = []
        self.agents: list[Entity] = []
        self.known_customers: list[Entity] = []
        self.customer_count = 0

    def populate(self, *, events: int) -> None:
        """Fill the world to a size that suits a life of so many events."""
        for _ in range(min(40, 3 + events // 12_000)):
            self.start_project()
        for _ in range(min(400, 2 + events // 1_500)):
            self.launch_building()
        for _ in range(min(300, 8 + events // 1_500)):
            self.hire_agent()

    def start_project(self) -> None:
        """A new project without buildings."""
        number = len(self.projects) + 1
        self.projects.append(Entity(number, self._project_name(number)))

    def launch_building(self) -> None:
        """A new building, with its units, in a project that is under way; the first ones give every project one."""
        number = len(self.buildings) + 1
        project = self.projects[number - 1] if number <= len(self.projects) else choose(self.rng, self.projects)
        self.buildings.append(Building(number, f"{choose(self.rng, BUILDING_KINDS)} {number}", project.id))
        level = 18_000_000 + int(self.rng.random() * 30_000_000)
        for floor in range(1, FLOORS + 1):
            for door in range(1, UNITS_A_FLOOR + 1):
                name, price = f"{number}-{floor:02d}{door:02d}", int(level * (45 + self.rng.random() * 140))
                self.units.append(Unit(len(self.units) + 1, name, number, project.id, price + price * floor // 50))

    def hire_agent(self) -> None:
        """A new agent."""
        self.agents.append(Entity(len(self.agents) + 1, self._person()))

    def free_unit(self) -> Unit:
        """A unit that is not taken; a new building is launched when few are left."""
        for _ in range(_TRIES):
            unit = choose(self.rng, self.units)
            if not unit.is_taken:
                return unit
        self.launch_building()
        return self.units[-1]

    def meet_customer(self) -> Entity:
        """The customer of a sale: mostly a new one, at times one of those met lately."""
        if self.known_customers and self.rng.random() < 0.15:
            return choose(self.rng, self.known_customers)
        self.customer_count += 1
        is_company = self.rng.random() < 0.1
        name = f"{choose(self.rng, LAST_NAMES)} {choose(self.rng, COMPANY_ENDINGS)}" if is_company else self._person()
        customer = Entity(self.customer_count, name)
        if len(self.known_customers) < _KNOWN_CUSTOMERS:
            self.known_customers.append(customer)
        else:
            self.known_customers[int(self.rng.random() * _KNOWN_CUSTOMERS)] = customer
        return customer

    def change(self) -> None:
        """What time does: people marry, buildings and projects are marketed again, agents come."""
        what = self.rng.random()
        if what < 0.1:
            self.hire_agent()
        elif what < 0.45:
            agent = choose(self.rng, self.agents)
            agent.name = f"{agent.name.split(' ')[0]} {choose(self.rng, LAST_NAMES)}"
        elif what < 0.8:
            unit = choose(self.rng, self.units)
            unit.name = f"{unit.building_id}-{choose(self.rng, ('PH', 'Loft', 'Studio', 'Dúplex'))}-{unit.id}"
        elif what < 0.95:
            building = choose(self.rng, self.buildings)
            building.name = f"{choose(self.rng, BUILDING_KINDS)} {building.id} {choose(self.rng, PROJECT_FIRST)}"
        else:
            project = choose(self.rng, self.projects)
            project.name = self._project_name(project.id)

    def to_state(self) -> dict[str, Any]:
        """Plain lists for JSON; the random numbers are kept by the life that owns them."""
        lists = ("projects", "buildings", "units", "agents", "known_customers")
        state: dict[str, Any] = {name: [astuple(item) for item in getattr(self, name)] for name in lists}
        return {**state, "customer_count": self.customer_count}

    @classmethod
    def from_state(cls, state: dict[str, Any], rng: Random) -> World:
        """The world that :meth:`to_state` described."""
        world = cls(rng)
        world.projects = [Entity(*fields) for fields in state["projects"]]
        world.buildings = [Building(*fields) for fields in state["buildings"]]
        world.units = [Unit(*fields) for fields in state["units"]]
        world.agents = [Entity(*fields) for fields in state["agents"]]
        world.known_customers = [Entity(*fields) for fields in state["known_customers"]]
        world.customer_count = state["customer_count"]
        return world

    def _project_name(self, number: int) -> str:
        return f"{choose(self.rng, PROJECT_FIRST)} {choose(self.rng, PROJECT_LAST)} {number}"

    def _person(self) -> str:
        return f"{choose(self.rng, FIRST_NAMES)} {choose(self.rng, LAST_NAMES)}"
