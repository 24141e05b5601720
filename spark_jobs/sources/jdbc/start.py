"""The beginning of a snapshot: the database's position first, then what the table is like."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import JdbcColumn
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.snapshots import Snapshot
from spark_jobs.job_options.snapshot import SnapshotOptions
from spark_jobs.sources.jdbc.database import JdbcDatabase
from spark_jobs.sources.jdbc.parts import CUTTABLE, part_count, to_bound

PART_ROWS = 50_000
"""Rows of a part, where the number of parts is not given."""


def begin(
    database: JdbcDatabase,
    table: SourceTable,
    columns: Sequence[JdbcColumn],
    options: SnapshotOptions,
    *,
    clock: datetime,
) -> Snapshot:
    """A snapshot of which nothing was read yet.

    Raises:
        ContractError: parts cannot be made by the column that was given.
        SettingsError: the database has no position, or refuses to give it.
    """
    column = _partition_column(options.partition_column, columns, table)
    position = database.dialect.read_position(table, database.query)
    found = database.query(database.dialect.extent(table, column))[0]
    rows = int(found["counted"])
    moment = int(clock.timestamp() * 1000)
    source = {**position, "name": options.server_name, "ts_ms": moment, "snapshot": "true"}
    if column is None or found["low"] is None:
        return _snapshot(source, rows=rows)
    kind = database.dialect.cut_kind(column)
    low, high = (to_bound(kind, found[end], column.name) for end in ("low", "high"))
    parts = part_count(low, high, options.parts or -(-rows // PART_ROWS))
    return _snapshot(source, rows=rows, column=column.name, kind=kind.value, low=low, high=high, parts=parts)


def _partition_column(name: str, columns: Sequence[JdbcColumn], table: SourceTable) -> JdbcColumn | None:
    if not name:
        return None
    column = next((each for each in columns if each.name == name), None)
    if column is None:
        names = show_all(each.name for each in columns)
        raise ContractError(f"--partition-column {show(name)}: {table} has no such column; it has {names}")
    if column.kind not in CUTTABLE:
        raise ContractError(
            f"--partition-column {show(name)} is neither a number nor a date; choose another column, or none"
        )
    return column


def _snapshot(
    source: dict[str, object],
    *,
    rows: int,
    column: str = "",
    kind: str = "integer",
    low: int = 0,
    high: int = 0,
    parts: int = 1,
) -> Snapshot:
    return Snapshot(
        source=source, column=column, kind=kind, low=low, high=high, parts=parts, done=0, expected=rows, read=0
    )
