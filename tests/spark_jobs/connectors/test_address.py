"""Addresses of databases: whose SQL it is, no login in them, timeouts for a server that is silent."""

from __future__ import annotations

import pytest

from spark_jobs.connectors import mysql, postgresql, sqlserver
from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.secrets import find_secrets, hide
from spark_jobs.contracts.settings import Settings


@pytest.mark.parametrize(
    ("text", "dialect", "url", "shown"),
    [
        ("jdbc:postgresql://db:5432/erp", postgresql.DIALECT, "jdbc:postgresql://db:5432/erp", "db:5432/erp"),
        ("jdbc:mariadb://db/erp", mysql.DIALECT, "jdbc:mysql://db/erp?permitMysqlScheme", "db/erp"),
        ("jdbc:mysql://db/erp?sslMode=verify-full", mysql.DIALECT,
         "jdbc:mysql://db/erp?sslMode=verify-full&permitMysqlScheme", "db/erp"),
        ("jdbc:sqlserver://db:1433;databaseName=erp", sqlserver.DIALECT,
         "jdbc:sqlserver://db:1433;databaseName=erp", "db:1433"),
    ],
)  # fmt: skip
def test_an_address_says_whose_sql_it_is(text, dialect, url, shown):
    address = JdbcAddress.parse(text)
    assert (address.dialect, address.url, address.shown) == (dialect, url, shown)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://db/erp",
        "jdbc:oracle:thin:@db:1521/erp",
        "jdbc:postgresql:erp",
        "jdbc:postgresql://db/erp\nx",
        "jdbc:postgresql://db/erp?user=me",
        "jdbc:postgresql://db/erp?user=me&password=hidden-word",
        "jdbc:mariadb://me:@db/erp",
        "jdbc:sqlserver://db;databaseName=erp;user=me;password=hidden-word",
    ],
)
def test_no_address_and_one_with_a_login_are_refused_and_not_shown(text):
    with pytest.raises(SettingsError, match="LAKEHOUSE_JDBC_URL") as caught:
        JdbcAddress.parse(text)
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://db/erp", "?loginTimeout=30&connectTimeout=30&socketTimeout=90"),
        ("jdbc:postgresql://db/erp?SOCKETTIMEOUT=5&sslmode=require", "&loginTimeout=30&connectTimeout=30"),
        ("jdbc:mariadb://db/erp", "&connectTimeout=30000&socketTimeout=90000"),
        ("jdbc:sqlserver://db;databaseName=erp;", "loginTimeout=30;socketTimeout=90000"),
        ("jdbc:sqlserver://db;databaseName=erp;socketTimeout=1", ";loginTimeout=30"),
    ],
)
def test_a_silent_database_is_given_up_unless_the_url_says_otherwise(url, expected):
    address = JdbcAddress.parse(url)
    assert address.with_timeouts(90) == f"{address.url}{expected}"


def test_a_login_is_shown_nowhere():
    environment = {"LAKEHOUSE_JDBC_URL": "jdbc:mysql://db/e?password=hidden-1", "LAKEHOUSE_JDBC_PASSWORD": "hidden-2"}
    settings = Settings.from_environment(environment)
    assert "hidden" not in repr(settings)
    assert hide("hidden-1 or hidden-2", find_secrets(environment)) == "*** or ***"
