"""A sample of the campaign in the short run, more of every kind in slices; ``make faults`` tries all of it at once.

Each in a process of its own, because its session works on storage that can stop. A failure names the point, and the
command line that tries it again: ``--kind`` and ``--operation`` of ``python -m tests.faults.campaign``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults import drivers, sample, stops, workers
from tests.faults.commands import COMMANDS, SAMPLED_POINTS, followers
from tests.faults.drivers import Task, open_driver
from tests.faults.slices import ALL, NUMBERED, SAMPLED, SLICES, STOPS, shares_of
from tests.faults.stops import every_point, every_third, in_turns, one_alike
from tests.faults.verdicts import Point
from tests.faults.workers import Processes
from tests.run.engines import shared_environment
from tests.support.numbered_tables import LAYOUTS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FEW, MANY = 3, 5
"""Processes at a time. They wait for a part of it, until heartbeats end; each takes as long to start as a share."""
FEW_SLICES = 2
"""A run with more slices has many processes; they work long enough for the second compiler to pay off."""


RunSlice = Callable[[str], None]


@pytest.fixture(scope="module")
def run_slice(request: pytest.FixtureRequest) -> Iterator[RunSlice]:
    """Tries all shares of a slice. The processes are kept for all slices of a run."""
    marks = (mark for item in request.session.items for mark in item.iter_markers("slice"))
    slices = {mark.kwargs["name"] for mark in marks} & SLICES.keys()
    is_long = len(slices) > FEW_SLICES
    environ = shared_environment(os.environ) if is_long else os.environ
    with closing(Processes(MANY if is_long else FEW, environ)) as processes:

        def run(name: str) -> None:
            points = [point for tried in processes.run(SLICES[name], SAMPLED) for point in tried.points]
            assert [f"{point.kind}: {point.operation}: {point.wrong}" for point in points if point.wrong] == []
            assert {share.kind for share in SLICES[name]} <= {point.kind.split(": ")[0] for point in points}

        yield run


@pytest.mark.hudi
def test_sample(tmp_path: Path):
    """The moment at which each kind of write counts, jobs' last files, a race, a driver paused and one killed."""
    file = tmp_path / "tried.json"
    line = [sys.executable, "-m", "tests.faults.sample", "--json", str(file)]
    done = subprocess.run(line, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stdout}{done.stderr[-2000:]}"
    points = [point for tried in json.loads(file.read_text(encoding="utf-8")) for point in tried["points"]]
    tried = [point["kind"].split(": ")[0] for point in points]
    expected = {kind: len(sides) for kind, sides in {**sample.STOPPED, **sample.LAST_FILES}.items()}
    for kind in (sample.PAUSED[0], sample.KILLED[0], sample.RACE):
        expected[kind] = expected.get(kind, 0) + 1
    assert {kind: tried.count(kind) for kind in tried} == expected


def test_every_share_of_the_campaign_is_in_one_slice_or_is_one_of_several_with_other_seeds():
    shares = [share for of_slice in SLICES.values() for share in of_slice]
    assert len({*shares}) == len(shares)
    left = {*ALL} - {*shares}
    assert {*shares} <= {*ALL}
    assert {share.kind for share in left} == NUMBERED.keys() <= {share.kind for share in shares}


def test_the_storage_stops_in_every_state_that_it_can_stop_in():
    operations = ["mkdirs /t #1", "create /t/f #1", "close /t/f #1", "sql COMMIT #1", "rename /t/g #1"]
    both = {"create /t/f #1", "sql COMMIT #1", "rename /t/g #1"}
    expected = [(name, side) for name in operations for side in ("before", "after") if side == "before" or name in both]
    assert every_point()(operations) == expected
    assert every_point(["after"], operations[:1])(operations) == [(operations[0], "after")]


@pytest.mark.parametrize(("turn", "kept"), [(0, 0), (1, -1)])
def test_of_operations_that_are_alike_slices_try_the_first_or_the_last(turn: int, kept: int):
    files = [f"create /t/0000000{number}-<id>_<task>_<instant>.parquet #1" for number in range(4)]
    closed = [name.replace("create", "close") for name in files]
    commits = [f"rename /t/.hoodie/<instant>.commit #{number}" for number in range(3)]
    operations = ["mkdirs /t #1", *files, *closed, *commits]
    expected = [("mkdirs /t #1", "before"), (files[kept], "before"), (files[kept], "after"), (closed[kept], "before")]
    expected += [(commits[0], "before")] if turn == 0 else []
    expected += [(commits[2], "before"), (commits[2], "after")]  # the end of the scenario, always
    assert one_alike(every_point(), turn)(operations) == expected


def test_what_every_write_does_is_tried_in_turns_and_all_else_in_each():
    lease, beat = "lease /.leases/t.lease #1", "/t/.hoodie/.heartbeat/<instant> #1"
    others = ["close /t/.hoodie/<instant>.clean.requested #1", "delete /t/f.parquet #1", f"delete {beat}"]
    operations = [lease, f"create {beat}", f"close {beat}", "create /t/.hoodie/<instant>.inflight #1", *others]
    always = [*((name, "before") for name in others), (others[-1], "after")]
    opened = [(name, side) for name in (lease, operations[1], operations[3]) for side in ("before", "after")]
    assert in_turns(every_point(), 0)(operations) == [*opened, *always]
    assert in_turns(every_point(), 1)(operations) == [(f"close {beat}", "before"), *always]


def test_slices_try_every_third_point_and_the_end():
    points = ["mkdirs /t #1", "close /t/f #1", "delete /t/f #1", "mkdirs /u #1", "rename /t/g #1"]
    end = [(points[-1], "before"), (points[-1], "after")]
    for turn, numbers in enumerate(((0, 3), (1,), (2,))):
        expected = [(points[number], "before") for number in numbers]
        assert every_third(every_point(), turn)(points) == [*expected, *end]


def test_every_command_is_cut_off_and_follows_others_in_a_slice():
    pairs = [(first, second) for first in COMMANDS for second in followers(first)[:SAMPLED_POINTS]]
    assert {first for first, _ in pairs} == {second for _, second in pairs} == set(COMMANDS)
    assert all(first != second for first, second in pairs)


def test_a_folder_that_a_stopped_write_still_writes_to_does_not_end_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its heartbeats go on in the same process, and one may be written while the folder is removed."""
    monkeypatch.setattr(os, "rmdir", lambda *_, **__: os.open(tmp_path / "none", os.O_RDONLY))
    (tmp_path / "lake").mkdir()
    point = Point(kind="append", operation="close /t/f #1", seconds=1.0)
    trial: Any = SimpleNamespace(base=tmp_path / "lake", go_on=lambda point: point)
    assert stops.as_in_state(trial, point, {}) == point


PROCESS = """
import json, os, sys
for line in sys.stdin:
    kind = json.loads(line)[-1]
    if kind == "append":
        sys.exit("no storage left")
    point = {"kind": kind, "operation": f"{os.getpid()}", "seconds": 0.5}
    print("the engine says something")
    print(json.dumps([{"kind": kind, "operations": 1, "points": [point]}]), flush=True)
"""


def test_a_process_keeps_its_session_and_what_it_dies_of_is_a_point_that_is_stuck(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", PROCESS))
    shares = shares_of(STOPS, "overwrite", "compaction", "append", "rescale")
    with closing(Processes(1)) as processes:
        found = [*processes.run(shares[:2], ["--places=1"]), *processes.run(shares[2:], ["--places=1"])]
    assert [tried.kind for tried in found] == ["overwrite", "compaction", "append", "rescale"]
    first, second, died, next_one = (tried.points[0] for tried in found)
    assert first.operation == second.operation != next_one.operation
    assert died.wrong == "the process ended with 1: no storage left"


DRIVER = """
import json, sys
print(json.dumps({"answer": "ready"}), flush=True)
for number, _ in enumerate(sys.stdin):
    print(json.dumps({"answer": f"error {number}"}), flush=True)
"""


def test_a_driver_is_ready_once_for_all_its_tasks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drivers, "COMMAND", (sys.executable, "-c", DRIVER))
    with open_driver(waits=False) as driver:
        for number in range(2):
            driver.wait_until_ready()
            driver.begin(Task(base="/lake"))
            assert driver.outcome() == f"error {number}"


def test_every_slice_of_the_campaign_has_a_test(request: pytest.FixtureRequest):
    tests = [getattr(request.module, name) for name in dir(request.module) if name.startswith("test_")]
    marks = [mark for test in tests for mark in getattr(test, "pytestmark", ()) if mark.name == "slice"]
    assert sorted({mark.kwargs["name"] for mark in marks}) == sorted(SLICES)


@pytest.mark.hudi
@pytest.mark.slice(name="faults-zombies")
def test_a_driver_that_never_comes_to_its_operation_says_how_it_ended_and_can_go_on(tmp_path: Path):
    never = tmp_path / "sign"
    with open_driver() as driver:
        for number in (1, 2):
            driver.begin(
                Task(
                    layout=LAYOUTS[0].name,
                    base=str(tmp_path / "lake"),
                    numbers=(number,),
                    pause_at="an operation that is never carried out",
                    sign=str(never),
                )
            )
            assert not driver.comes_to(never)
            assert driver.outcome() == ""


@pytest.mark.hudi
@pytest.mark.slice(name="faults-stops-1")
def test_stopped_while_tables_are_written_and_rolled_back(run_slice: RunSlice):
    run_slice("faults-stops-1")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-stops-2")
def test_stopped_in_services_and_restores(run_slice: RunSlice):
    run_slice("faults-stops-2")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-lakes")
def test_stopped_while_jobs_write_beside_tables(run_slice: RunSlice):
    run_slice("faults-lakes")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-commands")
def test_commands_that_are_cut_off_and_followed_by_each_other(run_slice: RunSlice):
    run_slice("faults-commands")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-zombies")
def test_writers_and_services_that_are_paused_or_killed(run_slice: RunSlice):
    run_slice("faults-zombies")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-races")
def test_two_drivers_on_one_table_and_backfills_beside_the_schedule(run_slice: RunSlice):
    run_slice("faults-races")


@pytest.mark.hudi
@pytest.mark.slice(name="faults-pairs")
def test_stopped_twice(run_slice: RunSlice):
    run_slice("faults-pairs")


@pytest.mark.services
@pytest.mark.slice(name="faults-store")
def test_an_object_store_that_stops(run_slice: RunSlice):
    run_slice("faults-store")


@pytest.mark.services
@pytest.mark.slice(name="faults-weather")
def test_an_object_store_in_bad_weather(run_slice: RunSlice):
    run_slice("faults-weather")


@pytest.mark.services
@pytest.mark.slice(name="faults-kills")
def test_drivers_that_read_kafka_and_are_killed(run_slice: RunSlice):
    run_slice("faults-kills")
