"""A pytest plugin: leaves out what is outside the short run, and writes what each other test did.

The record is JSON, in the file that `LAKEHOUSE_MUTANTS_RECORD` names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

VARIABLE = "LAKEHOUSE_MUTANTS_RECORD"
SLICE = "slice"
"""The marker of tests outside the short run."""
_tests: dict[str, dict[str, object]] = {}


def pytest_configure() -> None:
    """Hypothesis stops at the first failure: a planted bug has to be found, and its smallest example is of no use."""
    phases = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
    settings.register_profile("mutants", deadline=None, derandomize=True, phases=phases)
    settings.load_profile("mutants")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that `make test` does not run."""
    outside = [item for item in items if item.get_closest_marker(SLICE)]
    config.hook.pytest_deselected(items=outside)
    items[:] = [item for item in items if item not in outside]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the tests that are to be run, with the names of their markers."""
    for item in session.items:
        marks = sorted({mark.name for mark in item.iter_markers()})
        _tests[item.nodeid] = {"marks": marks, "outcome": "not run", "seconds": 0.0}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test failed when any of its phases did; it passed when its call did and nothing failed."""
    test = _tests[report.nodeid]
    test["seconds"] = float(str(test["seconds"])) + report.duration
    if report.failed or (report.when == "call" and test["outcome"] != "failed"):
        test["outcome"] = report.outcome


def pytest_sessionfinish() -> None:
    """Write the record, also when the run was stopped at its first failure."""
    Path(os.environ[VARIABLE]).write_text(json.dumps(_tests), encoding="utf-8")
