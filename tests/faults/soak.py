"""A lake at work for hours: ``make soak``; commits, kills, services, and three readers beside them all the time.

In each turn a file arrives and a driver process runs ingest, split and the mart; in many it is killed on the way, with
its whole group, and the same jobs are run again. Then the services run. Meanwhile Spark, the Rust reader and Trino look
by turns, and each look has to be a whole state, no older than the one before. After each turn all three have the same
rows, those that must be there; files, timelines, memory, threads and descriptors are measured, and may not grow.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

from tests.faults.campaign import Session, opening_session, report
from tests.faults.drivers import Driver, Task, open_driver
from tests.faults.small_lakes import Units
from tests.faults.soak_bounds import Sample, grown, take_sample
from tests.faults.soak_lake import JOBS, SoakLake, batch_of, make_soak_lake
from tests.faults.soak_readers import Readers, States
from tests.faults.verdicts import LOST, Point, Tried, attempt, retry
from tests.support.metastore import running_metastore
from tests.support.trino import running_trino

KIND = "soak"
TURNS, KILLS, MINUTES, KEEP_MINUTES = 70, 50, 120.0, 10.0
"""Seventy turns are more than two hundred commits: three each, and those of services."""
_LONGEST = 12.0
"""A driver is killed within so many seconds; a turn takes it about as long."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print the table, and give 1 when anything in it is wrong."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.faults.soak", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help=f"(default: {TURNS})")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"in so many of them (default: {KILLS})")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"it lasts at least (default: {MINUTES:.0f})")
    parser.add_argument("--keep-minutes", type=float, default=KEEP_MINUTES, help="states that services leave")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which drivers are killed")
    parser.add_argument("--json", type=Path, help="also write all that was tried to this file")
    options = parser.parse_args(argv)
    with opening_session() as (session, folder), _opening_lake(session, folder, options.keep_minutes) as lake:
        soak = Soak(lake, turns=options.turns, kills=options.kills, seed=options.seed)
        tried = soak.run(seconds=options.minutes * 60)
    return report([tried], options.json)


@contextmanager
def _opening_lake(session: Session, folder: Path, keep_minutes: float) -> Iterator[SoakLake]:
    for name in ("lake", "metastore", "trino"):
        (folder / name).mkdir()
    with (
        running_metastore(folder / "metastore") as uri,
        running_trino(folder / "trino", metastore=uri) as trino,
    ):
        kept_for = timedelta(minutes=keep_minutes)
        yield make_soak_lake(session.spark, folder / "lake", catalog=uri, trino=trino, kept_for=kept_for)


class Soak:
    """One run over one lake."""

    def __init__(self, lake: SoakLake, *, turns: int, kills: int, seed: int) -> None:
        self._lake, self._turns = lake, turns
        self._rng = random.Random(f"{KIND}/{seed}")
        self._killed = frozenset(self._rng.sample(range(1, turns), min(kills, turns - 1)))
        self._states, self._units = States(), Units()
        self._stack = ExitStack()
        self._driver: Driver | None = None
        self._samples: list[Sample] = []

    def run(self, *, seconds: float) -> Tried:
        """Every turn, and at the end what grew; it takes ``seconds`` at least."""
        begun, points = time.monotonic(), list[Point]()
        with self._stack:
            self._driver = self._start()
            points.append(self._turn(0))
            with Readers(self._lake.looks(), self._states) as readers:
                for turn in range(1, self._turns):
                    if points[-1].wrong:
                        break
                    self._wait_until(begun + seconds * turn / self._turns)
                    points.append(self._turn(turn, readers))
            self._wait_until(begun + seconds if not points[-1].wrong else begun)
        looks = ", ".join(f"{name} {count}" for name, count in sorted(readers.looks.items()))
        ended = f"{len(points)} turns, {len(self._killed)} with a kill; looks: {looks}; at the end {self._samples[-1]}"
        print(ended, file=sys.stderr, flush=True)
        few = [f"{name} looked {readers.looks[name]} times" for name in self._lake.looks() if not readers.looks[name]]
        left = "; ".join([*grown(self._samples), *few])
        points.append(Point(kind=KIND, operation=ended, seconds=0.0, rows="; ".join(readers.wrong), left_over=left))
        return Tried(kind=KIND, operations=len(self._killed), points=tuple(points))

    def _turn(self, turn: int, readers: Readers | None = None) -> Point:
        begun = time.monotonic()
        self._units = {**self._units, **batch_of(turn)}
        self._states.add(self._units)
        self._lake.land_turn(turn)
        moment = self._rng.uniform(0.0, _LONGEST) if turn in self._killed else None
        stuck = self._work(moment)
        recovered = time.monotonic()
        stuck = stuck or retry(self._lake.serve_tables)
        wrong = "" if stuck else attempt(self._assert_right)
        self._samples.append(take_sample(self._lake.spark, Path(self._lake.settings.base_path)))
        operation = f"turn {turn}" + ("" if moment is None else f", killed after {moment:.1f} s")
        seen = "; ".join(readers.wrong) if readers else ""
        seconds = round(recovered - begun, 1)
        print(f"{operation}: {seconds} s, {self._samples[-1]}", file=sys.stderr, flush=True)
        rows = f"{LOST} or changed: {wrong}" if wrong else seen
        return Point(kind=KIND, operation=operation, seconds=seconds, stuck=stuck, rows=rows)

    def _work(self, moment: float | None) -> str:
        """Let a driver take the turn; with ``moment`` it is killed then, and the jobs are run here."""
        assert self._driver is not None
        self._driver.wait_until_ready()
        lake = self._lake
        self._driver.begin(Task(base=str(lake.folder), spec=str(lake.spec), jobs=JOBS))
        if moment is None:
            return self._driver.outcome()
        time.sleep(moment)
        ended = "" if self._driver.is_at_work else self._driver.outcome()
        self._driver.kill()
        self._driver = self._start()
        return ended or next(
            (error for job, options in JOBS if (error := retry(partial(lake.run, job, **options)))), ""
        )

    def _start(self) -> Driver:
        return self._stack.enter_context(open_driver(waits=False))

    def _assert_right(self) -> None:
        self._lake.assert_table_is(self._units)
        self._lake.assert_mart_is(self._units)
        assert self._lake.differences() == []

    def _wait_until(self, moment: float) -> None:
        time.sleep(max(0.0, moment - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
