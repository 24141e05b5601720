"""docs/sizing.md has the tables that `sizing` computes from the weights in bench/results."""

from __future__ import annotations

import pytest

from local_stack.errors import SetupError
from local_stack.pages.sizing_page import PAGE, build_sheets, fill
from spark_jobs.sizing.sheets import Sheet

pytestmark = pytest.mark.slice(name="tables")

SHEET = Sheet(title="t", head=("a", "b"), rows=[("1", "2")], notes=["n"])


def test_the_page_has_what_the_tool_prints():
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text, build_sheets()) == text, "run: python -m local_stack.pages.sizing_page"


def test_tables_go_to_their_places():
    page = "x\n<!-- sizing: one -->\nold\n<!-- end -->\ny\n"
    filled = fill(page, {"one": SHEET})
    assert filled == "x\n<!-- sizing: one -->\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n* n\n<!-- end -->\ny\n"
    assert fill(filled, {"one": SHEET}) == filled


@pytest.mark.parametrize("names", [[], ["other"], ["one", "other"]])
def test_a_table_without_a_place_or_a_place_without_a_table_is_refused(names: list[str]):
    with pytest.raises(SetupError, match="match them"):
        fill("<!-- sizing: one -->\n<!-- end -->\n", dict.fromkeys(names, SHEET))
