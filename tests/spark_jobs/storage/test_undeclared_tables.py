"""Folders below a lake: tables of the spec, undeclared tables, what is kept beside tables, and what is none."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.undeclared_tables import find_other_folders, find_undeclared_tables

SPEC = load_lake_spec(Settings().lake_spec)


def test_tables_that_no_entry_declares_are_found_and_other_folders_apart(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    assert find_undeclared_tables(SPEC, settings) == find_other_folders(SPEC, settings) == []
    for layout in all_layouts(SPEC):
        (tmp_path / layout.name / ".hoodie").mkdir(parents=True)
    for name in ("old_people/.hoodie", "begun/.hoodie/.temp", "exports/day=1", ".consumers/.hoodie", ".serving"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    assert find_undeclared_tables(SPEC, settings) == ["begun", "old_people"]
    assert find_other_folders(SPEC, settings) == ["exports"]
