"""Two processes at work on one table for a while, each as the seed says: writers, and a writer beside the services."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spark_jobs.contracts.services import Service
from spark_jobs.storage.layouts import StorageForm
from tests.faults.drivers import Driver, Task
from tests.faults.homes import Home
from tests.faults.verdicts import Point, Tried, left_over, retry, wrong_rows
from tests.support.numbered_tables import COPIED, LOG, MERGED, NumberedTable

COMMITS = 4
LAYOUTS = (MERGED, COPIED, LOG)
KINDS = ("two writers", "writer and services")
SEEDS = 10
"""Races of each kind, unless the command line has another number."""


def race(kind: str, driver: Driver, home: Home, seeds: range) -> Tried:
    """One race a seed; the layouts take turns."""
    return Tried(kind=kind, operations=0, points=tuple(_race(kind, driver, home, seed) for seed in seeds))


def layout_of(seed: int) -> int:
    """Which of ``LAYOUTS`` a seed works on."""
    return seed % len(LAYOUTS)


def _race(kind: str, driver: Driver, home: Home, seed: int) -> Point:
    rng = random.Random(f"{kind}/{seed}")
    table = Home(home.spark, home.folder, LAYOUTS[layout_of(seed)]).table(f"{seed}")
    mine = NumberedTable(table.spark, table.layout, table.settings, "a")
    theirs = NumberedTable(table.spark, table.layout, table.settings, "b")
    for number in range(2):
        mine.put(number)
        theirs.put(number)
    begun = time.monotonic()
    last = {"a": 1, "b": 1}
    stuck = ""
    for task in _tasks(kind, theirs, rng):
        driver.begin(task)
        time.sleep(rng.random() / 2)
        last["b"] = max([last["b"], *task.numbers])
        for number in range(last["a"] + 1, last["a"] + 1 + rng.randint(1, 2)):
            stuck = stuck or retry(partial(mine.put, number))
            last["a"] = number
        stuck = driver.outcome() or stuck
    seconds = time.monotonic() - begun
    rows = "" if stuck else wrong_rows(mine, sorted(mine.expected(last["a"]) + theirs.expected(last["b"])))
    left = "" if stuck else ", ".join(left_over(mine.layout, mine.path))
    return Point(kind=kind, operation=f"seed {seed}", seconds=round(seconds, 1), stuck=stuck, rows=rows, left_over=left)


def _tasks(kind: str, table: NumberedTable, rng: random.Random) -> Iterator[Task]:
    base = str(Path(table.settings.base_path))
    merging = Service.CLUSTERING if table.layout.form is StorageForm.APPENDED else Service.COMPACTION
    for turn in range(COMMITS // 2):
        if kind == KINDS[0]:
            numbers = tuple(range(2 + 2 * turn, 4 + 2 * turn))
            yield Task(layout=table.layout.name, base=base, writer=table.writer, numbers=numbers)
        else:
            service = rng.choice([merging, Service.CLEAN, Service.ARCHIVE])
            yield Task(layout=table.layout.name, base=base, service=service.value)
