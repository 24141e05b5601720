"""Tables of a source that the lake keeps as they are there: which they are, and how they lie in the lake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.names import plain, show
from spark_jobs.contracts.tables import ColumnSpec, TableType, check_identifier, wrong_identifier

ROW_KEY, ROW_ORDER, OLDER_ORDERS, IS_DELETED = "row_key", "row_order", "older_orders", "is_deleted"
ROW_PARTITION, REMOVES = "row_partition", "_hoodie_is_deleted"
TECHNICAL = (ROW_KEY, ROW_PARTITION, ROW_ORDER, OLDER_ORDERS, IS_DELETED)
"""Columns of a mirror beside those of the source: the key as text, the partition, the order of its newest event, that
of values which are older (those that did not travel with it), and whether the row is deleted at the source."""
DELETED_PARTITION, UNKNOWN_PARTITION = "deleted", "unknown"
"""Where deleted rows are, and those whose partition column is null."""
MASK = "***"
"""In place of every value of a masked column that is not null."""
_PATTERN = re.compile(r"[^\s/\\\"'`;]{1,128}")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[0-9]*[A-Z]?[a-z]+[0-9]*|[0-9]*[A-Z]+[0-9]*|[0-9]+")


class Deletes(StrEnum):
    """What becomes of a row that is deleted at the source."""

    SOFT = "soft"
    """It stays with its key, its order and ``is_deleted``; views hide it."""
    HARD = "hard"
    """It is no row any more; that it was is kept apart, so that an older event does not bring it back."""


class Transform(StrEnum):
    """What of a partition column's value names the partition."""

    VALUE = "value"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSpec:
    """One table of the source, kept as it is there.

    ``database`` and ``table`` are its names at the source (PostgreSQL's and SQL Server's schema with the table:
    ``public.orders``), ``key`` and the columns to ``drop`` or ``mask`` too. ``columns`` declares those whose type the
    records do not say; the others are what the source says they are.
    """

    name: str
    database: str
    table: str
    key: tuple[str, ...]
    drop: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    columns: tuple[ColumnSpec, ...] = ()
    deletes: Deletes = Deletes.SOFT
    partition: str = ""
    transform: Transform = Transform.VALUE
    type: TableType = TableType.MERGE_ON_READ
    buckets: int = 1

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.name, "mirror", at=("name",))
        for value, what in ((self.database, "database"), (self.table, "table")):
            if not _PATTERN.fullmatch(value):
                yield self._wrong(f"{what} {show(value)} is no name of a {what}; give its name at the source", what)
        if not self.key or len(set(self.key)) != len(self.key):
            yield self._wrong("its key is no list of columns; give their names at the source, each once", "key")
        yield from self._left_out()
        names = [column.name for column in self.columns]
        for number, name in enumerate(names):
            if name in TECHNICAL or name in names[:number]:
                yield self._wrong(f"column {show(name)} is taken; call it otherwise", "columns", number, "name")
        if self.buckets < 1:
            yield self._wrong("buckets must be at least 1; give how many file groups it is to have", "buckets")

    def _left_out(self) -> Iterator[ContractError]:
        """Columns that cannot be left out or masked."""
        for what, names in (("drop", self.drop), ("mask", self.mask)):
            for number, name in enumerate(names):
                if name in self.key:
                    yield self._wrong(f"{show(name)} is of the key, which has to stay; take it out", what, number)
                if name == self.partition:
                    yield self._wrong(f"{show(name)} is its partition column; partition otherwise", what, number)
                if what == "mask" and name in self.drop:
                    yield self._wrong(f"{show(name)} is to be dropped and masked; choose one", what, number)

    def _wrong(self, told: str, *at: str | int) -> ContractError:
        return ContractError(f"mirror {plain(self.name)}: {told}", at=at)

    @property
    def origin(self) -> str:
        """What its events say they are of, compared without case."""
        return origin_of(self.database, self.table)

    @property
    def removes_rows(self) -> bool:
        """True when rows are taken out of the table: deleted ones, or those that moved to another partition."""
        return self.deletes is Deletes.HARD or bool(self.partition)

    @property
    def names(self) -> dict[str, str]:
        """By name at the source, the lake's name of columns that are declared."""
        return {column.source: column.name for column in self.columns}


def origin_of(database: str, table: str) -> str:
    """A table at the source, whatever the case in which somebody wrote it."""
    return f"{database}.{table}".lower()


def lake_name(source: str) -> str:
    """The name in the lake of a column at the source: words in lower case with ``_`` between them.

    ``CustomerID`` is ``customer_id``. What is no letter or digit of ASCII separates words; ContractError when nothing
    is left, or too much.
    """
    name = "_".join(word.lower() for word in _WORD.findall(source))
    name = f"c_{name}" if name[:1].isdigit() else name
    check_identifier(name, f"the lake's name for column {show(source)}")
    return f"{name}_" if name in TECHNICAL else name


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """True when a name fits one of the patterns (``*``, ``?``), without case; none at all fit everything."""
    return not patterns or any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)
