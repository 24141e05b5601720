"""The row of large values: what is sent to the database, the lake that takes it, and how each value compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.dialects import mysql, postgresql

from local_stack.demos import live_values
from local_stack.demos.live_values import EMPTIED, Documents, spec_of
from local_stack.servers.databases import MariaDB, PostgreSQL, Server
from spark_jobs.spec_files.spec_file import load_lake_spec


@pytest.fixture(params=[PostgreSQL, MariaDB], ids=lambda kind: kind.name)
def documents(request: pytest.FixtureRequest) -> Documents:
    server: Server = request.param()
    server.folder.rmdir()  # it is not started
    return Documents(server=server, database="erp")


def test_each_type_has_one_value(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[str] = []
    is_postgres = documents.server.name == "postgresql"
    dialect: Any = postgresql.dialect() if is_postgres else mysql.dialect()

    def note(documents: Documents, *statements: Any) -> None:
        executed.extend(str(each.compile(dialect=dialect)) for each in statements)

    monkeypatch.setattr(Documents, "_run", note)
    documents.create()
    *before, insert = executed
    for name, (kind, value) in documents.columns.items():
        assert any(f"{name} {kind}" in statement for statement in before)
        assert any(f"ALTER {name} SET STORAGE EXTERNAL" in statement for statement in before) == is_postgres
        assert value in insert
    assert insert.count("'first'") == 1


def test_the_lake_has_the_table_as_it_is_there(documents: Documents, tmp_path: Path) -> None:
    spec = load_lake_spec(str(spec_of(documents.schema, tmp_path)))
    (table,) = spec.tables
    assert (table.origins, table.key, table.columns) == ((documents.pattern,), ("id",), ())


def test_a_value_that_is_another_one_is_shown() -> None:
    assert live_values._compared("a", [1], [1]) == "kept"
    assert live_values._compared("a", [1], ["__debezium"]) == "became \"['__debezium']\""
    assert live_values._compared("a", None, None) == "never came"


def test_the_value_that_was_set_to_null_has_to_be_null() -> None:
    assert live_values._compared(EMPTIED, "x", None) == "null"
    assert live_values._compared(EMPTIED, "x", "x") == "was not set to null"
    assert live_values._compared(EMPTIED, None, None) == "never came"
