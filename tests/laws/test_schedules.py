"""Laws 1, 2, 3, 6 and 7 through Spark and Hudi: 15 seeded schedules, five side by side in each of three lakes.

The schedules (tests.support.schedules) have sources, topics and keys of their own; in a lake they share tables, runs
and crashes. A round lands the files of all five, then ingest and split run as chance has it: whole, with a small cap,
dying at a chosen step (tests.support.crashes) and then repeated or left to the next round, or not at all. Between them
the tables' services run, in two of the lakes: files are merged, cleaned, and instants archived at once. After the last
round both jobs run until nothing is left, and everything must be what the oracle says, by both readers; then they
run once more, and no table may have a new commit.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.pipelines.ingestion import intake
from spark_jobs.pipelines.merge import tables
from tests.support.crashes import CRASHES, run_and_crash
from tests.support.lakes import NARROW, PIPELINE, Lake, assert_equals_oracle, assert_marts_equal_oracle
from tests.support.schedules import ROUNDS, build_schedule
from tests.support.service_lakes import make_service_lake, run_services

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="laws")]

SCHEDULES_PER_LAKE = 5
SEEDS = (1, 0, 3)
"""Of a lake with few tables, and of two with all: with odd seeds services run between jobs, and batches are large."""
CLOCK = datetime(2026, 1, 1, 6, 30, tzinfo=UTC)


def run_round(lake: Lake, rng: random.Random, *, has_services: bool) -> int:
    """Both jobs, as chance has it; how many runs died."""
    deaths = 0
    for job in ("ingest", "split"):
        options: dict[str, Any] = {"max_events": rng.randint(20, 200)} if job == "ingest" and rng.random() < 0.5 else {}
        if rng.random() < 0.5:
            deaths += run_and_crash(lake, job, rng.choice(CRASHES[job]), **options)
        if rng.random() < 0.7:
            lake.run(job, **options)
        if has_services:
            run_services(lake, rng)
    return deaths


def run_to_the_end(lake: Lake) -> None:
    while lake.run("ingest").counters["has_more"]:
        continue
    lake.run("split")


@pytest.mark.parametrize("seed", SEEDS)
def test_however_it_is_delivered_the_tables_are_the_oracles(spark, tmp_path, seed, monkeypatch):
    rng = random.Random(seed)
    if seed % 2:  # a day is cut into files and a merge into parts, as they are of a million events
        monkeypatch.setattr(intake, "MOST_RECORDS", 20)
        monkeypatch.setattr(tables, "ROWS_A_TASK", 100)
    lake = make_service_lake(spark, tmp_path, tables=NARROW if seed == 1 else ())
    schedules = [build_schedule(seed, number) for number in range(SCHEDULES_PER_LAKE)]
    deaths = 0
    for number in range(ROUNDS):
        for schedule in schedules:
            schedule.land(lake.folder / "landing", number)
        deaths += run_round(lake, rng, has_services=seed % 2 == 1)
        if number == 1:
            lake.run("mart", layer="fast", clock=CLOCK)
    assert deaths
    run_to_the_end(lake)
    lines = [text for schedule in schedules for text in schedule.lines]
    assert_equals_oracle(lake, lines)
    reasons = {text: reason for schedule in schedules for text, reason in schedule.reasons.items()}
    assert {bytes(row["raw"]): row["reason"] for row in lake.rows("quarantine")} == reasons
    clock = CLOCK + timedelta(hours=rng.randint(0, 30))
    lake.run("mart", layer="fast", clock=clock)
    assert_marts_equal_oracle(lake, lines, clock)
    before = lake.instants()
    assert {lake.run(job, clock=clock, **options).status for job, options in PIPELINE} == {"nothing_to_do"}
    assert lake.instants() == before
