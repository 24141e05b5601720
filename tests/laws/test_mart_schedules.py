"""Law 5 and every mode of marts: 30 seeded schedules, ten side by side in each of three lakes.

As in tests/laws/test_schedules.py, sources deliver badly and runs die. After each round the marts of all
layers are refreshed as chance has it: some of them, some killed before or after their commit, some with a move of the
cut, or a cut moved while nothing is new, a consumer's file lost, a source restored to an earlier commit. In two of the
lakes the tables' services run between them: files are merged, cleaned and instants archived as soon as that is allowed.
Whatever came to its end must be what the oracles make of the log and the tables as they are at that moment.

What is touched are few keys. In two of the lakes more than one or two count as many, which is another way of reading.
The log is read by the days of its sales, and of aggregate marts the partitions that are touched, however few there are;
files of that index are lost now and then. In one of the lakes tables are read from few files by their names, more are
left to Hudi, and full refreshes are cut into parts.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.contracts.arguments import Interval
from spark_jobs.marts import day_index, scopes
from spark_jobs.marts import refresh as refresh_module
from spark_jobs.marts.modes import aggregate
from spark_jobs.storage import snapshots
from tests.support.crashes import CRASHES, run_and_crash
from tests.support.lakes import Lake
from tests.support.mart_checks import (
    assert_fast_is_right,
    assert_slow_is_right,
    assert_stitch_is_right,
    assert_test_marts_are_right,
)
from tests.support.mart_lakes import LAYERS, make_mart_lake, take_commits_away
from tests.support.schedules import ROUNDS, build_schedule
from tests.support.service_lakes import make_hungry, run_services

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(1800)]

SCHEDULES_PER_LAKE = 10
LATER = pytest.mark.slice(name="laws-marts")
CASES = [(1, False), *(pytest.param(seed, True, marks=LATER) for seed in (0, 2))]
"""Seeds, and whether all rounds are played with all marts and the last state is computed again."""
ALIKE = ("slow_unit_difficulty", "slow_agent_success")
"""Marts that are computed from the same table and by the same scopes as another one."""
CLOCK = datetime(2026, 1, 1, 20, 30, tzinfo=UTC)
ALL_DAYS = Interval(start=datetime(2020, 1, 1, tzinfo=UTC), end=datetime(2030, 1, 1, tzinfo=UTC))
"""A backfill: all that is there is computed once more."""
ZONES = ("UTC", "Europe/Paris", "Pacific/Auckland")
FEW = (200, 1, 2)
FEW_FILES = (256, 256, 3)
BYTES_A_TASK = (2**25, 2**25, 2**15)


def check(lake: Lake, layer: str, clock: datetime, zone: str) -> None:
    if layer == "fast":
        assert_fast_is_right(lake, clock, zone)
    elif layer == "stitch":
        assert_stitch_is_right(lake, clock, zone)
    elif layer == "slow":
        assert_slow_is_right(lake, zone)
    else:
        assert_test_marts_are_right(lake)


def refresh(lake: Lake, rng: random.Random, layer: str, clock: datetime) -> int:
    """One layer, as chance has it: killed first, then brought to its end; how many runs died."""
    options: dict[str, Any] = {"layer": layer, "move_cut": rng.random() < 0.4}
    deaths = int(
        rng.random() < 0.5 and run_and_crash(lake, "mart", rng.choice(CRASHES["mart"]), clock=clock, **options)
    )
    if rng.random() < 0.2:
        for file in (lake.folder / "lake" / ".consumers").glob("*.json"):
            file.unlink()
    if rng.random() < 0.2:
        for file in [*(lake.folder / "lake" / ".row_index").glob("*.days.*/*/*")][:1]:
            file.unlink()
    lake.run("mart", clock=clock, **options)
    return deaths


def disturb(lake: Lake, rng: random.Random, *, is_restored: bool, has_services: bool) -> None:
    """What comes between the writers and the marts."""
    if is_restored and rng.random() < 0.4:
        take_commits_away(lake, rng.choice(("sales", "units")), 1)
    if has_services:
        run_services(lake, rng)


def finish(lake: Lake, clock: datetime, zone: str) -> None:
    """What is left, after which there is nothing to do; then a backfill, which makes of all that is there the same."""
    while lake.run("ingest").counters["has_more"]:
        continue
    lake.run("split")
    for layer in LAYERS:
        lake.run("mart", clock=clock, layer=layer)
        check(lake, layer, clock, zone)
    before = lake.instants()
    assert {lake.run("mart", clock=clock, layer=layer).status for layer in LAYERS} == {"nothing_to_do"}
    assert lake.instants() == before
    for layer in LAYERS:
        lake.run("mart", clock=clock, layer=layer, interval=ALL_DAYS)
        check(lake, layer, clock, zone)


@pytest.mark.parametrize(("seed", "is_whole"), CASES)
def test_at_every_moment_the_marts_are_the_oracles(spark, tmp_path, monkeypatch, seed, is_whole):
    monkeypatch.setattr(scopes, "_MOST_LITERALS", FEW[seed])
    monkeypatch.setattr(day_index, "LEAST_DAYS", 1)
    monkeypatch.setattr(aggregate, "LEAST_FOLDERS", 1)
    monkeypatch.setattr(snapshots, "MOST_FILES", FEW_FILES[seed])
    monkeypatch.setattr(refresh_module, "BYTES_A_TASK", BYTES_A_TASK[seed])
    rng, zone = random.Random(f"marts/{seed}"), ZONES[seed]
    lake = make_mart_lake(spark, tmp_path, time_zone=zone, without=() if is_whole else ALIKE)
    make_hungry(lake.spec)
    schedules = [build_schedule(100 + seed, number) for number in range(SCHEDULES_PER_LAKE)]
    clock, deaths = CLOCK, 0
    rounds = ROUNDS if is_whole else 2
    for number in range(rounds):
        for schedule in schedules:
            schedule.land(lake.folder / "landing", number)
        for _ in range(2 if number == 1 and is_whole else 1):
            lake.run("ingest", max_events=rng.randint(120, 400))
            lake.run("split")
            disturb(lake, rng, is_restored=number > 0, has_services=seed > 0)
            clock += timedelta(hours=rng.choice((0, 1, 7)))
            for layer in LAYERS if number == rounds - 1 else rng.sample(LAYERS, 2):
                deaths += refresh(lake, rng, layer, clock)
                check(lake, layer, clock, zone)
    assert deaths
    if is_whole:
        finish(lake, clock, zone)
