"""From an Airflow connection to the database that `snapshot` reads, which a job gets by its environment alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.connectors.address import JdbcAddress, connection_url
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PREFIX

if TYPE_CHECKING:
    from lakehouse_provider.connections.serving import StoreFacts

SOURCE_CONN_ID = "lakehouse_source"
_URL, _USER, _PASSWORD = (f"{PREFIX}JDBC_{name}" for name in ("URL", "USER", "PASSWORD"))
SOURCE_VARIABLES = (_URL, _USER, _PASSWORD)


def source_environment(connection: StoreFacts) -> dict[str, str]:
    """Variables of a job that reads a database by JDBC.

    The connection's type is postgres, mysql, mariadb or mssql, its schema the database, and every value of its extra
    is a parameter of the JDBC driver, such as ``sslmode``. Of a connection of type ``jdbc`` the host is the whole URL.
    SettingsError, which quotes none of it, when that is no database.
    """
    login = {_USER: connection.login or "", _PASSWORD: connection.password or ""}
    url = connection.host or "" if connection.conn_type == "jdbc" else _url(connection)
    JdbcAddress.parse(url)
    return {_URL: url, **{name: value for name, value in login.items() if value}}


def _url(connection: StoreFacts) -> str:
    parameters = [f"{name}={_text(value)}" for name, value in connection.extra_dejson.items()]
    host = f"[{connection.host}]" if connection.host and ":" in connection.host else connection.host
    address = f"{host}:{connection.port}" if connection.port else host
    url = connection_url(connection.conn_type or "", address or "", connection.schema or "", parameters)
    if not url or not connection.host or not connection.schema:
        raise SettingsError(
            f"connection {connection.conn_id} names no database that can be read; give it the type postgres, mysql, "
            f"mariadb or mssql, a host, and the database as its schema, or the type jdbc and the URL as its host"
        )
    return url


def _text(value: object) -> str:
    """As drivers take it: JSON's true is their true."""
    return str(value).lower() if isinstance(value, bool) else str(value)
