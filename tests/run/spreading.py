"""How tests are spread over the processes of a run, and which test is in which slice."""

from __future__ import annotations

import pytest

from tests.run.levels import SLICES

_ORDER = ("e2e", "services", "hudi", "spark")
"""Levels by how long their modules take: the longest begin first, so that processes end together."""


def check_slices(items: list[pytest.Item]) -> None:
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


def spread(items: list[pytest.Item]) -> None:
    """Keep the tests of a module in one process, those of a named group too, and begin with the slowest level."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    ranks: dict[str, int] = {}
    for item in items:
        module = item.nodeid.partition("::")[0]
        ranks[module] = min(_rank(item), ranks.get(module, len(_ORDER)))
    items.sort(key=lambda item: ranks[item.nodeid.partition("::")[0]])  # stable: the order within a module stays


def _rank(item: pytest.Item) -> int:
    levels = {mark.name for mark in item.iter_markers()}
    return next((rank for rank, level in enumerate(_ORDER) if level in levels), len(_ORDER))
