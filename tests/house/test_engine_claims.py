"""What an engine shows of a merge-on-read table is written once, in docs/catalogs.md; other pages link there.

Three pages contradicted each other about Athena. A paragraph that names an engine beside base files, log files or
compaction makes such a claim.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_jobs.lake_spec.tables import ColumnType, TableType
from spark_jobs.spec_files.spec_file import load_lake_spec

ROOT = Path(__file__).resolve().parents[2]
PLACE, CHAPTER = ROOT / "docs" / "catalogs.md", "catalogs.md#what-each-engine-shows"
PAGES = [
    page
    for page in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs/runbooks").glob("*.md")),
    )
    if page.name != "testing.md"
]
"""All pages but the generated table of planted bugs."""
ENGINE = re.compile(r"\b(?:Athena|Trino)\b")
CLAIM = re.compile(r"base files?\b|log files?\b|compact|merge-on-read|_r[ot]\b", re.IGNORECASE)


def claims(text: str) -> list[str]:
    """Paragraphs, and rows of tables, that say what an engine shows, without saying where that is from."""
    parts = re.split(r"\n\s*\n|\n(?=\||[*-] )", text)
    return [part for part in parts if ENGINE.search(part) and CLAIM.search(part) and CHAPTER not in part]


@pytest.mark.parametrize("page", [page for page in PAGES if page != PLACE], ids=lambda page: page.name)
def test_a_page_that_says_what_an_engine_shows_links_the_one_place(page: Path) -> None:
    assert claims(page.read_text(encoding="utf-8")) == []


def test_such_claims_are_found() -> None:
    """The three sentences that contradicted each other are claims; what is there now links, and there is some of it."""
    old = (
        "Engines that read base files alone (Trino, Athena) see the log and the marts at once too.",
        "* `_ro` views, and Trino's and Athena's reads of merge-on-read tables, show what compaction has reached.",
        "| `<table>_rt` | every commit, in engines that read log files (Athena does; Trino shows base files) |",
    )
    assert [len(claims(text)) for text in old] == [1, 1, 1]
    assert sum(CHAPTER in page.read_text(encoding="utf-8") for page in PAGES) >= 4


def test_the_page_names_the_shipped_tables_that_athena_shows_late() -> None:
    spec = load_lake_spec(str(ROOT / "include" / "lakes" / "sales.yaml"))
    late = {
        table.name: [n for n in table.columns if spec.columns_by_name[n].type is ColumnType.TIMESTAMP]
        for table in spec.tables
        if table.type is TableType.MERGE_ON_READ
    }
    rows = re.findall(r"^\| Athena \| (with\w*) .*$", PLACE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == ["without", "with"]
    without, having = re.findall(r"^\| Athena \| with.*$", PLACE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name in late if f"`{name}`" in without} == {name for name, columns in late.items() if not columns}
    named = {name: columns for name, columns in late.items() if columns}
    assert named
    assert all(f"`{name}`" in having and f"`{each}`" in having for name, columns in named.items() for each in columns)
