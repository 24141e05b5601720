"""YAML is read by libyaml where it is there: the same values at the same lines as by PyYAML's own parser."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.places import Entries, Items
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.spec_files.placed_yaml import load_yaml

SHIPPED = sorted(
    file
    for folder in ("lakes", "marts", "expectations")
    for file in (PROJECT_ROOT / "include" / folder).rglob("*.yaml")
)
PARTS: tuple[str, ...] = (
    "a",
    "b: ",
    "- ",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    '"',
    "#",
    "1",
    "0x1F",
    "2026-01-01",
    "&x ",
    "*x",
    "? ",
)
PARTS += ("|", ">", "<<: ", "null", "yes", "\u00e4", "\t", ":", "!!str ", "\\", "\x85", "%", "@", "---\n", "...\n")


def outcome(text: str) -> object:
    """Values with their lines, or that it is refused: the sentence is the parser's own."""
    try:
        value, twice = load_yaml(text, "f.yaml")
    except (yaml.YAMLError, ValueError):
        return "refused"
    return placed(value), [(str(error), error.place) for error in twice]


def placed(value: object) -> object:
    if isinstance(value, Entries):
        return value.place, [(name, value.places[name], placed(each)) for name, each in value.items()]
    if isinstance(value, Items):
        return value.place, [(value.places[at], placed(each)) for at, each in enumerate(value)]
    return repr(value)


def without_libyaml(text: str) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader")
        return outcome(text)


def test_libyaml_is_there_and_so_are_shipped_files():
    assert yaml.__with_libyaml__
    assert len(SHIPPED) > 5


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.name)
def test_shipped_files_are_read_alike(file: Path):
    text = file.read_text(encoding="utf-8")
    assert outcome(text) == without_libyaml(text) != "refused"


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_any_text_is_read_alike(text: str):
    assert outcome(text) == without_libyaml(text)
