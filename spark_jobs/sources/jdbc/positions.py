"""The position a database has now: a snapshot's events carry it, later changes win over them, earlier ones do not.

What it must be: every change below it is in what is read afterwards. A change above it may be there as well, and its
own event wins over the row once more, and so does each that follows it; in the end the newest one stands.

And no other event has it: it lies just below the place that the log grows at, where no change begins. So rows of a
snapshot are in the lake if they were read by that snapshot, and need not be looked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.contracts.jdbc import Dialect, SourceTable

Ask = Callable[..., Sequence[Mapping[str, Any]]]
"""Runs a query, and gives its rows; with ``session_init`` its session runs that first."""
WAIT_SECONDS = 300.0
_POLL_SECONDS = 1.0
_LSN_DIGITS = (8, 8, 4)

_WAL = (
    "SELECT current_database() AS db, "
    "CASE WHEN NOT pg_is_in_recovery() THEN CAST(pg_current_wal_lsn() - '0/0' AS text) END AS lsn"
)
# A number of its own: the snapshot's xmax is no bound, since transactions above it may be open already.
_NEXT_TRANSACTION = "SELECT CAST(pg_current_xact_id() AS text) AS number"
_OLDEST_TRANSACTION = "SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS number"
_VERSION = "SELECT VERSION() AS version"
_MARIADB_BINLOG = (
    "SELECT (SELECT variable_value FROM information_schema.session_status "
    "WHERE variable_name = 'BINLOG_SNAPSHOT_FILE') AS file, (SELECT variable_value FROM "
    "information_schema.session_status WHERE variable_name = 'BINLOG_SNAPSHOT_POSITION') AS pos"
)
_MYSQL_BINLOG = (
    "SELECT JSON_UNQUOTE(JSON_EXTRACT(`LOCAL`, '$.binary_log_file')) AS file, "
    "JSON_UNQUOTE(JSON_EXTRACT(`LOCAL`, '$.binary_log_position')) AS pos FROM performance_schema.log_status"
)
_DATABASE = {
    Dialect.POSTGRESQL: "SELECT current_database() AS db",
    Dialect.SQLSERVER: "SELECT DB_NAME() AS db",
}
_CDC = "SELECT DB_NAME() AS db, CONVERT(varchar(20), sys.fn_cdc_get_max_lsn(), 2) AS lsn"


def ask_database(dialect: Dialect, table: SourceTable, ask: Ask) -> str:
    """The name of the database that a table is in, as the connector's events have it."""
    if dialect is Dialect.MYSQL:
        return table.schema
    return str(ask(_DATABASE[dialect])[0]["db"])


def ask_position(dialect: Dialect, table: SourceTable, ask: Ask) -> dict[str, Any]:
    """What the source block of a snapshot's events says of connector, database, table and position.

    Raises:
        SettingsError: the database has no position, or does not tell it.
        TransientError: transactions that had begun before do not end.
    """
    if dialect is Dialect.POSTGRESQL:
        return _of_postgresql(table, ask)
    if dialect is Dialect.MYSQL:
        return _of_mysql(table, ask)
    return _of_sqlserver(table, ask)


def _of_postgresql(table: SourceTable, ask: Ask) -> dict[str, Any]:
    found = ask(_WAL)[0]
    if found["lsn"] is None:
        raise SettingsError(
            "the PostgreSQL server is a standby, which does not report which transactions were open at its position; "
            "name its primary in LAKEHOUSE_JDBC_URL"
        )
    _await_transactions(ask)
    lsn = max(int(found["lsn"]) - 1, 0)
    block = {"connector": "postgresql", "db": found["db"], "schema": table.schema, "table": table.name}
    return {**block, "lsn": lsn}


def _await_transactions(ask: Ask) -> None:
    """Wait until each transaction has ended that may have written something below the position.

    A change is ordered by where it is in the log, and not by its commit: one that is still open would be read as if it
    had not been, and lose against what was there before it.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    after = int(ask(_NEXT_TRANSACTION)[0]["number"])
    while int(ask(_OLDEST_TRANSACTION)[0]["number"]) < after:
        if time.monotonic() > deadline:
            raise TransientError(
                f"transactions that were open when the snapshot began have not ended in {WAIT_SECONDS:.0f} s; end them "
                f"(pg_stat_activity and pg_prepared_xacts show which), or run the job again later"
            )
        time.sleep(_POLL_SECONDS)


def _of_mysql(table: SourceTable, ask: Ask) -> dict[str, Any]:
    is_mariadb = "mariadb" in str(ask(_VERSION)[0]["version"]).lower()
    if is_mariadb:
        # Of the transaction's own view: what is below it is committed in the tables, not in the binlog alone.
        found = ask(_MARIADB_BINLOG, session_init="START TRANSACTION WITH CONSISTENT SNAPSHOT")[0]
    else:
        found = ask(_MYSQL_BINLOG)[0]  # the server makes it agree with the tables itself
    if not found["file"] or not found["pos"]:
        raise SettingsError(
            "the server keeps no binlog, so changes that come after a snapshot could not be distinguished from earlier "
            "ones; turn it on (log_bin, binlog_format=ROW)"
        )
    block = {"connector": "mariadb" if is_mariadb else "mysql", "db": table.schema, "table": table.name}
    return {**block, "file": found["file"], "pos": max(int(found["pos"]) - 1, 0), "row": 0}


def _of_sqlserver(table: SourceTable, ask: Ask) -> dict[str, Any]:
    found = ask(_CDC)[0]
    if not found["lsn"]:
        raise SettingsError(
            f"database {found['db']} has no position of change data capture; turn it on (sys.sp_cdc_enable_db, "
            f"sys.sp_cdc_enable_table) and see that SQL Server Agent runs"
        )
    block = {"connector": "sqlserver", "db": found["db"], "schema": table.schema, "table": table.name}
    return {**block, "commit_lsn": _as_lsn(found["lsn"]), "change_lsn": None, "event_serial_no": 1}


def _as_lsn(digits: str) -> str:
    """Twenty hexadecimal digits as Debezium writes an LSN: ``00000027:00000ac0:0002``."""
    first, second, _ = _LSN_DIGITS
    text = digits.lower()
    return f"{text[:first]}:{text[first : first + second]}:{text[first + second :]}"
