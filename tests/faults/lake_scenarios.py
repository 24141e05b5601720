"""Jobs that write more than tables: files of consumers, the row index, change feeds, savepoints, holds, a database.

What a job does inside a table is stopped in scenarios of their own (scenarios.py); here the storage stops at everything
else, whether Spark or Python writes it. Afterwards the job is run again and its result is looked at; from each state
that such retries leave, the next batch goes through all of the lake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from tests.faults.small_lakes import FIRST, SECOND, THIRD, UNKNOWN, LakeStep, SmallLake, Units, make_small_lake
from tests.faults.stops import Choose, Stops
from tests.faults.verdicts import LOST, Point, Tried, attempt, judge_lake, retry

_IN_A_TABLE = re.compile(r"[a-z ]+ /lake/\w+/.*")
_ENDINGS = ("rename /lake/.", "sql COMMIT", "delete /lake/unit_totals")


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeScenario:
    """``act`` is stopped in a lake that has ``units``; ``assert_right`` is of the state that it leads to.

    ``then`` are the units of the sales when the third batch came as well; with ``is_held`` a batch waits for a person.
    """

    kind: str
    prepare: Sequence[LakeStep]
    act: LakeStep
    assert_right: LakeStep
    then: Units
    is_held: bool = False


def _took(batch: Units) -> LakeStep:
    return lambda lake: lake.take_in(batch)


def _is(units: Units) -> LakeStep:
    return lambda lake: lake.assert_table_is(units)


def _assert_restored(lake: SmallLake) -> None:
    lake.assert_table_is(FIRST)
    assert not Path(lake.path("unit_totals")).exists()
    lake.assert_consumers_are_back()


def _assert_held(lake: SmallLake) -> None:
    lake.assert_table_is(FIRST)
    lake.assert_held(["sales"])


def _assert_accepted(lake: SmallLake) -> None:
    lake.assert_table_is({**FIRST, **UNKNOWN})
    lake.assert_held([])


_take_first, _take_second, _take_unknown = map(_took, (FIRST, SECOND, UNKNOWN))
_START: tuple[LakeStep, ...] = (_take_first, SmallLake.split)
_MADE: tuple[LakeStep, ...] = (*_START, SmallLake.refresh)
_ALL: Units = {**FIRST, **SECOND, **THIRD}
_WITH_UNKNOWN: Units = {**FIRST, **UNKNOWN, **THIRD}
LAKE_SCENARIOS = (
    LakeScenario(
        kind="split, its index and consumer",
        prepare=(*_MADE, _take_second),
        act=SmallLake.split,
        assert_right=_is({**FIRST, **SECOND}),
        then=_ALL,
    ),
    LakeScenario(
        kind="mart and its consumer",
        prepare=(*_MADE, _take_second, SmallLake.split),
        act=SmallLake.refresh,
        assert_right=lambda lake: lake.assert_mart_is({**FIRST, **SECOND}),
        then=_ALL,
    ),
    LakeScenario(
        kind="serve",
        prepare=_MADE,
        act=SmallLake.serve,
        assert_right=lambda lake: lake.assert_served_is(FIRST),
        then={**FIRST, **THIRD},
    ),
    LakeScenario(
        kind="serve once more",
        prepare=(*_MADE, SmallLake.serve, _take_second, SmallLake.split, SmallLake.refresh),
        act=SmallLake.serve,
        assert_right=lambda lake: lake.assert_served_is({**FIRST, **SECOND}),
        then=_ALL,
    ),
    LakeScenario(
        kind="savepoint and its record",
        prepare=_MADE,
        act=SmallLake.keep,
        assert_right=SmallLake.assert_kept,
        then={**FIRST, **THIRD},
    ),
    LakeScenario(
        kind="restore, its record and consumers",
        prepare=(*_START, SmallLake.keep, SmallLake.refresh, _take_second, SmallLake.split),
        act=SmallLake.restore,
        assert_right=_assert_restored,
        then=_ALL,
    ),
    LakeScenario(
        kind="batch held back",
        prepare=(*_MADE, _take_unknown),
        act=SmallLake.split,
        assert_right=_assert_held,
        then=_WITH_UNKNOWN,
        is_held=True,
    ),
    LakeScenario(
        kind="batch accepted",
        prepare=(*_MADE, _take_unknown, SmallLake.split),
        act=SmallLake.accept,
        assert_right=_assert_accepted,
        then=_WITH_UNKNOWN,
    ),
)


def outside_tables(choose: Choose) -> Choose:
    """What ``choose`` takes of the operations that no table has."""
    return lambda operations: choose([name for name in operations if not _IN_A_TABLE.fullmatch(name)])


def around_last_file(*sides: str) -> Choose:
    """These sides of the last file, statement or removal that counts."""
    return lambda operations: [([name for name in operations if name.startswith(_ENDINGS)][-1], side) for side in sides]


@dataclass(frozen=True, slots=True)
class LakeTrial:
    """A scenario on a copy of its lake."""

    scenario: LakeScenario
    lake: SmallLake

    @property
    def kind(self) -> str:
        return self.scenario.kind

    @property
    def base(self) -> Path:
        return self.lake.folder

    def act(self) -> object:
        return self.scenario.act(self.lake)

    def look(self, operation: str, *, stuck: str, seconds: float) -> Point:
        wrong = "" if stuck else attempt(lambda: self.scenario.assert_right(self.lake))
        rows = f"{LOST} or changed: {wrong}" if wrong else ""
        return Point(kind=self.kind, operation=operation, seconds=round(seconds, 1), stuck=stuck, rows=rows)

    def go_on(self, point: Point) -> Point:
        stuck = retry(lambda: self.lake.go_on(is_held=self.scenario.is_held))

        def assert_right() -> None:
            self.lake.assert_table_is(self.scenario.then)
            self.lake.assert_mart_is(self.scenario.then)
            self.lake.assert_served_is(self.scenario.then)
            self.lake.assert_held([])

        found = judge_lake(self.kind, point.operation, self.lake, assert_right, stuck=stuck, seconds=point.seconds)
        return found if found.wrong else replace(found, left_over=", ".join(self.lake.left_over()))


class LakeStops:
    """Runs the scenarios; steps that several begin with are done once."""

    def __init__(self, stops: Stops, spark: SparkSession, folder: Path) -> None:
        self._stops, self._spark, self._folder = stops, spark, folder
        self._made: dict[tuple[LakeStep, ...], SmallLake] = {}

    def run(self, scenario: LakeScenario, choose: Choose) -> Tried:
        """Try the chosen operations outside tables."""
        return self._stops.try_all(scenario.kind, self.copies(scenario), outside_tables(choose))

    def copies(self, scenario: LakeScenario, part: str = "") -> Callable[[str], LakeTrial]:
        """Makes copies of the prepared lake of a scenario, by their names."""
        prepared = self._prepare(tuple(scenario.prepare))
        place = self._folder / f"{part}{LAKE_SCENARIOS.index(scenario)}"
        return lambda name: LakeTrial(scenario, prepared.copy(place / name))

    def _prepare(self, steps: tuple[LakeStep, ...]) -> SmallLake:
        if steps not in self._made:
            before = self._prepare(steps[:-1]) if steps else None
            folder = self._folder / f"made-{len(self._made)}"
            lake = before.copy(folder) if before else make_small_lake(self._spark, folder)
            for step in steps[-1:]:
                step(lake)
            self._made[steps] = lake
        return self._made[steps]
