"""Where the serving store is: its URL with the driver that is installed, and what of it may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PREFIX, Settings

if TYPE_CHECKING:
    from sqlalchemy import URL

VARIABLE = f"{PREFIX}SERVING_URL"
FILE = ".serving/serving.sqlite"
_SECRET = re.compile("pass|secret|token", re.IGNORECASE)


class Database(StrEnum):
    """Databases the store can be, by SQLAlchemy's name of the dialect; MariaDB is spoken to as MySQL."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    SQLITE = "sqlite"


_NAMES = {name.value: name for name in Database} | {"postgres": Database.POSTGRESQL, "mariadb": Database.MYSQL}
_DRIVERS = {Database.POSTGRESQL: "psycopg2", Database.MYSQL: "pymysql", Database.SQLITE: "pysqlite"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingAddress:
    """A URL that can be connected to. ``name`` is what messages call it; ``secrets`` must be in none."""

    url: URL = field(repr=False)
    database: Database
    name: str
    secrets: tuple[str, ...] = field(repr=False)

    def hide(self, text: str) -> str:
        """``text`` on one line, without the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())


def parse_address(settings: Settings) -> ServingAddress:
    """The address the settings name; without one, a SQLite file beside the tables.

    Raises:
        SettingsError: the URL is none, names another kind of database, or the lake's folder cannot hold the file. No
            message repeats the URL: what cannot be parsed may have its password anywhere.
    """
    from sqlalchemy import URL

    url = _parse(settings.serving_url) if settings.serving_url else URL.create("sqlite", database=_make_file(settings))
    kind, _, driver = url.drivername.partition("+")
    database = _NAMES.get(kind)
    if database is None:
        raise SettingsError(f"{VARIABLE}: {kind!r} is no database this store can be; give one of {sorted(_NAMES)}")
    if driver not in ("", _DRIVERS[database]):
        raise SettingsError(
            f"{VARIABLE}: driver {driver!r} is not installed; write {kind}:// to use {_DRIVERS[database]}"
        )
    if not url.database or url.database == ":memory:":
        raise SettingsError(
            f"{VARIABLE} names no database; end it with /<database>, or for SQLite with the file's path"
        )
    return ServingAddress(
        url=url.set(drivername=f"{database}+{_DRIVERS[database]}"),
        database=database,
        name=_public_name(url, database),
        secrets=tuple(sorted(_secrets(url), key=len, reverse=True)),
    )


def _parse(text: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise SettingsError(
            f"{VARIABLE} is not a database URL; give for example postgresql://user@host:5432/database "
            f"(special characters of a password as %XX)"
        ) from None


def _make_file(settings: Settings) -> str:
    if "://" in settings.base_path:
        raise SettingsError(f"a lake that is not on local files needs a database to serve from; set {VARIABLE}")
    file = Path(settings.table_path(FILE))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot make {file.parent} ({error.strerror}); set {VARIABLE} or the lake's path"
        ) from error
    return str(file)


def _public_name(url: URL, database: Database) -> str:
    if database is Database.SQLITE:
        return str(url.database)
    port = f":{url.port}" if url.port else ""
    return f"{database}://{url.host or ''}{port}/{url.database}"


def _secrets(url: URL) -> set[str]:
    plain = {url.password or ""}
    for name, value in url.query.items():
        if _SECRET.search(name):
            plain |= {value} if isinstance(value, str) else set(value)
    return {form for secret in plain if secret for form in (secret, quote(secret, safe=""), quote_plus(secret))}
