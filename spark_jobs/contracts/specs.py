"""The lake spec: which source columns there are and which tables and marts they become."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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


class TimeUnit(StrEnum):
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
    """One column: its name in the lake and at the source, and how its values are read."""

    name: str
    source: str
    type: ColumnType
    precision: int = 0
    scale: int = 0
    max_length: int = 4000
    unit: tuple[tuple[str, TimeUnit], ...] = (("default", TimeUnit.MILLISECONDS),)

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

    def unit_for(self, connector: str) -> TimeUnit:
        """The unit in which ``connector`` sends this timestamp."""
        units = dict(self.unit)
        return units.get(connector, units.get("default", TimeUnit.MILLISECONDS))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyEventsSpec:
    """A mart of event counts per hour and group over the last ``hours`` hours."""

    name: str
    group_by: tuple[str, ...]
    hours: int
    count_as: str

    def __post_init__(self) -> None:
        check_identifier(self.name, "mart")
        check_identifier(self.count_as, f"mart {self.name}: column")
        if not 1 <= self.hours <= 24 * 31:
            raise ContractError(f"mart {self.name}: hours must be between 1 and {24 * 31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupSpec:
    """Columns taken from another table by its key."""

    table: str
    by: str
    take: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyTotalsSpec:
    """A mart of counts and totals over the rows of ``table`` whose ``day_of`` lies on the clock's day."""

    name: str
    table: str
    day_of: str
    group_by: tuple[str, ...]
    count_as: str
    total: str
    total_as: str
    lookup: LookupSpec | None = None

    def __post_init__(self) -> None:
        check_identifier(self.name, "mart")
        check_identifier(self.count_as, f"mart {self.name}: column")
        check_identifier(self.total_as, f"mart {self.name}: column")


MartSpec = HourlyEventsSpec | DailyTotalsSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSpec:
    """A whole lake: source, log, quarantine, tables, marts. Refuses references to things it does not declare."""

    lake: str
    source: SourceSpec
    tables: tuple[TableSpec, ...]
    log: str
    quarantine: str
    marts: tuple[MartSpec, ...] = ()
    time_zone: str = "UTC"
    columns_by_name: dict[str, ColumnSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns_by_name", {column.name: column for column in self.source.columns})
        for name, what in ((self.lake, "lake"), (self.log, "log"), (self.quarantine, "quarantine")):
            check_identifier(name, what)
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ContractError(
                f"time_zone {self.time_zone!r} is unknown; give an IANA name such as Europe/Paris"
            ) from error
        names = self.table_names
        if twice := {name for name in names if names.count(name) > 1}:
            raise ContractError(f"table names used twice: {sorted(twice)}")
        for table in self.tables:
            self._require(table.name, (table.key, *table.columns), self.columns_by_name)
            if table.follows_deletes and table.key != self.source.key:
                raise ContractError(
                    f"table {table.name}: follows_deletes needs the source key {self.source.key!r} as its key"
                )
        for mart in self.marts:
            self._check_mart(mart)

    @property
    def table_names(self) -> list[str]:
        """Every table of the lake: log, quarantine, tables, marts."""
        return [self.log, self.quarantine, *(t.name for t in self.tables), *(m.name for m in self.marts)]

    def table(self, name: str) -> TableSpec:
        """The table called ``name``; ContractError when the lake has none."""
        for table in self.tables:
            if table.name == name:
                return table
        raise ContractError(f"lake {self.lake} has no table {name!r}; it has {[t.name for t in self.tables]}")

    def _check_mart(self, mart: MartSpec) -> None:
        if isinstance(mart, HourlyEventsSpec):
            self._require(mart.name, mart.group_by, self.columns_by_name)
            return
        known = {*self.table(mart.table).columns, self.table(mart.table).key}
        if mart.lookup:
            looked_up = self.table(mart.lookup.table)
            if looked_up.key != mart.lookup.by:
                raise ContractError(
                    f"mart {mart.name}: lookup by {mart.lookup.by!r} is not the key of {looked_up.name}"
                )
            self._require(mart.name, mart.lookup.take, looked_up.columns)
            self._require(mart.name, (mart.lookup.by,), known)
            known |= set(mart.lookup.take)
        self._require(mart.name, (mart.day_of, mart.total, *mart.group_by), known)

    @staticmethod
    def _require(owner: str, wanted: tuple[str, ...], known: Collection[str]) -> None:
        if missing := [name for name in wanted if name not in known]:
            raise ContractError(f"{owner}: columns {missing} are not declared")
