"""What a database's error means: try again, correct the settings, or correct the database. No database is needed.

Codes are those of the servers' own references: PostgreSQL 15 appendix A, MariaDB's error codes, SQLite's result codes.
"""

from __future__ import annotations

import pytest
from sqlalchemy import exc

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import parse_address
from spark_jobs.storage.serving.failures import translated_failures

PASSWORD = "hunter-two"
URLS = {
    "postgresql": f"postgresql://me:{PASSWORD}@host/db",
    "mysql": f"mysql://me:{PASSWORD}@host/db",
    "sqlite": "sqlite:////tmp/x.sqlite",
}
PASSING = {
    "postgresql": ("40001", "40P01", "55P03", "57P01", "42P07"),  # serialization, deadlock, lock, shutdown, a race
    "mysql": (1050, 1205, 1213),  # a race, lock wait, deadlock
    "sqlite": ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL"),
}
SETTINGS = {
    "postgresql": ("28P01", "28000", "3D000", "42501", "3F000"),  # password, login, database, rights, schema
    "mysql": (1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698),
    "sqlite": ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOTADB", "SQLITE_PERM"),
}
REFUSED = {
    "postgresql": ("22003", "22001", "42703", "42P01"),  # a number or text too large, no such column, no such table
    "mysql": (1264, 1406, 1054, 1146),
    "sqlite": ("SQLITE_MISMATCH", "SQLITE_TOOBIG"),
}
CASES = [
    (database, code, kind)
    for codes, kind in ((PASSING, TransientError), (SETTINGS, SettingsError), (REFUSED, ContractError))
    for database, some in codes.items()
    for code in some
]


def error_of(database: str, code: object, words: str) -> exc.DBAPIError:
    """As the three drivers give it: an attribute in PostgreSQL's and SQLite's, the first argument in PyMySQL's."""
    cause = Exception(code, words) if database == "mysql" else Exception(words)
    if database != "mysql":
        setattr(cause, "pgcode" if database == "postgresql" else "sqlite_errorname", code)
    is_operational = database == "sqlite" and str(code) in PASSING["sqlite"]
    return (exc.OperationalError if is_operational else exc.ProgrammingError)("SELECT 1", None, cause)


def raised_by(database: str, error: Exception) -> LakehouseError:
    address = parse_address(Settings(serving_url=URLS[database]))
    with pytest.raises(LakehouseError) as raised, translated_failures(address):
        raise error
    assert raised.value.__cause__ is None
    return raised.value


@pytest.mark.parametrize(("database", "code", "kind"), CASES)
def test_each_kind_of_error_is_reported_as_what_it_is(database: str, code: object, kind: type[LakehouseError]):
    error = raised_by(database, error_of(database, code, f"it says why,\n and {PASSWORD}"))
    assert type(error) is kind
    assert error.exit_code == (1 if kind is TransientError else 2)
    assert "it says why, and" in str(error)
    assert database == "sqlite" or PASSWORD not in str(error)


@pytest.mark.parametrize("database", URLS)
def test_a_connection_that_was_lost_may_be_tried_again(database: str):
    lost = exc.DBAPIError("SELECT 1", None, Exception("server closed the connection"), connection_invalidated=True)
    assert type(raised_by(database, lost)) is TransientError
    assert type(raised_by(database, exc.InterfaceError("SELECT 1", None, Exception("is closed")))) is TransientError


@pytest.mark.parametrize("words", ["password authentication failed", 'database "x" does not exist', "no pg_hba.conf"])
def test_postgresql_refuses_at_the_door_by_its_words_alone(words: str):
    assert type(raised_by("postgresql", exc.OperationalError("", None, Exception(words)))) is SettingsError
    assert type(raised_by("postgresql", exc.OperationalError("", None, Exception("timeout expired")))) is TransientError
