"""Large values of a real database followed into a lake.

A row has a value of each type, large enough for PostgreSQL to store it apart (TOAST). Then another column of the row
changes, and one is set to null. Of PostgreSQL the connector sends a placeholder for each value that it did not read
again, in the form of its type, and the lake keeps what it had; of MariaDB every value comes again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml

from local_stack.demos.job_command import run_job
from local_stack.demos.lake_view import read_with_rust
from local_stack.lakes import make_lakes
from local_stack.servers.databases import Server
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.timeline import Timeline

TABLE = "documents"
LIMIT_SECONDS = 300.0
_HASH = "md5(CAST(n AS text))"
_JOINED = "string_agg(md5(CAST(n AS text)), '')"
_POSTGRESQL: Mapping[str, tuple[str, str]] = {
    "a_text": ("text", _JOINED),
    "a_json": ("json", f"json_agg({_HASH})"),
    "a_jsonb": ("jsonb", f"jsonb_agg({_HASH})"),
    "a_bytea": ("bytea", f"decode({_JOINED}, 'hex')"),
    "a_number": ("numeric", f"translate({_JOINED}, 'abcdef', '123456')::numeric"),
    "texts": ("text[]", f"array_agg({_HASH})"),
    "varchars": ("varchar(40)[]", f"array_agg({_HASH}::varchar(40))"),
    "integers": ("int[]", "array_agg((n * 7919)::int)"),
    "bigints": ("bigint[]", "array_agg(n * 79190000019)"),
    "dates": ("date[]", "array_agg(DATE '1990-01-01' + n::int)"),
    "uuids": ("uuid[]", f"array_agg({_HASH}::uuid)"),
    "jsonbs": ("jsonb[]", f"array_agg(to_jsonb({_HASH}))"),
    "bytes": ("bytea[]", f"array_agg(decode({_HASH}, 'hex'))"),
    "pairs": ("hstore", f"hstore(array_agg(n::text), array_agg({_HASH}))"),
    "emptied": ("text", _JOINED),
}
_MARIADB: Mapping[str, tuple[str, str]] = {
    "a_text": ("longtext", "GROUP_CONCAT(MD5(n))"),
    "a_json": ("json", "JSON_ARRAYAGG(MD5(n))"),
    "a_blob": ("longblob", "UNHEX(REPEAT(MD5(MAX(n)), 2000))"),
    "a_number": ("decimal(65, 30)", "CAST(REPEAT('7', 35) AS decimal(65, 30)) + MAX(n) / 3"),
    "emptied": ("longtext", "GROUP_CONCAT(MD5(n))"),
}
"""Type of each large column, and its value as an aggregate of some numbers ``n``."""
EMPTIED = "emptied"
"""The column that is set to null."""
_COUNT = 1_000
"""Of each value more than PostgreSQL leaves in a row, of all together less than a message of Kafka may have."""
_SEQUENCE = sa.table(f"seq_1_to_{_COUNT}")
"""MariaDB makes such a table for whoever reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The table with one row, in a database that is there."""

    server: Server
    database: str

    @property
    def columns(self) -> Mapping[str, tuple[str, str]]:
        """Its large columns."""
        return _POSTGRESQL if self.server.name == "postgresql" else _MARIADB

    @property
    def schema(self) -> str:
        """What the table's name begins with in the connector's messages."""
        return "public" if self.server.name == "postgresql" else self.database

    @property
    def pattern(self) -> str:
        """Its name, as the connector takes it."""
        return f"{self.schema}.{TABLE}"

    def create(self) -> None:
        """Make and fill it, before the connector starts: its snapshot has the row with every value."""
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in self.columns.items())
        made = {"id": "1", "note": "'first'", **{name: value for name, (_, value) in self.columns.items()}}
        create = sa.text(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, note varchar(60), {columns})")
        row: Any = sa.select(*map(sa.literal_column, made.values()))
        insert = sa.insert(sa.table(TABLE, *map(sa.column, made)))
        if self.server.name == "postgresql":
            apart = ", ".join(f"ALTER {name} SET STORAGE EXTERNAL" for name in self.columns)
            numbers: sa.FromClause | sa.TextClause = sa.text(f"generate_series(1::bigint, {_COUNT}) AS n")
            before = [sa.text("CREATE EXTENSION IF NOT EXISTS hstore"), create, sa.text(f"ALTER TABLE {TABLE} {apart}")]
        else:
            numbers = sa.select(sa.literal_column("seq").label("n")).select_from(_SEQUENCE).subquery("numbers")
            before = [create]
        self._run(*before, insert.from_select([*made], row.select_from(numbers)))

    def change(self) -> None:
        """Change what is small in the row, and set one value to null; nothing else is written to the database's log."""
        self._run(sa.text("UPDATE documents SET note = 'second', emptied = NULL WHERE id = 1"))

    def _run(self, *statements: sa.Executable) -> None:
        engine = sa.create_engine(self.server.url(self.database), poolclass=sa.NullPool)
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(statement)


def spec_of(schema: str, folder: Path) -> Path:
    """The lake spec of a lake that has this table alone."""
    path = folder / f"{TABLE}.yaml"
    document = {
        "lake": TABLE,
        "source": {"topics": [f"*.{TABLE}"]},
        "log": f"{TABLE}_log",
        "quarantine": f"{TABLE}_quarantine",
        "quality": {"table": f"{TABLE}_quality"},
        "tables": [{"name": TABLE, "from": {"database": schema, "table": TABLE}, "key": ["id"]}],
    }
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def follow(documents: Documents, environ: Mapping[str, str], folder: Path) -> list[tuple[str, str]]:
    """Ingest the row, change it at the source, ingest that; gives for each large column what its value is then.

    `kept`, or `null` for the one that was set to null; else what it became.

    Raises:
        TransientError: the lake does not show the row, or the change.
        SetupError: a job failed.
    """
    settings = replace(
        Settings.from_environment(dict(environ)),
        base_path=f"{environ['LAKEHOUSE_BASE_PATH']}-{TABLE}",
        lake_spec=str(spec_of(documents.schema, folder)),
    )
    own = {**environ, "LAKEHOUSE_BASE_PATH": settings.base_path, "LAKEHOUSE_LAKE_SPEC": settings.lake_spec}
    make_lakes(own)
    before = _wait_for("first", settings, own)
    documents.change()
    after = _wait_for("second", settings, own)
    return [(name, _compared(name, before[name], after[name])) for name in documents.columns]


def _compared(name: str, before: Any, after: Any) -> str:
    if before is None:
        return "never came"
    if name == EMPTIED and after is None:
        return "null"
    if name == EMPTIED:
        return "was not set to null"
    return "kept" if after == before else f"became {str(after)[:60]!r}"


def _wait_for(note: str, settings: Settings, environ: Mapping[str, str]) -> dict[str, Any]:
    """Run the jobs until the row says so; gives the row."""
    deadline, path = time.monotonic() + LIMIT_SECONDS, settings.table_path(TABLE)
    while time.monotonic() < deadline:
        run_job(["ingest"], environ)
        run_job(["split"], environ)
        if Timeline(table=TABLE, path=path).last:
            rows = read_with_rust(path)
            if rows and rows[0]["note"] == note:
                return rows[0]
    raise TransientError(f"{TABLE}: the lake does not show note = {note!r} after {LIMIT_SECONDS:.0f} s")
