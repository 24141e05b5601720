"""Two crashes: the storage stops in a scenario, and stops again in the run that recovers from it; then a third run.

Which operations it stops at is chosen by a seed, evenly over all that are done. The recovery is recorded after the
first crash, since what it does depends on what that left; for each second crash this is put back where it was, because
plans of rollbacks have whole paths in them.
"""

from __future__ import annotations

import logging
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from spark_jobs.contracts.errors import TransientError
from tests.faults.homes import copy_lake, grow_old
from tests.faults.lake_scenarios import LAKE_SCENARIOS
from tests.faults.scenarios import SCENARIOS
from tests.faults.states import State
from tests.faults.stops import AFTER, At, Choose, Interrupted, Stops, as_in_state
from tests.faults.verdicts import TRIES, Point, Tried, attempt, retry

TABLE_KINDS = tuple(scenario.kind for scenario in SCENARIOS)
LAKE_KINDS = tuple(scenario.kind for scenario in LAKE_SCENARIOS)
KINDS = (*LAKE_KINDS, *TABLE_KINDS)
FIRSTS, SECONDS = 5, 2
"""How many first crashes of each kind, and how many second ones for each of them; a recovery may have fewer points."""
SAMPLED = (1, 1)
"""The same two numbers for each kind in a slice."""
LEAST = 200
"""Pairs in the whole campaign, at least."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Tries pairs with the storage of ``stops``."""

    stops: Stops
    folder: Path

    def try_all(
        self, kind: str, copy: Callable[[str], Interrupted], firsts: int, seconds: int, choose: Choose
    ) -> Tried:
        """``firsts`` times ``seconds`` pairs; ``choose`` gives the points of a run at which it may stop."""
        operations = self.stops.operations(copy("recorded"))
        chosen = spread(list(choose(operations)), firsts, f"{kind}/first")
        known: dict[State, Point] = {}
        points = [
            point
            for number, at in enumerate(chosen)
            for point in self._try(copy(f"{number}"), number, at, seconds, choose, known)
        ]
        log.info("%s: %d pairs, %d states", kind, len(points), len(known))
        return Tried(kind=f"{kind}: twice", operations=len(operations), points=tuple(points))

    def _try(
        self, trial: Interrupted, number: int, first: At, seconds: int, choose: Choose, known: dict[State, Point]
    ) -> Iterator[Point]:
        kind = f"{trial.kind}: twice"
        if error := self._stop(trial, first):
            yield Point(kind=kind, operation=_name(first), seconds=0.0, stuck=error)
            return
        left = self.folder / f"{number}-left"
        copy_lake(trial.base, left)
        with self.stops.storage.recording(trial.base):
            stuck = retry(trial.act)
        if stuck:
            yield Point(kind=kind, operation=_name(first), seconds=0.0, stuck=stuck)
            return
        points = list(choose(self.stops.storage.operations))
        for second in spread(points, seconds, f"{kind}/{_name(first)}"):
            name = f"{_name(first)}, then {_name(second)}"
            shutil.rmtree(trial.base, ignore_errors=True)  # it is gone when the pair before left a state that is known
            copy_lake(left, trial.base)
            if error := self._stop(trial, second):
                yield Point(kind=kind, operation=name, seconds=0.0, stuck=error)
                continue
            begun = time.monotonic()
            stuck = retry(trial.act)
            point = trial.look(name, stuck=stuck, seconds=time.monotonic() - begun)
            yield point if point.wrong else as_in_state(trial, point, known)

    def _stop(self, trial: Interrupted, at: At) -> str:
        """Stop it there, and let what is left grow old; what is wrong when it never comes there, or "".

        A run that is to be tried again before it comes there, because the heartbeat of the one that was stopped goes on
        in this process, is tried again, as a scheduler does.
        """
        operation, side = at
        for _ in range(TRIES):
            with self.stops.storage.stopping(trial.base, operation, is_done=side == AFTER):
                error = attempt(trial.act)
            if self.stops.storage.is_reached or not error.startswith(TransientError.__name__):
                break
        if not self.stops.storage.is_reached:
            came = "; ".join(self.stops.storage.operations)
            return f"{_name(at)} was never reached: {error or came}"
        grow_old(trial.base)
        return ""


def spread(points: Sequence[At], count: int, seed: str) -> list[At]:
    """``count`` of the points in their order: one of each of as many equal parts, by chance."""
    rng, parts = random.Random(seed), min(count, len(points))
    edges = [at * len(points) // parts for at in range(parts + 1)] if parts else []
    return [points[rng.randrange(low, high)] for low, high in pairwise(edges)]


def _name(at: At) -> str:
    return f"{at[0]} ({at[1]})"
