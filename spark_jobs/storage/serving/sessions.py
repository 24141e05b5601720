"""Sessions with the serving store: what is set in each, and how one writer of a mart keeps the others waiting."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spark_jobs.contracts.errors import SettingsError, TableBusyError
from spark_jobs.storage.serving.address import VARIABLE, Database, ServingAddress
from spark_jobs.storage.serving.failures import translated_failures

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_CONNECT_SECONDS = 10
_DDL_WAIT_SECONDS = 10
"""How long a change of a table waits for its readers: all who come after it wait behind it."""
_SQLITE_PAUSE_SECONDS = 0.02
_TRANSPORT_SECONDS = 60
"""After which what was sent and never acknowledged ends a connection, which takes the system minutes by default."""
_ANSWER_SECONDS = 900
"""How long a statement may take, beside what it waits for others, before its server counts as gone."""
_SILENT_SECONDS = 900
"""A writer that says nothing for so long has died on a machine of its own: the server takes its locks away."""


class ServingSessions:
    """Opens sessions, one connection each, closed at the end: nothing is kept that a restarted server has forgotten."""

    def __init__(self, address: ServingAddress, *, wait_seconds: int) -> None:
        """Connect to nothing yet; ``wait_seconds`` is how long a writer waits for another.

        Raises:
            SettingsError: the driver is not installed, or does not know a parameter of the URL.
        """
        self.address, self._wait_seconds = address, max(wait_seconds, 1)  # 0 would mean for ever
        self._engine = _build_engine(address, self._wait_seconds)

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """A session for reading, and for changing what no other writer can change at the same time."""
        with translated_failures(self.address), self._connect() as connection:
            yield connection

    @contextmanager
    def open_for(self, mart: str) -> Iterator[Connection]:
        """A session of the only writer of ``mart``. Its transactions are those of :meth:`writing`.

        Raises:
            TableBusyError: another session still writes the mart after ``wait_seconds``.
        """
        with self.open() as connection:
            if self.address.database is Database.MYSQL:  # the session's own lock: it outlives the commits of DDL
                self._take_named_lock(connection, mart)
            yield connection

    @contextmanager
    def writing(self, connection: Connection, mart: str) -> Iterator[None]:
        """One transaction: committed at the end of the block, rolled back when it raises."""
        with connection.begin():
            if self.address.database is Database.POSTGRESQL:
                # Of this transaction alone, lock and settings, as connection poolers want it.
                self._set(connection, "lock_timeout", self._wait_seconds)
                self._set(connection, "idle_in_transaction_session_timeout", _SILENT_SECONDS)
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_lock_number(mart),))
            yield

    def vacuum(self) -> None:
        """Take what was deleted out of the database's files, where a database leaves that to others."""
        if self.address.database is Database.MYSQL:
            return  # the server purges by itself
        with self.open() as connection:
            driver = connection.connection.driver_connection
            if driver is None:
                return
            if self.address.database is Database.POSTGRESQL:
                driver.autocommit = True
            cursor = driver.cursor()
            cursor.execute("VACUUM")
            if self.address.database is Database.SQLITE:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def hurry(self, connection: Connection) -> None:
        """From here on the transaction does not wait long for readers: the next readers would wait behind it."""
        if self.address.database is Database.POSTGRESQL:
            self._set(connection, "lock_timeout", _DDL_WAIT_SECONDS)

    @staticmethod
    def _set(connection: Connection, name: str, seconds: int) -> None:
        connection.exec_driver_sql("SELECT set_config(%s, %s, true)", (name, f"{seconds}s"))

    def _connect(self) -> Connection:
        from sqlalchemy.exc import ProgrammingError

        try:
            return self._engine.connect()
        except (ProgrammingError, TypeError, ValueError) as error:
            raise _unusable(self.address, error) from None

    def _take_named_lock(self, connection: Connection, mart: str) -> None:
        lock = f"lakehouse.{_lock_number(mart):016x}.{self.address.url.database}"[:64]
        taken = connection.exec_driver_sql("SELECT GET_LOCK(%s, %s)", (lock, self._wait_seconds)).scalar()
        connection.rollback()
        if taken != 1:
            raise TableBusyError(
                table=f"{self.address.name}/{mart}", holder="another session", waited_seconds=self._wait_seconds
            )


def _lock_number(mart: str) -> int:
    return int.from_bytes(hashlib.sha256(mart.encode()).digest()[:8]) >> 1


def _build_engine(address: ServingAddress, wait_seconds: int) -> Engine:
    import sqlalchemy as sa

    defaults: dict[str, Any] = _connect_defaults(address.database, wait_seconds)
    arguments = {name: value for name, value in defaults.items() if name not in address.url.query}
    # Each reads no more than what it alone writes, so it needs no locks on the gaps where others' new records go.
    options = {"isolation_level": "READ COMMITTED"} if address.database is Database.MYSQL else {}
    try:
        engine = sa.create_engine(
            address.url, poolclass=sa.NullPool, hide_parameters=True, connect_args=arguments, **options
        )
    except (sa.exc.ArgumentError, ImportError, TypeError, ValueError) as error:
        raise _unusable(address, error) from None
    if address.database is Database.SQLITE:
        sa.event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, wait_seconds))
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _unusable(address: ServingAddress, error: Exception) -> SettingsError:
    reason = address.hide(str(getattr(error, "orig", error)))[:200]
    return SettingsError(f"{VARIABLE}: {address.name} cannot be connected to ({reason}); correct it")


def _connect_defaults(database: Database, wait_seconds: int) -> dict[str, Any]:
    if database is Database.POSTGRESQL:
        alive = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
        alive["tcp_user_timeout"] = _TRANSPORT_SECONDS * 1000
        return {"connect_timeout": _CONNECT_SECONDS, "application_name": "lakehouse-serving", **alive}
    if database is Database.SQLITE:
        return {"timeout": wait_seconds}
    session = {
        "sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",  # a value that does not fit is an error
        "time_zone": "'+00:00'",
        "innodb_lock_wait_timeout": wait_seconds,
        "lock_wait_timeout": _DDL_WAIT_SECONDS,
        "wait_timeout": _SILENT_SECONDS,
    }
    command = "SET " + ", ".join(f"SESSION {name} = {value}" for name, value in session.items())
    silent = wait_seconds + _ANSWER_SECONDS
    timeouts = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": silent, "write_timeout": silent}
    return {**timeouts, "charset": "utf8mb4", "init_command": command}


def _prepare_sqlite(connection: sqlite3.Connection, wait_seconds: int) -> None:
    """Readers go on while a writer writes; transactions begin where we say so and hold changes of tables too."""
    connection.isolation_level = None
    connection.execute("PRAGMA legacy_alter_table = ON")  # a view may read a swapped table
    deadline = time.monotonic() + wait_seconds
    while not _turned_to_write_ahead_log(connection):
        # SQLite does not wait here by itself when others change a new file's mode at the same moment.
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError("the file stays locked by another program")
        time.sleep(_SQLITE_PAUSE_SECONDS)


def _turned_to_write_ahead_log(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # one that began by reading could not wait for another writer
