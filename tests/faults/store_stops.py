"""The object store stops at a request that changes something, and takes no more; then the platform tries again.

The scenarios are those of the file system (scenarios.py), but for restores: Hudi's restore of a table of version 6
believes the times of files, which a copy of objects does not keep. Restores are part of store_weather.py.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from tests.faults.scenarios import SCENARIOS, Scenario, Step
from tests.faults.stops import AFTER, BEFORE, At
from tests.faults.stores import STOPPED, Store, wait_until_old
from tests.faults.verdicts import Point, Tried, attempt, go_on, look, retry
from tests.support.numbered_tables import NumberedTable

KINDS = tuple(
    scenario.kind
    for scenario in SCENARIOS
    if not scenario.kind.startswith(("restore", "rescale", "rollback, copy-on-write", "create, append-only"))
)
"""What differs by the storage; what Hudi does in the same way is not tried twice."""
PLACES, SAMPLED_PLACES = 12, 2
_COMPLETION = re.compile(r"(PUT|POST|COPY) /\w+/\.hoodie/<instant>\.((delta|replace)?commit|clean) #\d+")
_DIES_AT = re.compile(r"(PUT|POST|COPY) /\w+/\.hoodie/<instant>\.(delta|replace)?commit #\d+")

log = logging.getLogger(__name__)
ChooseAt = Callable[[Sequence[str]], Iterable[At]]


def around_completion_and_elsewhere(places: int) -> ChooseAt:
    """So many: right before and right after what ends the scenario, the others evenly spread, on sides in turn."""

    def choose(operations: Sequence[str]) -> list[At]:
        end = completion(operations)
        others = [name for name in operations if name != end]
        count = min(places - 2, len(others))
        spread = [others[at * len(others) // count] for at in range(count)] if count > 0 else []
        return [(end, BEFORE), (end, AFTER), *((name, (BEFORE, AFTER)[at % 2]) for at, name in enumerate(spread))]

    return choose


def completion(operations: Sequence[str]) -> str:
    """What ends a scenario: before it all is written and nothing counts, after it all counts."""
    return [name for name in operations if _COMPLETION.fullmatch(name)][-1]


@dataclass
class StoreStops:
    """Runs scenarios on one store, in one session; ``wait_for_tasks`` returns when no task of it writes."""

    store: Store
    spark: SparkSession
    folder: str
    """A name of this run in the bucket."""
    wait_for_tasks: Callable[[], None]
    _made: dict[tuple[str, Step], str] = field(default_factory=dict)

    def run(self, scenario: Scenario, choose: ChooseAt) -> Tried:
        """Try the chosen requests of a scenario."""
        self.store.start()
        place = f"{self.folder}/{SCENARIOS.index(scenario)}"
        self._prepare(scenario, place)
        operations = self._operations(scenario.act, self._copy(scenario, place, "recorded"))
        log.info("%s on a store: %d changes", scenario.kind, len(operations))
        points = [
            self._try(scenario, self._copy(scenario, place, f"{number}-{at[1]}"), *at)
            for number, at in enumerate(choose(operations))
        ]
        return Tried(kind=f"{scenario.kind}: on a store", operations=len(operations), points=tuple(points))

    def _table(self, scenario: Scenario, place: str) -> NumberedTable:
        settings = Settings(base_path=f"s3a://{STOPPED}/{place}", lease_wait_seconds=60)
        return NumberedTable(self.spark, scenario.layout, settings)

    def _copy(self, scenario: Scenario, place: str, name: str) -> NumberedTable:
        table = self._table(scenario, f"{place}/{name}")
        self.store.copy(f"s3a://{STOPPED}/{place}/prepared", table.settings.base_path)
        return table

    def _prepare(self, scenario: Scenario, place: str) -> None:
        """Make the table that the scenario begins with, or copy the one that another scenario began with."""
        key = (scenario.layout.name, scenario.prepare)
        if key not in self._made:
            made = self._table(scenario, f"{place}/made")
            scenario.prepare(made)
            self._made[key] = made.settings.base_path
        prepared = self._table(scenario, f"{place}/prepared")
        self.store.copy(self._made[key], prepared.settings.base_path)
        if scenario.dies_in:
            again = self._copy(scenario, place, "dies")
            last = [name for name in self._operations(scenario.dies_in, again) if _DIES_AT.fullmatch(name)][-1]
            assert self._stop(scenario.dies_in, prepared, last, is_done=False), "it was to die"

    def _operations(self, step: Step, table: NumberedTable) -> list[str]:
        with self.store.recording(table.settings.base_path):
            step(table)
        return self.store.switch.operations

    def _stop(self, step: Step, table: NumberedTable, operation: str, *, is_done: bool) -> str:
        """The error that it ended with."""
        with self.store.stopping(table.settings.base_path, operation, is_done=is_done):
            error = attempt(lambda: step(table))
            self.wait_for_tasks()
        return error

    def _try(self, scenario: Scenario, table: NumberedTable, operation: str, side: str) -> Point:
        kind, name = f"{scenario.kind}: on a store", f"{operation} ({side})"
        error = self._stop(scenario.act, table, operation, is_done=side == AFTER)
        if not self.store.switch.is_reached:
            came = "; ".join(self.store.switch.operations)
            return Point(kind=kind, operation=name, seconds=0.0, stuck=f"never reached: {error or came}")
        begun = time.monotonic()
        stuck = retry(lambda: scenario.act(table))
        seconds = time.monotonic() - begun
        point = look(kind, name, table, scenario.last, stuck=stuck, seconds=seconds)
        log.info("%s: %s: retried in %.1f s: %s", kind, name, seconds, point.wrong or "right")
        return point if point.wrong else go_on(point, table, scenario.last, wait=wait_until_old)
