"""Pictures of a lake: boxes with a place each, and lines between them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spark_jobs.lake_docs.diagrams import entity_diagram, lineage_diagram
from spark_jobs.lake_docs.facts import LakeDoc, facts_of
from spark_jobs.lake_docs.relations import relations_of
from tests.support.seen_lakes import MART, NOW, SPEC, empty_lake


@pytest.fixture
def doc(tmp_path: Path) -> LakeDoc:
    return facts_of(SPEC, empty_lake(tmp_path).settings, NOW)


def boxes_of(picture: str) -> dict[str, tuple[int, int, int]]:
    """Left, top and bottom of each box, by its title."""
    found = {}
    for box in ElementTree.fromstring(picture).iter("rect"):
        title = box.find("title")
        assert title is not None
        x, y, height = (int(box.attrib[name]) for name in ("x", "y", "height"))
        found[title.text or ""] = (x, y, y + height)
    return found


def lines_of(picture: str) -> set[str]:
    return {title.text or "" for line in ElementTree.fromstring(picture).iter("path") for title in line.iter("title")}


def test_each_relation_is_a_line_and_no_box_covers_another(doc: LakeDoc):
    relations = relations_of(SPEC)
    picture = entity_diagram(doc, relations)
    boxes = boxes_of(picture)
    assert boxes.keys() == {table.name for table in SPEC.tables}
    assert len(lines_of(picture)) == len(relations)
    places = sorted(boxes.values())
    assert all(x != left or y >= bottom for (left, _, bottom), (x, y, _) in pairwise(places))


def test_what_is_made_of_something_is_right_of_it(doc: LakeDoc):
    picture = lineage_diagram(doc)
    boxes = boxes_of(picture)
    for line in lines_of(picture):
        source, _, target = line.partition(" to ")
        assert boxes[source][0] < boxes[target][0], line
    assert set(SPEC.table_names) <= boxes.keys()


def test_around_a_table_is_what_it_is_made_of_and_nothing_else(doc: LakeDoc):
    boxes = boxes_of(lineage_diagram(doc, MART))
    assert boxes.keys() == {*SPEC.source.topics, SPEC.log, "sales", "units", MART}
    assert boxes_of(lineage_diagram(doc, SPEC.quality.table)).keys() == {SPEC.quality.table}
