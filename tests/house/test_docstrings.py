"""Public functions that take or give rows name the columns: a reader of one knows what goes in and what comes out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.test_files import ROOT

LIBRARY = ROOT / "spark_jobs"
FILES = (
    *sorted((LIBRARY / "transforms").rglob("*.py")),
    *sorted((LIBRARY / "sources").rglob("*.py")),
    *(
        LIBRARY / name
        for name in ("frames.py", "storage/reader.py", "storage/change_feed.py", "storage/segment_index.py")
    ),
)
"""Where rows are transformed or read."""
NAMES_COLUMNS = re.compile(r"``[^`]+``|:func:`|:meth:`")
"""A column, or the function that gives these columns."""


def without_columns(text: str) -> Iterator[str]:
    """Public functions with a data frame in their signature whose docstring names no column.

    A method without a docstring has the one of the protocol that it fulfils (ruff requires one of every function).
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        arguments = [each.annotation for each in (*node.args.args, *node.args.kwonlyargs) if each.annotation]
        notes = map(ast.unparse, [*arguments, *([node.returns] if node.returns else [])])
        docstring = ast.get_docstring(node)
        if any("DataFrame" in note for note in notes) and docstring and not NAMES_COLUMNS.search(docstring):
            yield node.name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(LIBRARY)))
def test_every_function_that_takes_or_gives_rows_names_columns(file: Path) -> None:
    assert [*without_columns(file.read_text(encoding="utf-8"))] == []


def test_there_are_functions_to_look_at() -> None:
    texts = [file.read_text(encoding="utf-8") for file in FILES]
    assert sum(text.count("DataFrame") for text in texts) > 200


def test_a_function_that_names_none_is_found() -> None:
    wrong = 'def rows(rows_df: DataFrame) -> int:\n    """The rows."""\n'
    right = 'def rows(rows_df: DataFrame) -> int:\n    """The rows, with ``cell_id``."""\n'
    assert [*without_columns(wrong)] == ["rows"]
    assert [*without_columns(right)] == []
