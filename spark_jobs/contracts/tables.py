"""Columns of a source, and the tables of newest values that they become."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError

_IDENTIFIER = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


def check_identifier(name: object, what: str) -> None:
    """Raise ContractError unless ``name`` is a plain snake_case identifier, safe in SQL and as a folder."""
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        raise ContractError(f"{what} {name!r} is not a snake_case identifier (a-z, 0-9, _; at most 63 characters)")


class ColumnType(StrEnum):
    """Types a source column may have."""

    BIGINT = "bigint"
    STRING = "string"
    DECIMAL = "decimal"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"


class NumberUnit(StrEnum):
    """Unit of a timestamp that arrives as a number."""

    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"


class TableType(StrEnum):
    """How a keyed table takes an upsert (docs/adr/0002-table-settings.md)."""

    MERGE_ON_READ = "merge_on_read"
    """Appends to the file group of each key: fast; engines that read base files alone see what compaction reached."""
    COPY_ON_WRITE = "copy_on_write"
    """Writes the file group of each key anew: slower by the size of the table; every engine reads every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSpec:
    """One column: its name in the lake and at the source, how its values are read, and what it is for people."""

    name: str
    source: str
    type: ColumnType
    precision: int = 0
    scale: int = 0
    max_length: int = 4000
    unit: tuple[tuple[str, NumberUnit], ...] = (("default", NumberUnit.MILLISECONDS),)
    comment: str = ""

    def __post_init__(self) -> None:
        check_identifier(self.name, "column")
        if self.type is ColumnType.DECIMAL and not 0 <= self.scale <= self.precision <= 38:
            raise ContractError(f"column {self.name}: decimal({self.precision},{self.scale}) is not possible")
        if self.type is ColumnType.DECIMAL and self.precision == 0:
            raise ContractError(f"column {self.name}: a decimal needs precision and scale")

    @property
    def sql_type(self) -> str:
        """The Spark SQL type."""
        return f"decimal({self.precision},{self.scale})" if self.type is ColumnType.DECIMAL else self.type.value

    def unit_for(self, connector: str) -> NumberUnit:
        """The unit in which ``connector`` sends this timestamp."""
        units = dict(self.unit)
        return units.get(connector, units.get("default", NumberUnit.MILLISECONDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Where the events come from: topic patterns, the record's key column, the columns."""

    topics: tuple[str, ...]
    key: str
    columns: tuple[ColumnSpec, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names) or len({column.source for column in self.columns}) != len(names):
            raise ContractError("source columns: a name is declared twice")
        if self.key not in names:
            raise ContractError(f"source key {self.key!r} is not among the source columns")
        if not self.topics:
            raise ContractError("source topics: name at least one pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """One row per key; every column holds its newest non-null value by event order."""

    name: str
    key: str
    columns: tuple[str, ...]
    buckets: int = 1
    follows_deletes: bool = False
    type: TableType = TableType.MERGE_ON_READ

    def __post_init__(self) -> None:
        check_identifier(self.name, "table")
        if not self.columns or self.key in self.columns or len(set(self.columns)) != len(self.columns):
            raise ContractError(f"table {self.name}: needs columns beside its key, each once")
        if self.buckets < 1:
            raise ContractError(f"table {self.name}: buckets must be at least 1")
