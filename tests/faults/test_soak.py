"""What the soak judges by, without an engine; and a short one: a few turns, half of them with a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults.soak import KILLS, TURNS
from tests.faults.soak_bounds import LEAST, Sample, grown
from tests.faults.soak_lake import JOBS, batch_of
from tests.faults.soak_readers import Readers, Seen, States

CALM = Sample(files=400, instants=60, heap_mb=220, resident_mb=180, threads=70, descriptors=500)


def samples(change: Callable[[int], dict[str, int]], count: int = 30) -> list[Sample]:
    return [replace(CALM, **change(turn)) for turn in range(count)]


def test_what_goes_up_and_down_or_is_warming_up_does_not_grow():
    assert grown(samples(lambda turn: {"files": 400 + turn % 7 * 10, "heap_mb": 220 + turn % 3 * 15})) == []
    assert grown(samples(lambda turn: {"files": min(turn, 8) * 50, "heap_mb": 100 + min(turn, 9) * 20})) == []
    assert grown(samples(lambda turn: {"heap_mb": turn * 1000}, LEAST - 1)) == []


@pytest.mark.parametrize(
    ("name", "step"),
    [("files", 20), ("instants", 3), ("heap_mb", 10), ("resident_mb", 12), ("threads", 3), ("descriptors", 15)],
)
def test_what_becomes_more_in_every_turn_grows(name: str, step: int):
    (message,) = grown(samples(lambda turn: {name: getattr(CALM, name) + turn * step}, TURNS))
    assert message.startswith(f"{name} grew from ")


def test_the_whole_soak_is_two_hundred_commits_and_fifty_kills():
    assert TURNS * len(JOBS) >= 200
    assert KILLS == 50 < TURNS


def test_every_turn_leaves_another_state():
    units: dict[int, int] = {}
    seen: list[Seen] = []
    for turn in range(TURNS):
        units |= batch_of(turn)
        state = Counter(units.items())
        assert state not in seen
        seen.append(state)
        assert all(0 <= unit <= 99 for unit in units.values()), "what the lake expects of units"


@pytest.fixture
def states() -> States:
    found = States()
    for turn in range(3):
        found.add({1: turn, 2: 10 + turn})
    return found


def looks_of(states: States, *answers: Seen) -> Readers:
    left = list(answers)
    readers = Readers({"Spark": lambda: left.pop(0)}, states)
    for _ in answers:
        readers.look("Spark")
    return readers


def state(turn: int) -> Seen:
    return Counter({(1, turn): 1, (2, 10 + turn): 1})


def test_a_reader_may_be_behind_and_go_on(states: States):
    readers = looks_of(states, state(0), state(0), state(2), state(2))
    assert (readers.wrong, readers.looks["Spark"]) == ([], 4)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (state(0), "Spark saw state 0 after 1, in "),
        (Counter({(1, 1): 1, (2, 12): 1}), "Spark saw 2 rows of no state, in "),
        (state(1) + state(1), "Spark saw 2 rows of no state, in "),
        (Counter(), "Spark saw 0 rows of no state, in "),
    ],
    ids=["older", "half of two", "doubled", "nothing"],
)
def test_an_older_state_or_a_part_of_one_is_wrong(states: States, answer: Seen, message: str):
    (wrong,) = looks_of(states, state(1), answer).wrong
    assert wrong.startswith(message)


def test_a_query_that_fails_is_wrong_and_the_next_one_is_looked_at(states: States):
    def fail() -> Seen:
        raise FileNotFoundError("part-0.parquet")

    answers: list[Callable[[], Seen]] = [fail, lambda: state(0)]

    def look() -> Seen:
        return answers.pop(0)()

    readers = Readers({"Trino": look}, states)
    for _ in range(2):
        readers.look("Trino")
    assert readers.looks["Trino"] == 1
    assert readers.wrong == ["Trino failed: FileNotFoundError: part-0.parquet"]


@pytest.mark.faults
@pytest.mark.hudi
@pytest.mark.services
@pytest.mark.timeout(1500)
@pytest.mark.slice(name="faults-soak")
def test_a_short_soak(tmp_path: Path):
    file = tmp_path / "tried.json"
    options = ["--turns=6", "--kills=3", "--minutes=0", "--keep-minutes=1", "--json", str(file)]
    line = [sys.executable, "-m", "tests.faults.soak", *options]
    done = subprocess.run(line, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stdout}{done.stderr[-3000:]}"
    (tried,) = json.loads(file.read_text(encoding="utf-8"))
    assert (tried["operations"], len(tried["points"])) == (3, 7)
    assert all(reader in tried["points"][-1]["operation"] for reader in ("Spark", "Rust", "Trino"))
