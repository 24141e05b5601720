"""How tests are spread over the processes of a run, and which test is in which slice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.run.levels import ENGINES, ROOT, SLICES

TOGETHER = ("tests/e2e/stack/", "tests/dags/", "tests/spark_jobs/generator/")
"""Folders whose modules are for one process: they share what is expensive to start."""

_BEYOND_CHECK = (*ENGINES, "slice")
_MARK = re.compile(rf"\bmark\.({'|'.join(_BEYOND_CHECK)})\b")
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


def is_in_check_alone(module: Path) -> bool:
    """True for a module without a mark that takes a test out of `make check`: other runs do not import it.

    Marks are looked for in the text of the module and of the conftest.py files that it shares.
    """
    shared = (folder / "conftest.py" for folder in module.parents if folder.is_relative_to(ROOT))
    return not any(map(_has_mark, (module, *shared)))


@cache
def _has_mark(file: Path) -> bool:
    return file.exists() and _MARK.search(file.read_text(encoding="utf-8")) is not None


def check_marks(items: Sequence[Any]) -> None:
    """Refuse a test whose mark is in no text that :func:`is_in_check_alone` reads: its run would not find the module.

    Raises:
        pytest.UsageError: naming the first such test.
    """
    alone = {module: is_in_check_alone(module) for module in {item.path for item in items}}
    for item in items:
        if alone[item.path] and any(mark.name in _BEYOND_CHECK for mark in item.iter_markers()):
            raise pytest.UsageError(
                f"{item.nodeid} gets a mark from elsewhere; write it in its module, or in a conftest.py of its folders"
            )


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
