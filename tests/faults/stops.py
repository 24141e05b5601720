"""The storage stops at an operation and takes no more; what was at work fails, and the platform tries again."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from tests.faults.homes import Home, copy_lake, grow_old
from tests.faults.python_writes import LEASE, SQL
from tests.faults.scenarios import Scenario, Step
from tests.faults.states import State, state_of
from tests.faults.storage import Storage
from tests.faults.verdicts import Point, Tried, attempt, go_on, look, retry
from tests.support.numbered_tables import NumberedTable

BEFORE, AFTER = "before", "after"
SIDES = (BEFORE, AFTER)
"""Of an operation: it is not carried out any more, or it is and its answer is lost."""
_OWN_AFTER = ("create ", "append ", f"{LEASE} ", f"{SQL} ")
_DIES_AT = r".*/\d{17}\.(delta|replace)?commit"
_NUMBERS = re.compile(r"\d+")
_OPENS = ("create ", "append ", f"{LEASE} ")
_EVERY_WRITES = re.compile(
    rf"{LEASE} .*|\w+ /\w+/\.hoodie/(\.heartbeat|\.temp)\b.*|(?!delete)\w+ /\w+/(?!\.hoodie).*"
    r"|(?!delete)\w+ /\w+/\.hoodie/<instant>\.((delta|replace)?commit\.)?(requested|inflight)\b.*"
)
"""Leases, files of rows and their markers, heartbeats, announcements: each write of a table has them."""
_COMPLETION = re.compile(r"(rename|close) /\w+/\.hoodie/<instant>\.((delta|replace)?commit|clean|restore) #\d+")

log = logging.getLogger(__name__)
At = tuple[str, str]
"""An operation and a side of it."""
Choose = Callable[[Sequence[str]], Iterable[At]]


def every_point(sides: Collection[str] = (), only: Collection[str] = ()) -> Choose:
    """Every state that the storage can stop in; or ``sides`` of all operations, or of ``only`` some.

    After an operation the storage is what it is before the next one. Not so after one that opens a file, which is empty
    then and has its content before it is closed; nor after a lease or a statement, whose answer its caller acts on.
    """

    def choose(operations: Sequence[str]) -> list[At]:
        points = [(name, side) for name in operations for side in sides or SIDES]
        if not sides:
            points = [(name, side) for name, side in points if side == BEFORE or _has_own_after(name, operations)]
        return [(name, side) for name, side in points if name in (only or (name,))]

    return choose


def one_alike(choose: Choose, turn: int) -> Choose:
    """Of what ``choose`` takes, of those that are alike the first or, in odd turns, the last.

    The same is done to files of one kind. What differs between them are numbers: of a bucket, of a log file's version,
    of how often it was done before.
    """

    def choose_of_each(operations: Sequence[str]) -> list[At]:
        points, alike = list(choose(operations)), dict[At, list[At]]()
        for name, side in points:
            alike.setdefault((_NUMBERS.sub("<number>", name), side), []).append((name, side))
        kept = {group[-1 if turn % 2 else 0] for group in alike.values()}
        return [at for at in points if at in kept or at[0] == operations[-1]]

    return choose_of_each


def in_turns(choose: Choose, turn: int) -> Choose:
    """Of what ``choose`` takes, and every write does, the files that are opened or, in odd turns, all other operations.

    All that writes differ in is taken in each turn, and so is the end of the scenario.
    """

    def choose_in_turn(operations: Sequence[str]) -> list[At]:
        def is_taken(name: str) -> bool:
            return name.startswith(_OPENS) == (turn % 2 == 0) or not _EVERY_WRITES.fullmatch(name)

        return [(name, side) for name, side in choose(operations) if name == operations[-1] or is_taken(name)]

    return choose_in_turn


def every_third(choose: Choose, turn: int) -> Choose:
    """Of what ``choose`` takes every third one, others in the next turn; always the end."""

    def choose_every_third(operations: Sequence[str]) -> list[At]:
        points = list(choose(operations))
        return [at for number, at in enumerate(points) if at[0] == operations[-1] or number % 3 == turn % 3]

    return choose_every_third


def _has_own_after(operation: str, operations: Sequence[str]) -> bool:
    return operation.startswith(_OWN_AFTER) or operation == operations[-1]


def completion(operations: Sequence[str]) -> str:
    """What ends a scenario: before it all is written and nothing counts, after it all counts."""
    return [name for name in operations if _COMPLETION.fullmatch(name)][-1]


def around_completion(*sides: str) -> Choose:
    """These sides of what ends the scenario."""
    return lambda operations: [(completion(operations), side) for side in sides]


class Interrupted(Protocol):
    """What is stopped once: a lake of its own, what is done there, and the look at it afterwards."""

    @property
    def kind(self) -> str:
        """Which kind of thing is done."""

    @property
    def base(self) -> Path:
        """The folder in which the storage stops."""

    def act(self) -> object:
        """Do it."""

    def look(self, operation: str, *, stuck: str, seconds: float) -> Point:
        """Look at the rows after the retry."""

    def go_on(self, point: Point) -> Point:
        """Do what comes next, and look at what is wrong then."""


@dataclass(frozen=True, slots=True)
class TableTrial:
    """A scenario on a copy of its prepared table."""

    scenario: Scenario
    table: NumberedTable

    @property
    def kind(self) -> str:
        return self.scenario.kind

    @property
    def base(self) -> Path:
        return Path(self.table.settings.base_path)

    def act(self) -> object:
        return self.scenario.act(self.table)

    def look(self, operation: str, *, stuck: str, seconds: float) -> Point:
        return look(self.kind, operation, self.table, self.scenario.last, stuck=stuck, seconds=seconds)

    def go_on(self, point: Point) -> Point:
        return go_on(point, self.table, self.scenario.last)


@dataclass
class Stops:
    """Runs scenarios in one session."""

    storage: Storage
    _made: dict[tuple[str, Step], Path] = field(default_factory=dict)

    def run(self, scenario: Scenario, home: Home, choose: Choose) -> Tried:
        """Try the chosen operations of the scenario."""
        self.prepare(scenario, home)
        return self.try_all(scenario.kind, lambda name: TableTrial(scenario, home.copy(name)), choose)

    def prepare(self, scenario: Scenario, home: Home) -> None:
        """Make the table that the scenario begins with, or copy the one that another scenario began with."""
        prepared, key = home.table("prepared"), (scenario.layout.name, scenario.prepare)
        if key not in self._made:
            self._made[key] = home.folder / "made"
            scenario.prepare(home.table("made"))
        copy_lake(self._made[key], home.folder / "prepared")
        if scenario.then:
            scenario.then(prepared)
        if scenario.dies_in:
            self._die(scenario.dies_in, prepared)

    def try_all(self, kind: str, copy: Callable[[str], Interrupted], choose: Choose) -> Tried:
        """Record the operations of one run, and stop a copy at each that is chosen.

        What comes next is done once for each state that the retries leave: in the same one its result is the same.
        """
        operations = self.operations(copy("recorded"))
        log.info("%s: %d operations", kind, len(operations))
        known: dict[State, Point] = {}
        points = [self._try(copy(f"{number}-{at[1]}"), *at, known) for number, at in enumerate(choose(operations))]
        log.info("%s: %d states", kind, len(known))
        return Tried(kind=kind, operations=len(operations), points=tuple(points))

    def operations(self, trial: Interrupted) -> list[str]:
        """The operations on the storage in a run to the end."""
        with self.storage.recording(trial.base):
            trial.act()
        return self.storage.operations

    def _die(self, act: Step, table: NumberedTable) -> None:
        """Let a write die at the last moment: all its files are there, and its commit is not."""
        with self.storage.stopping_before(Path(table.settings.base_path), _DIES_AT):
            assert attempt(lambda: act(table)), "it was to die"
        assert table.timeline.unfinished, self.storage.operations

    def _try(self, trial: Interrupted, operation: str, side: str, known: dict[State, Point]) -> Point:
        begun = time.monotonic()
        with self.storage.stopping(trial.base, operation, is_done=side == AFTER):
            error = attempt(trial.act)
        name = f"{operation} ({side})"
        if not self.storage.is_reached:
            came = "; ".join(self.storage.operations)
            log.warning("%s: %s was never reached (%s), but: %s", trial.kind, name, error or "it ended well", came)
            return Point(kind=trial.kind, operation=name, seconds=0.0, stuck=f"never reached: {error or came}")
        stopped = time.monotonic()
        grow_old(trial.base)
        stuck = retry(trial.act)
        seconds = time.monotonic() - stopped
        point = trial.look(name, stuck=stuck, seconds=seconds)
        point = point if point.wrong else as_in_state(trial, point, known)
        times = (stopped - begun, seconds, time.monotonic() - stopped - seconds)
        log.info("%s: %s: stopped, retried, judged in %.1f, %.1f, %.1f s", trial.kind, name, *times)
        return point


def as_in_state(trial: Interrupted, point: Point, known: dict[State, Point]) -> Point:
    """The point with what is wrong after the next step from the state that the retry left."""
    state = state_of(trial.base)
    if state not in known:
        known[state] = trial.go_on(point)
    found = known[state]
    if not found.wrong:
        # A heartbeat of the write that was stopped may be written there at this very moment.
        shutil.rmtree(trial.base, ignore_errors=True)
    return replace(point, stuck=found.stuck, rows=found.rows, left_over=found.left_over)
