"""A part of the campaign, another one every day: a twelfth of the stops, a place of the drivers, races, a lake killed.

``make faults`` tries all of it. In a process of its own, because its session stands on a file system that can stop. A
failure names the command that tries the same part again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults import kills
from tests.faults.backfills import KIND
from tests.faults.campaign import LAKES
from tests.faults.drivers import Task, open_driver
from tests.faults.races import KINDS
from tests.faults.scenarios import SCENARIOS
from tests.faults.zombies import PLACES, Fate
from tests.support.numbered_tables import LAYOUTS

pytestmark = [pytest.mark.hudi, pytest.mark.faults, pytest.mark.timeout(1500), pytest.mark.slice(name="faults")]
EVERY = 12
DAY = datetime.now(UTC).toordinal()


def run_campaign(folder: Path, *options: str) -> list[dict[str, Any]]:
    """The points of a campaign in which nothing may be wrong."""
    file = folder / "tried.json"
    line = [sys.executable, "-m", "tests.faults.campaign", *options, "--json", str(file)]
    done = subprocess.run(line, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stdout}{done.stderr[-2000:]}"
    return [point for tried in json.loads(file.read_text(encoding="utf-8")) for point in tried["points"]]


def test_wherever_the_storage_stops_nothing_is_lost_doubled_or_stuck(tmp_path: Path):
    points = run_campaign(tmp_path, "--part", "stops", "--every", f"{EVERY}", "--offset", f"{DAY % EVERY}")
    assert {point["kind"] for point in points} == {scenario.kind for scenario in SCENARIOS}
    assert len(points) > len(SCENARIOS)
    assert {point["operation"].rsplit("(")[-1] for point in points} == {"before)", "after)"}


def test_a_driver_that_never_comes_to_its_place_says_how_it_ended_and_can_go_on(tmp_path: Path):
    never = tmp_path / "sign"
    with open_driver() as driver:
        for number in (1, 2):
            task = Task(layout=LAYOUTS[0].name, base=str(tmp_path / "lake"), numbers=(number,))
            driver.begin(replace(task, pause_at=10_000, sign=str(never)))
            assert not driver.comes_to(never)
            assert driver.outcome() == ""


@pytest.mark.services
def test_drivers_that_take_from_kafka_and_are_killed(tmp_path: Path):
    (point,) = run_campaign(tmp_path, "--part", "kills", "--lakes", "1", "--offset", f"{DAY % LAKES}")
    assert point["kind"] == kills.KIND


def test_drivers_that_are_paused_or_killed_and_two_at_a_time(tmp_path: Path):
    counts = ("--pauses", "1", "--seeds", "1", "--backfills", "1", "--offset", f"{DAY % PLACES}")
    points = run_campaign(tmp_path, "--part", "zombies", "--part", "races", *counts)
    kinds = [point["kind"] for point in points]
    acting = [scenario.kind for scenario in SCENARIOS if scenario.task]
    races = (*KINDS, KIND)
    assert set(kinds) == {f"{kind}: {fate}" for kind in acting for fate in Fate} | set(races)
    assert [kinds.count(kind) for kind in races] == [1, 1, 1]
