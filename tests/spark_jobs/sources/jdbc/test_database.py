"""What a database's driver says, as Spark passes it on: one line that says what to do, without the login."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.contracts.errors import ContractError, SettingsError, TransientError
from spark_jobs.sources.jdbc.database import JdbcDatabase

NO_SPARK: Any = None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ('FATAL: password authentication failed for user "me"', SettingsError),
        ("Access denied for user 'me'@'host' (using password: YES)", SettingsError),
        ("ERROR: permission denied for table SALES", SettingsError),
        ("Connection to host:5432 refused. Check that the hostname and port are correct", TransientError),
        ("This connection has been closed.", TransientError),
        ("ERROR: something that no pattern knows", TransientError),
    ],
)
@pytest.mark.parametrize("form", ["org.postgresql.util.PSQLException: {}\n\tat x", "(java.sql.SQLException) {}"])
def test_what_a_driver_says_becomes_one_line_without_the_login(words: str, kind: type, form: str):
    database = JdbcDatabase(
        spark=NO_SPARK,
        address=JdbcAddress.parse("jdbc:postgresql://host:5432/erp?sslmode=require"),
        user="me",
        password="canary-5e1f",
    )
    with pytest.raises(kind) as caught, database.querying():
        raise RuntimeError(f"An error occurred while calling o1.load\n{form.format(words)}\nmore of it")
    assert "host:5432/erp" in str(caught.value)
    assert str(caught.value).isprintable()
    assert "more of it" not in str(caught.value)
    assert "canary" not in f"{caught.value} {database!r}"


def database_at(url: str) -> JdbcDatabase:
    return JdbcDatabase(spark=NO_SPARK, address=JdbcAddress.parse(url), user="me", password="canary-5e1f")


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("jdbc:postgresql://host:5432/erp", "org.postgresql.Driver"),
        ("jdbc:sqlserver://host:1433;databaseName=erp", "com.microsoft.sqlserver.jdbc.SQLServerDriver"),
    ],
)
@pytest.mark.parametrize("text", ["java.lang.ClassNotFoundException: {}", "java.sql.SQLException: No suitable driver"])
def test_a_driver_that_spark_does_not_have_is_named(url: str, driver: str, text: str):
    with pytest.raises(SettingsError) as caught, database_at(url).querying():
        raise RuntimeError(f"An error occurred while calling o1.load\n: {text.format(driver)}\n\tat x")
    assert str(caught.value) == f"Spark has no driver {driver}; put it beside its jars, or run: make setup"


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), SettingsError("correct it"), ContractError("no")])
def test_what_no_driver_raised_is_raised_as_it_is(error: Exception):
    with pytest.raises(type(error)) as caught, database_at("jdbc:postgresql://host:5432/erp").querying():
        raise error
    assert caught.value is error
