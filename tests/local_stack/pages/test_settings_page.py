"""docs/settings.md has every variable that the code reads, and its table is that of the class today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from local_stack.pages.settings_page import PAGE, fill

VARIABLE = re.compile(r"\bLAKEHOUSE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b")
_OF_TESTS = {"LAKEHOUSE_TEST_RESULTS", "LAKEHOUSE_TEST_SLICE"}
_FOLDERS = ("spark_jobs", "plugins", "dags", "local_stack")


def variables_of(*files: Path) -> set[str]:
    return {name for file in files for name in VARIABLE.findall(file.read_text(encoding="utf-8"))}


def test_the_page_is_that_of_the_class() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text) == text, "run: python -m local_stack.pages.settings_page"


def test_every_variable_of_the_code_is_on_the_page() -> None:
    named = variables_of(*(file for folder in _FOLDERS for file in (PROJECT_ROOT / folder).rglob("*.py")))
    assert len(named) > 20
    assert named - variables_of(PAGE) - _OF_TESTS == set()


def test_every_page_that_the_table_names_is_there() -> None:
    pages = re.findall(r"\]\(([\w-]+\.md)", PAGE.read_text(encoding="utf-8"))
    assert len(pages) > 5
    assert [page for page in pages if not (PAGE.parent / page).is_file()] == []


@pytest.mark.parametrize("text", ["# Settings\n", "<!-- settings -->\n<!-- end -->\n" * 2])
def test_a_page_without_one_place_for_the_table_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match=r"mark one by <!-- settings -->"):
        fill(text)
