"""The storage stops at an operation and takes no more; what was at work fails, and the platform tries again."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from tests.faults.homes import Home
from tests.faults.scenarios import Scenario, Step
from tests.faults.storage import Storage
from tests.faults.verdicts import Point, Tried, attempt, judge, retry
from tests.support.numbered_tables import NumberedTable

_COMPLETION = r".*/\d{17}\.(delta|replace)?commit"

log = logging.getLogger(__name__)


class Stops:
    """Runs scenarios in one session."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def run(self, scenario: Scenario, home: Home, *, every: int, offset: int) -> Tried:
        """Try every ``every``-th operation of the scenario; with every one of them both sides of it.

        A session's first time does more than later ones: operations that are not reached again are no points.
        """
        prepared = home.table("prepared")
        scenario.prepare(prepared)
        if scenario.dies_in:
            self._die(scenario.dies_in, home)
        count = len(self.operations(scenario.act, home.copy("counted")))
        points = []
        for at in range(1, count + 1):
            if (at + offset) % every == 0:
                sides = (False, True) if every == 1 else (at // every % 2 == 0,)
                tried = [self._try(scenario, home, at, is_done=is_done) for is_done in sides]
                points += [point for point in tried if point]
        return Tried(kind=scenario.kind, operations=count, points=tuple(points))

    def operations(self, act: Step, table: NumberedTable) -> list[str]:
        """What the storage is asked for while ``act`` runs to its end."""
        with self._storage.counting(Path(table.settings.base_path)):
            act(table)
        return self._storage.operations

    def _die(self, act: Step, home: Home) -> None:
        """Let a write die at the last moment: all its files are there, and its commit is not."""
        table = home.table("prepared")
        with self._storage.stopping_before(Path(table.settings.base_path), _COMPLETION):
            assert attempt(lambda: act(table)), "it was to die"
        assert table.timeline.unfinished, self._storage.operations

    def _try(self, scenario: Scenario, home: Home, at: int, *, is_done: bool) -> Point | None:
        side = "after" if is_done else "before"
        table = home.copy(f"{at}-{side}")
        with self._storage.stopping(Path(table.settings.base_path), at, is_done=is_done):
            attempt(lambda: scenario.act(table))
        operations = self._storage.operations
        if len(operations) < at:
            return None
        begun = time.monotonic()
        stuck = retry(lambda: scenario.act(table))
        seconds = time.monotonic() - begun
        log.info("%s: %s: recovered in %.1f s", scenario.kind, operations[at - 1], seconds)
        operation = f"{operations[at - 1]} ({side})"
        return judge(scenario.kind, operation, table, scenario.last, stuck=stuck, seconds=seconds)
