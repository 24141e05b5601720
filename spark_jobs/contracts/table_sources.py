"""Tables at the source: how the lake names one, and patterns that say which of them are meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

ORIGIN = ":origin"
"""In place of a column's name at the source: which of several tables there a row is of."""
_WILD = frozenset("*?")
_NAME = re.compile(r"[^\s/\\\"'`;]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Tables at the source by patterns (``*``, ``?``) of their database and name, without case.

    ``excepted`` are patterns of a table's name, or of database and name with a dot between them.
    """

    databases: tuple[str, ...]
    tables: tuple[str, ...]
    excepted: tuple[str, ...] = ()

    def has(self, origin: str) -> bool:
        """True for a table at the source, as :func:`origin_of` names it."""
        database, table = parts_of(origin)
        if not database or not table or not (matches(database, self.databases) and matches(table, self.tables)):
            return False
        return not (self.excepted and (matches(table, self.excepted) or matches(origin, self.excepted)))

    @property
    def has_several_databases(self) -> bool:
        """True when its tables may be of different databases."""
        return len(self.databases) > 1 or is_pattern(self.databases[0])

    def __str__(self) -> str:
        return f"{'|'.join(self.databases)}.{'|'.join(self.tables)}"


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
    """A table at the source, whatever the case in which somebody wrote it."""
    return f"{database}.{table}".lower()


def parts_of(origin: str) -> tuple[str, str]:
    """Database and table of what :func:`origin_of` gives."""
    database, _, table = origin.partition(".")
    return database, table
