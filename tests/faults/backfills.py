"""A backfill of days beside the schedule's own runs, in two processes: whoever comes second, all tables are right."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.faults.drivers import Driver, Task
from tests.faults.verdicts import Point, Tried, judge_lake, retry
from tests.support.contexts import CLOCK
from tests.support.envelopes import START_MS
from tests.support.lakes import Lake, assert_equals_oracle
from tests.support.mart_checks import assert_fast_is_right, assert_stitch_is_right
from tests.support.schedules import ROUNDS, build_schedule

KIND = "backfill and schedule"
SCHEDULED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ingest", {}),
    ("split", {}),
    ("mart", {"layer": "fast"}),
    ("mart", {"layer": "stitch"}),
)
_FIRST = datetime.fromtimestamp(START_MS / 1000, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAYS = (_FIRST.isoformat(), (_FIRST + timedelta(days=2)).isoformat())


def race_backfills(spark: SparkSession, driver: Driver, folder: Path, seeds: range) -> Tried:
    """One lake a seed; in every round both go over all that is there, in an order of their own."""
    return Tried(
        kind=KIND, operations=0, points=tuple(_race(spark, driver, folder / str(seed), seed) for seed in seeds)
    )


def _race(spark: SparkSession, driver: Driver, folder: Path, seed: int) -> Point:
    rng = random.Random(f"{KIND}/{seed}")
    (folder / "landing").mkdir(parents=True)
    lake, schedule, stuck = Lake(spark=spark, folder=folder), build_schedule(300 + seed, 0), ""
    begun = time.monotonic()
    for number in range(ROUNDS):
        schedule.land(folder / "landing", number)
        lake.run("ingest")
        if not number:
            lake.run("split")
        again = [job for job in SCHEDULED[1:] if rng.random() < 0.7] or [SCHEDULED[1]]
        driver.begin(Task(base=str(folder), jobs=again, days=DAYS))
        time.sleep(rng.random())
        for job, options in SCHEDULED:
            stuck = stuck or retry(partial(lake.run, job, **options))
        stuck = driver.outcome() or stuck
    seconds = time.monotonic() - begun
    for job, options in SCHEDULED:
        stuck = stuck or retry(partial(lake.run, job, **options))
    right = partial(_assert_right, lake, schedule.lines)
    return judge_lake(KIND, f"seed {seed}", lake, right, stuck=stuck, seconds=seconds)


def _assert_right(lake: Lake, lines: list[bytes]) -> None:
    assert_equals_oracle(lake, lines)
    assert_fast_is_right(lake, CLOCK, "UTC")
    assert_stitch_is_right(lake, CLOCK, "UTC")
