"""The row of large values: what is sent to the database, the lake that takes it, and how each value compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql

from local_stack.demos import live_values
from local_stack.demos.live_values import COLUMNS, PATTERN, Documents, spec_of
from spark_jobs.spec_files.spec_file import load_lake_spec


def test_each_type_has_one_value_that_is_stored_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[str] = []

    def note(documents: Documents, *statements: Any) -> None:
        executed.extend(str(each.compile(dialect=postgresql.dialect())) for each in statements)

    monkeypatch.setattr(Documents, "_run", note)
    server: Any = None
    Documents(server=server, database="x").create()
    _, create, apart, insert = executed
    for name, (kind, value) in COLUMNS.items():
        assert f"{name} {kind}" in create
        assert f"ALTER {name} SET STORAGE EXTERNAL" in apart
        assert value in insert
    assert insert.count("'first'") == 1


def test_the_lake_has_the_table_as_it_is_there(tmp_path: Path) -> None:
    spec = load_lake_spec(str(spec_of(tmp_path)))
    (table,) = spec.tables
    assert (table.origins, table.key, table.columns) == ((PATTERN,), ("id",), ())


def test_a_value_that_is_another_one_is_shown() -> None:
    assert live_values._compared([1], [1]) == "kept"
    assert live_values._compared([1], ["__debezium"]) == "became \"['__debezium']\""
    assert live_values._compared(None, None) == "never came"
