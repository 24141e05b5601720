"""Two processes at work on one table for a while, each as the seed says: writers, and a writer beside the services."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.layouts import StorageForm, TableLayout
from tests.faults.drivers import Driver, Task
from tests.faults.verdicts import TRIES, Point, Tried, left_over, retry, wrong_rows
from tests.support.numbered_tables import COPIED, LOG, MERGED, NumberedTable

COMMITS = 4
LAYOUTS = (MERGED, COPIED, LOG)
KINDS = ("two writers", "writer and services")
SEEDS = 10
"""Races of each kind, unless the command line has another number."""


TableOf = Callable[[TableLayout, str], NumberedTable]
"""The table of a layout, in a place of this name."""
Around = Callable[[int], AbstractContextManager[object]]
"""What is around the race of a seed, but not around the look at its rows."""


def race(
    kind: str, driver: Driver, table_of: TableOf, seeds: range, *, around: Around = nullcontext, tries: int = TRIES
) -> Tried:
    """One race a seed; the layouts take turns. What kind it is are the first words of ``kind``."""
    points = [_race(kind, driver, table_of(LAYOUTS[layout_of(seed)], f"{seed}"), seed, around, tries) for seed in seeds]
    return Tried(kind=kind, operations=0, points=tuple(points))


def layout_of(seed: int) -> int:
    """Which of ``LAYOUTS`` a seed works on."""
    return seed % len(LAYOUTS)


def _race(kind: str, driver: Driver, table: NumberedTable, seed: int, around: Around, tries: int) -> Point:
    rng = random.Random(f"{kind}/{seed}")
    mine = NumberedTable(table.spark, table.layout, table.settings, "a")
    theirs = NumberedTable(table.spark, table.layout, table.settings, "b")
    for number in range(2):
        mine.put(number)
        theirs.put(number)
    begun = time.monotonic()
    last = {"a": 1, "b": 1}
    stuck = ""
    for task in _tasks(kind, theirs, rng):
        with around(seed):
            driver.begin(task)
            time.sleep(rng.random() / 2)
            last["b"] = max([last["b"], *task.numbers])
            for number in range(last["a"] + 1, last["a"] + 1 + rng.randint(1, 2)):
                stuck = stuck or retry(partial(mine.put, number), tries=tries)
                last["a"] = number
            stuck = _end(driver, task, tries) or stuck
    seconds = time.monotonic() - begun
    rows = "" if stuck else wrong_rows(mine, sorted(mine.expected(last["a"]) + theirs.expected(last["b"])))
    left = "" if stuck else ", ".join(left_over(mine.layout, mine.path))
    return Point(kind=kind, operation=f"seed {seed}", seconds=round(seconds, 1), stuck=stuck, rows=rows, left_over=left)


def _end(driver: Driver, task: Task, tries: int) -> str:
    """The error that the other's task ended with; with more tries than the platform's it is begun again as well."""
    error = driver.outcome()
    for _ in range(tries - TRIES):
        if not error:
            break
        driver.begin(task)
        error = driver.outcome()
    return error


def _tasks(kind: str, table: NumberedTable, rng: random.Random) -> Iterator[Task]:
    base = table.settings.base_path
    merging = Service.CLUSTERING if table.layout.form is StorageForm.APPENDED else Service.COMPACTION
    for turn in range(COMMITS // 2):
        if kind.startswith(KINDS[0]):
            numbers = tuple(range(2 + 2 * turn, 4 + 2 * turn))
            yield Task(layout=table.layout.name, base=base, writer=table.writer, numbers=numbers)
        else:
            service = rng.choice([merging, Service.CLEAN, Service.ARCHIVE])
            yield Task(layout=table.layout.name, base=base, service=service.value)
