"""Documents know their places: entries built in any way get their line, and names that are there twice are reported.

Every case is a short text whose lines can be counted by eye.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.places import DocumentPlace, Entries, Items, find_place
from spark_jobs.spec_files.documents import build, mapping, read_document, section
from spark_jobs.spec_files.mistakes import Mistakes, placed_text
from spark_jobs.spec_files.placed_yaml import load_yaml

THINGS = """\
things:
  - {name: right, size: 1}
  - name: large
    size: huge
  - name: flat
    sizes: 3
  - 7
  - {size: 2}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    name: str
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    name: str
    size: int


def read(path: Path, text: str) -> Any:
    path.write_text(text, encoding="utf-8")
    return read_document(path, what="things", then="correct them")


def as_it_is(item: Any) -> Any:
    return build(Thing, mapping(item, "a thing"), "thing")


def as_a_copy(item: Any) -> Any:
    """As code builds an entry that knows nothing of places."""
    return build(Thing, {**mapping(item, "a thing")}, "thing")


@pytest.mark.parametrize("make", [as_it_is, as_a_copy])
def test_each_entry_is_built_on_its_own_and_reported_with_its_line(tmp_path: Path, make: Callable[[Any], Any]):
    path = tmp_path / "things.yaml"
    document, found = read(path, THINGS), Mistakes()
    made, kept = found.each("things", document["things"], make)
    assert made == (Thing(name="right", size=1), Thing(name="large"), Thing(name="flat"))  # without what is wrong
    assert kept == document["things"][:3]
    assert kept.places == {number: DocumentPlace(file=str(path), line=line) for number, line in enumerate((2, 3, 5))}
    assert [placed_text(error).removeprefix(f"{path}:") for error in found.errors] == [
        "4: thing: size is 'huge'; give a whole number",
        "6: thing: unknown entries ['sizes']; write size; known are name, size",
        "7: a thing must be a mapping of names to values; write a line name: value for each",
        "8: thing: missing 1 required keyword-only argument: 'name'; add the entry name",
    ]
    assert found.is_unread("things", "any")  # two have no name


def test_an_entry_that_cannot_be_made_may_be_referred_to(tmp_path: Path):
    document, found = (
        read(tmp_path / "a.yaml", "- {name: a, size: 1}\n- {name: b, size: huge}\n- {name: c}\n"),
        Mistakes(),
    )
    made, _ = found.each("things", document, lambda item: build(Sized, mapping(item, "a thing"), "thing"))
    assert made == (Sized(name="a", size=1),)
    assert [found.is_unread("things", name) for name in "abc"] == [False, True, True]


def test_what_is_known_to_be_unread_is_no_mistake_elsewhere():
    found = Mistakes()
    found.leave_out("columns", "price")
    for name in ("price", "prize"):
        found.add(ContractError(f"there is no {name}; add it", lacks=("columns", name)))
        found.add(ContractError(f"there is no table {name}; add it", lacks=("tables", name)))
    assert list(map(str, found.errors)) == [
        "there is no table price; add it",
        "there is no prize; add it",
        "there is no table prize; add it",
    ]


def test_a_section_has_the_place_of_its_name(tmp_path: Path):
    document = read(tmp_path / "a.yaml", "first: 1\nthing:\n\n  name: x\n")
    places = [document["thing"].place, section(document, "thing", "a thing").place]
    assert places == [DocumentPlace(file=str(tmp_path / "a.yaml"), line=line) for line in (4, 2)]
    assert section(document, "other", "another") == {}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: 1\nb: 2\na: 3\na: 4\n", [(1, 3), (1, 4)]),
        ("x:\n  - {a: 1,\n     a: 2}\ny: {b: 1, b: 2}\n", [(2, 3), (4, 4)]),
        ("base: &base {a: 1}\nx: {<<: *base, a: 2}\n", []),
    ],
)
def test_a_name_that_is_there_twice_is_reported_with_both_lines(
    tmp_path: Path, text: str, lines: list[tuple[int, int]]
):
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    found = Mistakes()
    read_document(path, what="things", then="correct them", found=found)
    assert [error.place for error in found.errors] == [DocumentPlace(file=str(path), line=line) for _, line in lines]
    assert [str(error).split(", ")[1] for error in found.errors] == [
        f"on lines {first} and {line}; keep one of them" for first, line in lines
    ]
    if lines:
        with pytest.raises(ContractError, match=rf"^{path}:{lines[0][1]}: '.' is there twice"):
            read_document(path, what="things", then="correct them")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a: 1\nb: [\n", 3),
        (b"a: 1\nb: \xff\n", 2),
        (b"a: 1\n\nb: \0\n", 3),
        (b"a: 1\nb: 2026-02-30\n", 2),
        (b"a: 1\nb: !!int x\n", 2),
        (b"a: 1\nb: !mine x\n", 2),
        (b"a: 1\nb: !!set {x}\n", 2),
        (b"b: 1\na: &a\n  b: *a\n", 2),
        (b"a: 1\n? [b]\n: 2\n", 2),
        (b"[" * 600, 1),  # more than Python calls itself; the time it takes grows with the square
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(tmp_path: Path, content: bytes, line: int):
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(SettingsError, match="cannot be read") as caught:
        read_document(tmp_path / "a.yaml", what="things", then="correct them")
    assert caught.value.place == DocumentPlace(file=str(tmp_path / "a.yaml"), line=line)


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False) | st.dates()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


@given(documents, st.booleans())
def test_a_document_is_what_the_safe_loader_makes_of_it(document: Any, is_flow: bool):
    text = yaml.safe_dump(document, default_flow_style=is_flow, allow_unicode=False)
    read, twice = load_yaml(text, "a.yaml")
    assert (read, twice) == (yaml.safe_load(text), [])


@given(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, min_size=1, max_size=9), st.data())
def test_every_name_and_item_has_the_line_it_is_written_on(names: list[str], data: st.DataObject):
    gaps = [data.draw(st.integers(0, 3)) for _ in names]
    lines, text = [], ""
    for name, gap in zip(names, gaps, strict=True):
        text += "# a comment\n" * gap
        lines.append(text.count("\n") + 1)
        text += f"{name}:\n  - one\n  - two: {{x: 1,\n      y: 2}}\n"
    document, _ = load_yaml(text, "a.yaml")
    assert isinstance(document, Entries)
    for name, line in zip(names, lines, strict=True):
        assert isinstance(document[name], Items)
        steps: dict[tuple[Any, ...], int] = {(): 0, (0,): 1, (1,): 2, (1, "two", "x"): 2, (1, "two", "y"): 3, (7,): 0}
        found = {way: find_place(document, (name, *way)) for way in steps}
        assert {way: place and place.line for way, place in found.items()} == {w: line + n for w, n in steps.items()}
