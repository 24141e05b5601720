"""Tests are where their module is: ``tests/`` has the folders of the source tree. CONTRIBUTING.md has the rule."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

import pytest

from tests.house.test_files import PYTHON

WITHOUT_MODULE = {
    "dags": "a DAG file is a table of contents, and each of these modules tests all of them",
    "e2e": "whole runs from the command line to the tables",
    "faults": "a campaign over all writers and services",
    "house": "rules of the tree itself",
    "laws": "promises that several modules keep together",
}
"""Folders of ``tests/`` whose modules test no single module of the source tree, with the reason."""
SOURCES = {"jobs/__init__.py", "jobs/__main__.py", "jobs/split.py", "jobs/erasure/__init__.py", "jobs/erasure/rows.py"}
"""A small source tree for the tests of the rule."""


def is_test(name: str) -> bool:
    return name.startswith("tests/") and PurePosixPath(name).name.startswith("test_")


def is_mirrored(test: str, sources: Collection[str]) -> bool:
    """Whether a module or a package of the sources is what this test module is named after, or its folder is."""
    path = PurePosixPath(test).relative_to("tests")
    if len(path.parts) > 1 and path.parts[0] in WITHOUT_MODULE:
        return True
    name = path.stem.removeprefix("test_")
    counterparts = {f"{path.parent / name}.py", f"{path.parent / name}/__init__.py", f"{path.parent}.py"}
    if name == "main":
        counterparts.add(f"{path.parent}/__main__.py")
    return not counterparts.isdisjoint(sources)


def not_mirrored(names: Collection[str]) -> list[str]:
    """Test modules among the files that have no counterpart among the others."""
    sources = {name for name in names if not name.startswith("tests/")}
    return sorted(name for name in names if is_test(name) and not is_mirrored(name, sources))


def test_every_test_module_has_its_counterpart():
    assert not_mirrored(PYTHON) == []


def test_there_are_test_modules_to_look_at():
    assert sum(is_test(name) for name in PYTHON) > 200
    assert len(not_mirrored([name for name in PYTHON if is_test(name)])) > 150


@pytest.mark.parametrize("folder", WITHOUT_MODULE)
def test_every_folder_without_modules_has_tests(folder):
    assert any(is_test(name) and name.startswith(f"tests/{folder}/") for name in PYTHON)


@pytest.mark.parametrize(
    "test",
    [
        "tests/jobs/test_split.py",
        "tests/jobs/test_erasure.py",
        "tests/jobs/test_main.py",
        "tests/jobs/erasure/test_rows.py",
        "tests/jobs/split/test_any_aspect.py",
        "tests/laws/test_any_promise.py",
        "tests/jobs/conftest.py",
    ],
)
def test_what_has_a_counterpart_is_in_its_place(test):
    assert not_mirrored({*SOURCES, test}) == []


@pytest.mark.parametrize(
    "test",
    [
        "tests/jobs/test_gone.py",
        "tests/jobs/test_split_feed.py",
        "tests/test_split.py",
        "tests/marts/test_split.py",
        "tests/jobs/erasure/test_any_aspect.py",
        "tests/jobs/split/deeper/test_any_aspect.py",
        "tests/jobs/erasure/test_main.py",
        "tests/jobs/laws/test_any_promise.py",
        "tests/test_laws.py",
    ],
)
def test_what_has_none_is_found(test):
    assert not_mirrored({*SOURCES, test}) == [test]


def test_a_test_is_no_counterpart_of_another():
    assert not_mirrored({"tests/tests/test_lakes.py", "tests/lakes.py"}) == ["tests/tests/test_lakes.py"]
