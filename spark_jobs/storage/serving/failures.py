"""What a database's error means for a person: try again, correct the settings, or correct the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError, TransientError
from spark_jobs.storage.serving.address import VARIABLE, ServingAddress

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

_WRONG_SETTINGS = frozenset({
    # PostgreSQL: password, login, database, rights, schema
    *("28P01", "28000", "3D000", "42501", "3F000"),
    # MySQL and MariaDB: rights on a database, password, unknown database, host, rights on a table, a column, the server
    *(1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698),
    # SQLite
    *("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_READONLY_DIRECTORY", "SQLITE_NOTADB", "SQLITE_PERM"),
})  # fmt: skip
_LOST_A_RACE = frozenset({"42P07", "40001", "40P01", "55P03", "57P01", 1050, 1205, 1213})
"""Another session made the same table, won a deadlock or holds a lock, or an administrator ended our session."""
_REFUSED_AT_THE_DOOR = ("authentication failed", "does not exist", "pg_hba.conf", "is not permitted to log in")
"""PostgreSQL's driver gives no code for an error while connecting, only the server's words."""


@contextmanager
def translated_failures(address: ServingAddress) -> Iterator[None]:
    """Raise the database's errors of the block as ours, on one line and without the password."""
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except DBAPIError as error:
        raise _translate(error, address) from None


def _translate(error: DBAPIError, address: ServingAddress) -> LakehouseError:
    from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError

    code, reason = _code(error), address.hide(_reason(error))[:300]
    is_at_door = isinstance(error, OperationalError) and code is None
    if code in _WRONG_SETTINGS or (is_at_door and any(words in reason for words in _REFUSED_AT_THE_DOOR)):
        return SettingsError(f"serving store {address.name}: {reason}; correct {VARIABLE} or the user's rights there")
    is_passing = isinstance(error, (OperationalError, InterfaceError, IntegrityError)) or error.connection_invalidated
    if is_passing or code in _LOST_A_RACE:
        return TransientError(f"serving store {address.name}: {reason}; nothing half-written stays: run it again")
    return ContractError(f"serving store {address.name} refuses: {reason}; correct that there, then run it again")


def _code(error: DBAPIError) -> str | int | None:
    """PostgreSQL's SQLSTATE, MySQL's error number, SQLite's error name."""
    cause = error.orig
    for name in ("pgcode", "sqlite_errorname"):
        if code := getattr(cause, name, None):
            return str(code)
    first = cause.args[0] if cause is not None and cause.args else None
    return first if isinstance(first, int) else None


def _reason(error: DBAPIError) -> str:
    cause = error.orig
    words = [part for part in (cause.args if cause is not None else ()) if isinstance(part, str) and part.strip()]
    return words[-1] if words else type(cause).__name__
