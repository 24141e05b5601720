"""Spark's work by its event log: jobs that began in a window, and what tasks had of the processors' time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.landing import RUNS, SparkWork, covered, jobs_of, share_of, summarize


def lines_of(*events: dict[str, object]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def start(job: int, at: float) -> dict[str, object]:
    return {"Event": "SparkListenerJobStart", "Job ID": job, "Submission Time": at * 1000}


def end(job: int, at: float) -> dict[str, object]:
    return {"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": at * 1000}


def task(begin: float, finish: float) -> dict[str, object]:
    return {"Event": "SparkListenerTaskEnd", "Task Info": {"Launch Time": begin * 1000, "Finish Time": finish * 1000}}


@pytest.fixture
def work(tmp_path: Path) -> SparkWork:
    """Two jobs of 1 s with two tasks each, and one job after 20 s."""
    log = tmp_path / "local-1" / "events"
    log.parent.mkdir()
    first = lines_of({"Event": "SparkListenerLogStart"}, start(0, 1), task(1, 2), task(1, 1.5), end(0, 2))
    log.write_text(first + lines_of(start(1, 4), task(4, 5), task(4, 4.5), end(1, 5), start(2, 20), end(2, 21)))
    return SparkWork.read(tmp_path)


def test_jobs_belong_to_the_window_in_which_they_began(work: SparkWork):
    assert [work.jobs_in(window) for window in ((0, 10), (1, 4), (4.5, 30), (1.5, 3))] == [2, 1, 1, 0]


def test_tasks_have_a_share_of_both_processors(work: SparkWork):
    assert work.share_of_tasks([(0, 10)]) == pytest.approx(3 / 20)
    assert work.share_of_tasks([(0, 3), (4.5, 5.5)]) == pytest.approx((1.5 + 0.5) / 8)
    assert work.share_outside_jobs([(0, 3), (3, 10)]) == pytest.approx(0.8)


def test_figures_are_medians_of_arrivals(work: SparkWork):
    ran = {run: (10.0 + number, 11.0 + number) for number, run in enumerate(RUNS)}
    arrivals = [{**ran, "ingest": (0.0, 3.0), "split": (3.0, 6.0)}] * 2 + [ran]
    found = summarize(arrivals, work, warm_ups=3)
    assert found.values[jobs_of("ingest")] == found.values[jobs_of("split")] == 1
    assert found.values[jobs_of("slow")] == 0
    assert found.values[share_of("ingest", "split")] == pytest.approx(3 / 12)
    assert "ingest 3.00, split 3.00, stitch 1.00, slow 1.00; medians of 3 arrivals after 3" in found.notes[0]


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        ([], 0),
        ([(1, 2), (5, 6)], 2),
        ([(5, 8), (1, 6)], 7),
        ([(-5, 1), (9, 30)], 2),
        ([(1, 9), (2, 3), (8, 9.5)], 8.5),
    ],
)
def test_time_is_counted_once_and_within_the_window(parts: list[tuple[float, float]], seconds: float):
    assert covered((0, 10), parts) == seconds
