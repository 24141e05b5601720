"""From an Airflow connection to the SQLAlchemy URL of the serving store, which a job gets by its environment alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PREFIX

SERVING_CONN_ID = "lakehouse_serving"
STORE_VARIABLES = (f"{PREFIX}SERVING_URL",)
_DIALECTS: Mapping[str, str] = {"postgres": "postgresql"}
"""Where Airflow and SQLAlchemy call one database differently. The job adds the driver."""
_OTHER_SYSTEMS = ("", "generic")


class StoreFacts(Protocol):
    """What is read of an Airflow connection."""

    conn_id: str
    conn_type: str | None
    host: str | None
    port: int | None
    login: str | None
    password: str | None
    schema: str | None

    @property
    def extra_dejson(self) -> dict[str, Any]: ...


def store_environment(connection: StoreFacts) -> dict[str, str]:
    """The variable of a job that writes there."""
    return dict.fromkeys(STORE_VARIABLES, serving_url(connection))


def serving_url(connection: StoreFacts) -> str:
    """The URL: dialect by the connection's type or ``dialect`` in its extra, every other extra as the URL's query.

    A connection of type ``sqlite`` names the file as its schema or host. SettingsError when no database is named.
    """
    extra = {str(name): str(value) for name, value in connection.extra_dejson.items()}
    kind = connection.conn_type or ""
    dialect = extra.pop("dialect", "") or _DIALECTS.get(kind, kind)
    if dialect in _OTHER_SYSTEMS:
        raise SettingsError(
            f"connection {connection.conn_id} names no kind of database; make its type mysql, postgres or sqlite, or "
            f'give a SQLAlchemy dialect in its extra, for example {{"dialect": "mysql"}}'
        )
    query = f"?{urlencode(extra)}" if extra else ""
    if dialect.startswith("sqlite"):
        return f"{dialect}:///{quote(connection.schema or connection.host or '', safe='/')}{query}"
    if not connection.schema:
        raise SettingsError(f"connection {connection.conn_id} names no database; give one as its schema")
    login = quote(connection.login or "", safe="")
    password = f":{quote(connection.password, safe='')}" if connection.password else ""
    port = f":{connection.port}" if connection.port else ""
    host = f"[{connection.host}]" if ":" in (connection.host or "") else connection.host or ""
    user = f"{login}{password}@" if login or password else ""
    return f"{dialect}://{user}{host}{port}/{quote(connection.schema, safe='')}{query}"
