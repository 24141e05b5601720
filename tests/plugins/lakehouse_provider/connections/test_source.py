"""An Airflow connection becomes the database that `snapshot` reads; the product's own settings read it back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk import Connection

from lakehouse_provider.connections.source import source_environment
from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.connectors.registry import DIALECTS
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings

PASSWORD = 'p@ss "w:rd'


def environment_of(**facts: Any) -> dict[str, str]:
    extra = facts.pop("extra", None)
    return source_environment(Connection(conn_id="lakehouse_source", extra=json.dumps(extra or {}), **facts))


@pytest.mark.parametrize(
    ("kind", "extra", "url"),
    [
        ("postgres", {}, "jdbc:postgresql://db/erp"),
        ("postgres", {"sslmode": "require", "tcpKeepAlive": True},
         "jdbc:postgresql://db/erp?sslmode=require&tcpKeepAlive=true"),
        ("mysql", {}, "jdbc:mysql://db/erp"),
        ("mariadb", {"sslMode": "trust"}, "jdbc:mariadb://db/erp?sslMode=trust"),
        ("mssql", {"encrypt": "true"}, "jdbc:sqlserver://db;databaseName=erp;encrypt=true"),
    ],
)  # fmt: skip
def test_every_kind_of_database(kind: str, extra: dict[str, Any], url: str) -> None:
    found = environment_of(conn_type=kind, host="db", schema="erp", extra=extra)
    assert found == {"LAKEHOUSE_JDBC_URL": url}
    assert JdbcAddress.parse(url).dialect in DIALECTS


def test_login_and_port_come_through() -> None:
    found = environment_of(conn_type="postgres", host="::1", port=5433, schema="e", login="reader", password=PASSWORD)
    settings = Settings.from_environment(found)
    assert settings.jdbc_url == "jdbc:postgresql://[::1]:5433/e"
    assert (settings.jdbc_user, settings.jdbc_password) == ("reader", PASSWORD)
    assert PASSWORD not in repr(settings)


def test_a_connection_of_type_jdbc_has_the_whole_url_as_its_host() -> None:
    url = "jdbc:sqlserver://db:1433;databaseName=erp"
    assert environment_of(conn_type="jdbc", host=url, login="reader", password=PASSWORD) == {
        "LAKEHOUSE_JDBC_URL": url, "LAKEHOUSE_JDBC_USER": "reader", "LAKEHOUSE_JDBC_PASSWORD": PASSWORD,
    }  # fmt: skip


@pytest.mark.parametrize(
    "facts",
    [
        {"conn_type": "http", "host": "db", "schema": "erp"},
        {"conn_type": "postgres", "schema": "erp"},
        {"conn_type": "postgres", "host": "db"},
    ],
)
def test_what_names_no_database_is_refused(facts: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="lakehouse_source names no database that can be read; give it the type"):
        environment_of(**facts)


@pytest.mark.parametrize(
    "facts",
    [
        {"conn_type": "jdbc", "host": "db/erp"},
        {"conn_type": "postgres", "host": "db", "schema": "erp", "extra": {"password": PASSWORD}},
    ],
)
def test_no_message_quotes_what_may_be_a_secret(facts: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="LAKEHOUSE_JDBC_URL") as caught:
        environment_of(**facts)
    assert PASSWORD not in str(caught.value)
