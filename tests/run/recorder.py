"""A pytest plugin that writes down what each test cost and which programs it started, one JSON line a phase.

It is active when `LAKEHOUSE_TEST_RESULTS` names a folder, as the make targets do. Under pytest-xdist the workers
measure and the controller writes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.run.levels import ENGINES
from tests.run.processes import used_seconds, watch_programs

FOLDER = "LAKEHOUSE_TEST_RESULTS"
NAME = "LAKEHOUSE_TEST_RESULTS_NAME"


def register(config: pytest.Config) -> None:
    """Measure this run's tests when a folder for results is set."""
    if not os.environ.get(FOLDER):
        return
    config.pluginmanager.register(Meter(), "lakehouse-meter")
    if not hasattr(config, "workerinput"):
        name = os.environ.get(NAME, "pytest")
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER]), name), "lakehouse-recorder")


class Meter:
    """In the process that runs tests: adds ``used`` (processor seconds) and ``started`` (programs) to each report."""

    def __init__(self) -> None:
        self._started: list[str] = []
        self._before = 0.0
        watch_programs(self._started.append)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Begin to measure before the first fixture is set up."""
        self._before = self._used(item)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Measure up to the end of each phase."""
        report = yield
        now = self._used(item)
        # Attributes of a report travel from a worker to the controller.
        vars(report).update(used=max(0.0, now - self._before), started=list(self._started))
        self._started.clear()
        self._before = now
        return report

    @staticmethod
    def _used(item: pytest.Item) -> float:
        if any(mark.name in ENGINES for mark in item.iter_markers()):
            return used_seconds()
        spent = os.times()  # a look through /proc would cost more than such a test
        return spent.user + spent.system + spent.children_user + spent.children_system


class Recorder:
    """In the process that reports: one line for each phase of each test."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{name}.jsonl").open("a", encoding="utf-8", buffering=1)
        self._write({"run": name, "begun": time.time()})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called for set-up, call and tear-down of each test."""
        self._write(
            {
                "test": report.nodeid,
                "phase": report.when,
                "outcome": report.outcome,
                "seconds": round(report.duration, 3),
                "used": round(getattr(report, "used", 0.0), 3),
                "started": getattr(report, "started", []),
                "worker": getattr(report, "worker_id", ""),
                **({"error": report.longreprtext} if report.failed else {}),
            }
        )

    def pytest_sessionfinish(self) -> None:
        """The run's end, for its wall time."""
        self._write({"ended": time.time()})
        self._file.close()

    def _write(self, facts: dict[str, Any]) -> None:
        self._file.write(json.dumps(facts) + "\n")
