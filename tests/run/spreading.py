"""How tests are spread over the processes of a run, and which test is in which slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.run.levels import ENGINES, SLICES

TOGETHER = ("tests/e2e/", "tests/dags/")
"""Folders whose modules are for one process: they share what is expensive to start, or start an Airflow each."""

_ORDER = ("faults", *ENGINES)
"""Markers of the units that begin first. The whole campaign of faults is one unit, and takes longer than any other."""


class ModuleScheduling(LoadScopeScheduling):
    """pytest-xdist's scheduler: a module, or a folder of ``TOGETHER``, is a unit of work for one process."""

    def _split_scope(self, nodeid: str) -> str:
        return find_unit(nodeid)


def find_unit(nodeid: str) -> str:
    """The unit of work that a test belongs to."""
    module = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if module.startswith(folder)), module)


def check_slices(items: Sequence[Any]) -> None:
    """Refuse a test that is in several slices, or in one that no run selects.

    Raises:
        pytest.UsageError: naming the first such test.
    """
    for item in items:
        names = {mark.kwargs.get("name") for mark in item.iter_markers("slice")}
        if len(names) > 1 or not names <= SLICES.keys():
            raise pytest.UsageError(
                f"{item.nodeid} is in the slices {sorted(map(str, names))}; a test is in one of {sorted(SLICES)}"
            )


def sort_by_level(items: list[Any]) -> None:
    """Put the units that take longest first, so that processes end together; the order within a unit stays."""
    ranks: dict[str, int] = {}
    for item in items:
        unit = find_unit(item.nodeid)
        levels = {mark.name for mark in item.iter_markers()}
        rank = next((rank for rank, level in enumerate(_ORDER) if level in levels), len(_ORDER))
        ranks[unit] = min(rank, ranks.get(unit, rank))
    items.sort(key=lambda item: ranks[find_unit(item.nodeid)])
