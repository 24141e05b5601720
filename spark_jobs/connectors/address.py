"""Addresses of databases that are read by JDBC, as Spark and their drivers take them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.connectors.dialect import Dialect
from spark_jobs.connectors.registry import DIALECTS
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.secrets import secrets_in

_SCHEMES: Mapping[str, Dialect] = {scheme: dialect for dialect in DIALECTS for scheme in dialect.schemes}
_TYPES: Mapping[str, tuple[str, Dialect]] = {
    type_: (scheme, dialect) for dialect in DIALECTS for type_, scheme in dialect.connection_types.items()
}
_URL = re.compile(rf"jdbc:({'|'.join(_SCHEMES)})(://[^\s'\"`\\]{{1,2000}})")
_LOGIN = re.compile(r"[?&;](?:user|user ?name)=", re.IGNORECASE)
_LOGIN_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcAddress:
    """Where a database is, as Spark and its driver take it."""

    dialect: Dialect
    url: str

    @classmethod
    def parse(cls, text: str) -> JdbcAddress:
        """Read ``LAKEHOUSE_JDBC_URL``; SettingsError, which does not quote it, when it is none or holds a login."""
        match = _URL.fullmatch(text)
        if not match:
            *examples, last = (dialect.example for dialect in DIALECTS)
            raise SettingsError(f"LAKEHOUSE_JDBC_URL is no address of a database; give {', '.join(examples)} or {last}")
        if secrets_in(match[2].removeprefix(":")) or "@" in match[2] or _LOGIN.search(match[2]):
            raise SettingsError(
                "LAKEHOUSE_JDBC_URL has a login in it; give that by LAKEHOUSE_JDBC_USER and LAKEHOUSE_JDBC_PASSWORD"
            )
        dialect = _SCHEMES[match[1]]
        return cls(dialect=dialect, url=dialect.driver_url(text))

    @property
    def driver(self) -> str:
        """The class of its driver."""
        return self.dialect.driver

    def with_timeouts(self, seconds: int) -> str:
        """The URL with a timeout for logging in, and one for a server that is silent for ``seconds``.

        In the URL, since names of options lose their capitals over Spark Connect. What the URL has already stays.
        """
        named = {name.lower() for name in re.findall(r"[?&;]([^=&;?]+)=", self.url)}
        waits = {
            name: (seconds if name == "socketTimeout" else min(seconds, _LOGIN_SECONDS)) * units
            for name, units in self.dialect.waits.items()
            if name.lower() not in named
        }
        return self.dialect.with_parameters(self.url, [f"{name}={value}" for name, value in waits.items()])

    @property
    def shown(self) -> str:
        """Host, port and database, for messages."""
        return re.split("[?;&]", self.url.partition("://")[2], maxsplit=1)[0]


def connection_url(connection_type: str, host: str, database: str, parameters: Sequence[str]) -> str:
    """The URL of a database that an Airflow connection of this type names; "" when the type is none of a database."""
    if connection_type not in _TYPES:
        return ""
    scheme, dialect = _TYPES[connection_type]
    url = f"jdbc:{scheme}://{host}"
    if dialect.database_parameter:
        return dialect.with_parameters(url, [f"{dialect.database_parameter}={database}", *parameters])
    return dialect.with_parameters(f"{url}/{database}", parameters)
