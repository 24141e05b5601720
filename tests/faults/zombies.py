"""A driver is paused at an operation, or killed there, while its retry works on the same table from another process.

*Lock live*: the paused driver still holds its lease, so the retry has to stay out. *Lock removed*: somebody removed the
lease's file, which must not help. (A lease does not expire; see docs/adr/0004.) *Killed*: the driver never comes back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path

from spark_jobs.storage.file_leases import lease_folder
from tests.faults.drivers import Driver, Task, open_driver
from tests.faults.homes import Home
from tests.faults.scenarios import Scenario
from tests.faults.verdicts import Point, Tried, attempt, judge, retry
from tests.support.numbered_tables import NumberedTable

PLACES = 10
"""Where in the operations of a scenario drivers are paused or killed, evenly spread."""


class Fate(StrEnum):
    """What happens to the first attempt."""

    LOCK_LIVE = "paused, lock live"
    LOCK_REMOVED = "paused, lock removed"
    KILLED = "killed"


class Zombies:
    """Runs the scenarios; a driver that was killed is followed by another one, and :meth:`close` ends the last."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._driver: Driver | None = None

    def run(
        self, scenario: Scenario, home: Home, fate: Fate, *, operations: Sequence[str], count: int, offset: int
    ) -> Tried:
        """Try ``count`` of the ``PLACES``, from the one numbered ``offset`` on."""
        kind = f"{scenario.kind}: {fate}"
        names = [name.split(" ", 1)[1] for name in operations]
        places = {(offset + number) % PLACES for number in range(count)}
        chosen = sorted({place * len(names) // PLACES for place in places})
        points = [self._try(scenario, home, fate, names, place) for place in chosen]
        return Tried(kind=kind, operations=len(names), points=tuple(points))

    def close(self) -> None:
        """End the driver at once."""
        self._driver = None
        self._stack.close()

    def _try(self, scenario: Scenario, home: Home, fate: Fate, names: Sequence[str], place: int) -> Point:
        kind = f"{scenario.kind}: {fate}"
        for at in range(place, -1, -1):
            table = home.copy(f"{fate.name}-{place}-{at}")
            base, sign = Path(table.settings.base_path), home.folder / f"{fate.name}-{place}-{at}.paused"
            driver = self._running()
            driver.begin(
                Task(layout=scenario.layout.name, base=str(base), pause_at=at + 1, sign=str(sign), **scenario.task)
            )
            if driver.comes_to(sign):
                break
            # Heartbeats are operations too: the run in which they were counted was slower and had more of them.
            assert driver.outcome() == "", f"{kind}: the driver failed by itself"
        else:
            raise AssertionError(f"{kind}: the driver came to none of the operations up to {names[place]}")
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
        return judge(kind, f"before {names[at]}", table, scenario.last, stuck=stuck, seconds=seconds)

    def _stays_out(self, scenario: Scenario, home: Home, table: NumberedTable) -> str:
        impatient = home.table(Path(table.settings.base_path).name, wait_seconds=1)
        error = attempt(lambda: scenario.act(impatient))
        return "" if error.startswith("TableBusyError") else f"the retry did not stay out: {error or 'it ended well'}"

    def _running(self) -> Driver:
        self._driver = self._driver or self._stack.enter_context(open_driver())
        return self._driver
