"""A driver is paused at an operation, or killed there, while its retry works on the same table from another process.

*Lock live*: the paused driver still holds its lease, so the retry has to stay out. *Lock removed*: the lease's file was
removed, which must not help. (A lease does not expire; see docs/adr/0004.) *Killed*: the driver never comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path

from spark_jobs.storage.file_leases import lease_folder
from tests.faults.drivers import Driver, Task, open_driver
from tests.faults.homes import Home
from tests.faults.python_writes import LEASE
from tests.faults.scenarios import Scenario
from tests.faults.verdicts import Point, Tried, attempt, go_on, look, retry
from tests.support.numbered_tables import NumberedTable

PLACES = 5
"""Where in the operations of a scenario drivers are paused or killed, evenly spread."""


ChoosePlaces = Callable[[Sequence[str]], Iterable[str]]


def spread(numbers: range) -> ChoosePlaces:
    """These of the ``PLACES``; none is before a lease is taken, because who has none may be overtaken."""

    def choose(operations: Sequence[str]) -> list[str]:
        names = [name for name in operations[1:] if not name.startswith(LEASE)]
        return [names[at] for at in sorted({number % PLACES * len(names) // PLACES for number in numbers})]

    return choose


class Fate(StrEnum):
    """What happens to the first attempt."""

    LOCK_LIVE = "paused, lock live"
    LOCK_REMOVED = "paused, lock removed"
    KILLED = "killed"


def places_of(fate: Fate, places: range, turn: int | None) -> range:
    """Which of the places a fate is tried at: with a ``turn`` one of them, another one in each turn and for each fate.

    Of drivers that are killed every second: after each of them another one has to start.
    """
    if turn is not None:
        return places[(turn + [*Fate].index(fate)) % len(places) :][:1]
    return places[::2] if fate is Fate.KILLED else places


class Zombies:
    """Runs the scenarios; a driver that was killed is followed by another one, and :meth:`close` ends the last."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._driver: Driver | None = None
        self._starting: Driver | None = None

    def run(self, scenario: Scenario, home: Home, fate: Fate, operations: Sequence[str], choose: ChoosePlaces) -> Tried:
        """Try the chosen operations."""
        points = [self._try(scenario, home, fate, operation) for operation in choose(operations)]
        return Tried(kind=f"{scenario.kind}: {fate}", operations=len(operations), points=tuple(points))

    def close(self) -> None:
        """End the driver at once."""
        self._driver = self._starting = None
        self._stack.close()

    def start(self) -> None:
        """Let a driver start while others are at work; :meth:`driver` waits for it."""
        self._starting = self._stack.enter_context(open_driver(waits=False))

    def driver(self) -> Driver:
        """The driver, once it is ready."""
        if not self._driver:
            if not self._starting:
                self.start()
            self._driver, self._starting = self._starting, None
            assert self._driver is not None
            self._driver.wait_until_ready()
        return self._driver

    def _try(self, scenario: Scenario, home: Home, fate: Fate, operation: str) -> Point:
        kind, name = f"{scenario.kind}: {fate}", f"before {operation}"
        copy = f"{fate.name}-{len(list(home.folder.iterdir()))}"
        table, sign = home.copy(copy), home.folder / f"{copy}.paused"
        driver = self.driver()
        driver.begin(
            Task(
                layout=scenario.layout.name,
                base=table.settings.base_path,
                pause_at=operation,
                sign=str(sign),
                **scenario.task,
            )
        )
        if not driver.comes_to(sign):
            error = driver.outcome()
            return Point(kind=kind, operation=name, seconds=0.0, stuck=f"never reached: {error or 'it ended well'}")
        with driver.paused(sign):
            begun = time.monotonic()
            if fate is Fate.LOCK_REMOVED:
                for file in lease_folder(table.settings.base_path).glob("*.lease"):
                    file.unlink()
            if fate is Fate.KILLED:
                self.close()
                stuck = retry(lambda: scenario.act(table))
            else:
                stuck = self._stays_out(scenario, home, table)
            seconds = time.monotonic() - begun
        if fate is not Fate.KILLED:
            stuck = driver.outcome() or stuck
        point = look(kind, name, table, scenario.last, stuck=stuck, seconds=seconds)
        return point if point.wrong else go_on(point, table, scenario.last)

    def _stays_out(self, scenario: Scenario, home: Home, table: NumberedTable) -> str:
        impatient = home.table(Path(table.settings.base_path).name, wait_seconds=1)
        error = attempt(lambda: scenario.act(impatient))
        return "" if error.startswith("TableBusyError") else f"the retry did not stay out: {error or 'it ended well'}"
