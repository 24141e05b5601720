"""Tables at the source: how the lake names one, and patterns that say which of them are meant.

The name is ``<schema>.<table>`` (with MySQL and MariaDB ``<database>.<table>``), without case. Where a lake spec says
of which server or database a table is, the name has these too: ``<server>/<database>/<schema>.<table>``, where a part
that is not given is empty. So two databases with the same tables become two tables, or one of several origins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

ORIGIN = ":origin"
"""In place of a column's name at the source: which of several tables there a row is of."""
_WILD = frozenset("*?")
_NAME = re.compile(r"[^\s/\\\"'`;]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Tables at the source by patterns (``*``, ``?``) of their database and name, without case.

    ``databases`` may be qualified (:func:`qualified`). ``excepted`` are patterns of a table's name, or of its schema
    (or the database around it) and name with a dot between them.
    """

    databases: tuple[str, ...]
    tables: tuple[str, ...]
    excepted: tuple[str, ...] = ()

    def has(self, origin: str) -> bool:
        """True for a table at the source, as :func:`origin_of` names it."""
        database, table = parts_of(origin)
        alike = tuple(each for each in self.databases if is_qualified(each) == is_qualified(database))
        if not database or not table or not alike:
            return False
        if not (matches(database, alike) and matches(table, self.tables)):
            return False
        schemas = database.split("/")[1:] if is_qualified(database) else [database]
        names = (table, *(f"{schema}.{table}" for schema in schemas))
        return not (self.excepted and any(matches(name, self.excepted) for name in names))

    @property
    def has_several_databases(self) -> bool:
        """True when its tables may be of different databases."""
        return len(self.databases) > 1 or is_pattern(self.databases[0])

    def __str__(self) -> str:
        return f"{'|'.join(self.databases)}.{'|'.join(self.tables)}"


Ways = tuple[tuple[bool, bool], ...]
"""How a lake names tables at the source: with their server or not, with their database beside the schema or not."""


def qualified(server: str, database: str, schema: str) -> str:
    """In place of a schema: server, database and schema; one that is not given is empty."""
    return "/".join(part.replace("/", "%2F") for part in (server, database, schema))


def is_qualified(schema: str) -> bool:
    """True for what :func:`qualified` gives."""
    return schema.count("/") == 2


def is_schema(name: str) -> bool:
    """True for what may be the name of a schema, qualified or not, or a pattern of names."""
    *around, schema = name.split("/") if is_qualified(name) else [name]
    return is_source_name(schema) and all(not part or is_source_name(part) for part in around)


def schema_in(name: str) -> str:
    """The schema alone."""
    return name.rpartition("/")[2] if is_qualified(name) else name


def ways_of(schemas: Iterable[str]) -> Ways:
    """The ways in which a lake with these schemas and patterns names tables, the most particular one first."""
    ways = {
        (bool(server), bool(database)) for server, database, _ in (s.split("/") for s in schemas if is_qualified(s))
    }
    return (*sorted(ways, reverse=True), (False, False))


def names_of(server: str, database: str, schema: str, table: str, ways: Ways) -> tuple[str, ...]:
    """The names of a table at the source in each of these ways."""
    return tuple(
        origin_of(qualified(server * has_server, database * has_database, schema), table)
        if has_server or has_database
        else origin_of(schema, table)
        for has_server, has_database in ways
    )


def is_source_name(name: str) -> bool:
    """True for what may be the name of a table or a database at the source, or a pattern of names."""
    return _NAME.fullmatch(name) is not None


def is_pattern(name: str) -> bool:
    """True for a name that may fit several."""
    return not _WILD.isdisjoint(name)


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """True when a name fits one of the patterns (``*``, ``?``), without case; none at all fit everything."""
    return not patterns or any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def origin_of(database: str, table: str) -> str:
    """The name of a table at the source, in lower case."""
    return f"{database}.{table}".lower()


def parts_of(origin: str) -> tuple[str, str]:
    """Database and table of what :func:`origin_of` gives."""
    database, _, table = origin.partition(".")
    return database, table
