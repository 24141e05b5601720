"""Words that names, texts and pages do without: what the glossary's terms or plain verbs say better."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from local_stack.layout import PROJECT_ROOT

_WORDS = ("told", "said", "unsaid", "asked", "somebody", "anew", "brought on", "what became of", "without a word")
_STORED = (
    *("lakehouse_told_", '"said"', "history__unsaid", "rows_asked", "lakehouse.asked", 'AUDIT_KEY = "asked"'),
    *('{"told": "reasons"}', "no_more_rows_break_than_are_asked"),
)
"""Names of columns, keys and variables that earlier releases stored."""
_APART = re.compile("told apart", re.IGNORECASE)
_NOT_USED = re.compile(rf"(?<![a-z])({'|'.join(_WORDS)})(?![a-z])", re.IGNORECASE)
_FOLDERS = ("spark_jobs", "plugins", "dags", "local_stack", "bench", "include", "docs")
_SUFFIXES = {".py", ".md", ".sql", ".yaml", ".json"}
_LEFT_OUT = (PROJECT_ROOT / "docs" / "adr", PROJECT_ROOT / "bench" / "results")
"""Decisions stay as they were written, and measured results too."""


def found_in(text: str) -> list[str]:
    """Every such word of a text."""
    for stored in _STORED:
        text = text.replace(stored, "")
    return [match[0].lower() for match in _NOT_USED.finditer(_APART.sub("", text))]


def files() -> list[Path]:
    """Pages, code and what is shipped with it."""
    below = (file for folder in _FOLDERS for file in (PROJECT_ROOT / folder).rglob("*") if file.suffix in _SUFFIXES)
    pages = [PROJECT_ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docker-compose.yaml", "Makefile")]
    return [file for file in (*below, *pages) if not any(file.is_relative_to(folder) for folder in _LEFT_OUT)]


def test_names_texts_and_pages_do_without_these_words() -> None:
    found = {
        f"{file.relative_to(PROJECT_ROOT)}:{number}": words
        for file in files()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if (words := found_in(line))
    }
    assert found == {}


def test_there_are_files_to_look_at() -> None:
    assert {file.suffix for file in files()} >= {".py", ".md", ".sql", ".yaml"}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("told = reported", 1),
        ("def test_what_is_told_again(): ...", 1),
        ("# Asked for by somebody", 2),
        ("rows that are told apart", 0),
        ("F.col('rows_asked')", 0),
        ("untold aforesaid masked basked", 0),
        ("computed anew, because", 1),
    ],
)
def test_such_words_are_found(line: str, count: int) -> None:
    assert len(found_in(line)) == count
