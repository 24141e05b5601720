"""Data Docs beside the tables: what Great Expectations wrote, freed of what it would fetch, with a first page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_jobs.contracts.instants import Instant
from spark_jobs.quality.docs_pages import Line, first_page, self_contained
from spark_jobs.quality.holds import FOLDER
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.storage.filesystem import Filesystem

DOCS = f"{FOLDER}/docs"
"""Folder of the lake in which Data Docs are."""


def publish_docs(
    folder: Path, lake: str, clock: str, found: Mapping[str, tuple[Instant, Iterable[Verdict]]], files: Filesystem
) -> None:
    """Make the site in ``folder`` one that fetches nothing, write its first page, and copy it beside the tables.

    Pages of tables that are gone go with the old site.

    Args:
        folder: what Great Expectations wrote.
        lake: its name.
        clock: of the run, for people.
        found: of each table the instant as of which it was checked, and the verdicts.
        files: of the lake.
    """
    pages = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    for path in pages.values():
        path.write_text(self_contained(path.read_text(encoding="utf-8")), encoding="utf-8")
    of_table = {name: next(page for page in pages if page.startswith(f"validations/{name}/")) for name in found}
    lines = (
        Line(
            table=name,
            instant=instant,
            name=each.expectation.name,
            expected=each.expectation.expected,
            checked=each.checked,
            broken=each.broken,
            outcome="holds" if each.outcome is Outcome.HELD else each.outcome,
            page=of_table[name],
        )
        for name, (instant, verdicts) in found.items()
        for each in verdicts
    )
    (folder / "index.html").write_text(first_page(lake, clock, lines), encoding="utf-8")
    _copy(folder, files)


def _copy(folder: Path, files: Filesystem) -> None:
    made = {f"{DOCS}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
    for name, path in sorted(made.items()):
        files.write(name, path.read_bytes())
    for entry in files.list_files(DOCS, recursive=True):
        name = f"{DOCS}/{entry.path.partition(f'{DOCS}/')[2]}"
        if name not in made:
            files.delete(name)
