"""The law of marts over versions: whatever came, late or twice, they are what plain Python makes of the history.

Agents are renamed and sales move, are deleted and come again, in events that are delivered in any order. Runs die
between a table and its history, and before or after a mart's commit; a commit of the history is taken away, files of
consumers are lost, and services clean what no one is known to need.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.crashes import CRASHES, crash_at_commit, run_and_crash
from tests.support.mart_lakes import take_commits_away
from tests.support.service_lakes import make_hungry, run_services
from tests.support.versioned_marts import (
    LAYER,
    MARTS,
    assert_versioned_marts_are_right,
    make_versioned_lake,
    random_lines,
)

pytestmark = pytest.mark.hudi

CLOCK = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = pytest.mark.slice(name="laws-marts")
HISTORIES = "pipelines.merge.histories"


def test_a_late_rename_reaches_the_sales_that_were_signed_under_it(spark, tmp_path: Path):
    marts = ("signed_by_name", "status_terms")
    lake, rng = make_versioned_lake(spark, tmp_path, marts), random.Random("asof")
    lines = random_lines(rng, 60)
    for number, part in enumerate((lines[:40], lines[40:])):
        lake.land(f"{number}.jsonl", part)
        lake.run("ingest")
        lake.run("split")
        result = lake.run("mart", layer=LAYER)
        assert not (number and any("full refresh" in message for message in result.messages)), result.messages
        assert_versioned_marts_are_right(lake, marts)
    assert lake.run("mart", layer=LAYER).status == "nothing_to_do"


@LATER
def test_a_lake_that_was_restored_has_the_versions_of_then_and_then_those_of_now(spark, tmp_path: Path):
    lake, rng = make_versioned_lake(spark, tmp_path), random.Random("restored")
    lines = random_lines(rng, 60)
    for number, part in enumerate((lines[:30], lines[30:])):
        lake.land(f"{number}.jsonl", part)
        lake.run("ingest")
        lake.run("split")
        lake.run("mart", layer=LAYER)
        if not number:
            lake.run("savepoint", action="create", label="before", keep=None, clock=CLOCK)
    lake.run("restore", to="before-20260102T120000", yes=True)
    assert_versioned_marts_are_right(lake)
    assert lake.run("mart", layer=LAYER).status == "nothing_to_do"
    for job in ("ingest", "split"):
        lake.run(job)
    lake.run("mart", layer=LAYER)
    assert_versioned_marts_are_right(lake)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=LATER) for seed in (1, 2)])
def test_at_every_moment_the_marts_are_the_oracles(spark: SparkSession, tmp_path: Path, seed: int):
    rng, lake = random.Random(f"asof/{seed}"), make_versioned_lake(spark, tmp_path)
    make_hungry(lake.spec)
    lines, deaths, clock = random_lines(rng, 120), 0, CLOCK
    for number in range(5):
        part = lines[number * 24 : (number + 1) * 24]
        lake.land(f"{number}.jsonl", [*part, *rng.sample(lines[: number * 24 + 1], 1)])
        lake.run("ingest")
        if rng.random() < 0.6:
            crash = crash_at_commit(HISTORIES, rng.choice((1, 2)), is_committed=rng.random() < 0.5)
            deaths += run_and_crash(lake, "split", crash)
        if number and rng.random() < 0.5:  # a mart sees the one history and not yet the other
            lake.run("mart", layer=LAYER, clock=clock)
            assert_versioned_marts_are_right(lake)
        lake.run("split")
        if number and rng.random() < 0.5:
            take_commits_away(lake, rng.choice(("agents_history", "sales_history")), 1)
        if rng.random() < 0.2:
            for file in (tmp_path / "lake" / ".consumers").glob("*.json"):
                file.unlink()
        run_services(lake, rng)
        clock += timedelta(hours=1)
        deaths += run_and_crash(lake, "mart", rng.choice(CRASHES["mart"]), layer=LAYER, clock=clock)
        lake.run("mart", layer=LAYER, clock=clock)
        assert_versioned_marts_are_right(lake)
        lake.run("split")
    assert deaths
    lake.run("mart", layer=LAYER, clock=clock)
    before = lake.instants()
    lake.run("mart", layer=LAYER, clock=clock, full=True)
    assert_versioned_marts_are_right(lake)
    assert lake.instants() == before, "a full refresh finds nothing that is otherwise"
    assert len(MARTS) == len([name for name in before if name in MARTS])
