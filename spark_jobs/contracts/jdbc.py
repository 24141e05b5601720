"""A database that is read by JDBC: its address, the names of its tables, and how far the snapshot of one has come."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.secrets import secrets_in

_URL = re.compile(r"jdbc:(postgresql|mariadb|mysql|sqlserver)(://[^\s'\"`\\]{1,2000})")
_LOGIN = re.compile(r"[?&;](?:user|user ?name)=", re.IGNORECASE)
_TABLE_NAME = re.compile(r"[\w$#@ -]{1,128}")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,248}")
_PERMIT = "permitMysqlScheme"


class Dialect(StrEnum):
    """Whose SQL a database speaks."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    """MySQL's and MariaDB's, which differ where this project uses them in the position alone."""
    SQLSERVER = "sqlserver"


_DRIVERS = {
    Dialect.POSTGRESQL: "org.postgresql.Driver",
    Dialect.MYSQL: "org.mariadb.jdbc.Driver",
    Dialect.SQLSERVER: "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}


_LOGIN_SECONDS = 30
_WAITS: Mapping[Dialect, Mapping[str, int]] = {
    Dialect.POSTGRESQL: {"loginTimeout": 1, "connectTimeout": 1, "socketTimeout": 1},
    Dialect.MYSQL: {"connectTimeout": 1000, "socketTimeout": 1000},
    Dialect.SQLSERVER: {"loginTimeout": 1, "socketTimeout": 1000},
}
"""What the drivers call their timeouts, and how many of their units are a second. By default they wait for a server
that was reached and is silent for ever."""


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
            raise SettingsError(
                "LAKEHOUSE_JDBC_URL is no address of a database; give jdbc:postgresql://host/database, "
                "jdbc:mariadb://host/database, jdbc:mysql://host/database or jdbc:sqlserver://host;databaseName=name"
            )
        if secrets_in(match[2].removeprefix(":")) or "@" in match[2] or _LOGIN.search(match[2]):
            raise SettingsError(
                "LAKEHOUSE_JDBC_URL has a login in it; give that by LAKEHOUSE_JDBC_USER and LAKEHOUSE_JDBC_PASSWORD"
            )
        scheme, rest = match[1], match[2]
        if scheme in ("mariadb", "mysql"):
            # Spark quotes names right by MySQL's scheme alone; MariaDB's driver takes that when it is told to.
            rest = rest if _PERMIT in rest else f"{rest}{'&' if '?' in rest else '?'}{_PERMIT}"
            return cls(dialect=Dialect.MYSQL, url=f"jdbc:mysql{rest}")
        return cls(dialect=Dialect(scheme), url=text)

    @property
    def driver(self) -> str:
        """The class of its driver."""
        return _DRIVERS[self.dialect]

    def with_timeouts(self, seconds: int) -> str:
        """The URL with a timeout for logging in, and one for a server that is silent for ``seconds``.

        In the URL, since names of options lose their capitals over Spark Connect. What the URL has already stays.
        """
        named = {name.lower() for name in re.findall(r"[?&;]([^=&;?]+)=", self.url)}
        waits = {
            name: (seconds if name == "socketTimeout" else min(seconds, _LOGIN_SECONDS)) * units
            for name, units in _WAITS[self.dialect].items()
            if name.lower() not in named
        }
        url = self.url
        for name, value in waits.items():
            mark = ";" if self.dialect is Dialect.SQLSERVER else "&" if "?" in url else "?"
            url = f"{url.rstrip(';') if mark == ';' else url}{mark}{name}={value}"
        return url

    @property
    def shown(self) -> str:
        """Host, port and database, for messages."""
        return re.split("[?;&]", self.url.partition("://")[2], maxsplit=1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table of a database; its ``schema`` is the database with MySQL and MariaDB."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str) -> SourceTable:
        """Read ``--table``; ContractError when it is no name with its schema."""
        schema, dot, name = text.partition(".")
        if not dot or not _TABLE_NAME.fullmatch(schema) or not _TABLE_NAME.fullmatch(name):
            raise ContractError(
                f"--table {show(text)} is no table's name with its schema; give for example public.SALES or, with "
                f"MySQL and MariaDB, database.SALES"
            )
        return cls(schema=schema, name=name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def check_server_name(name: str) -> None:
    """Raise ContractError unless ``name`` can be what a connector is called."""
    if not _SERVER_NAME.fullmatch(name):
        raise ContractError(
            f"--server-name {show(name)} is no name of a connector; give its topic.prefix (letters, digits, '.', '_', "
            f"'-'), with which the ids of its events begin"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The reading of one table, from its beginning to its end.

    Parts are read in their order; ``column``, ``kind``, ``low``, ``high`` and ``parts`` say which they are.
    """

    source: Mapping[str, Any]
    """The source block of its events, with the position that the database had before the first part was read."""
    column: str
    """The column that parts are made by; empty: the table is one part."""
    kind: str
    low: int
    high: int
    parts: int
    done: int
    """So many parts are in the lake."""
    expected: int
    """Rows that the table had at the beginning."""
    read: int
    """Rows of the parts that are done."""

    @property
    def is_finished(self) -> bool:
        """True when every part is in the lake."""
        return self.done == self.parts


Snapshots = Mapping[str, Snapshot]
"""By server, schema and table, the last one that was begun."""
_FIELDS = ("source", "column", "kind", "low", "high", "parts", "done", "expected", "read")


def pack_snapshots(snapshots: Snapshots) -> str:
    """As short text for commit metadata, the same for the same snapshots."""
    told = {origin: [getattr(each, name) for name in _FIELDS] for origin, each in sorted(snapshots.items())}
    return json.dumps(told, separators=(",", ":"))


def unpack_snapshots(text: str | None) -> dict[str, Snapshot]:
    """Read what :func:`pack_snapshots` wrote; empty for None."""
    told = json.loads(text) if text else {}
    return {origin: Snapshot(**dict(zip(_FIELDS, values, strict=True))) for origin, values in told.items()}
