"""Columns that a lake declares, and the source whose events have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import one_of, plain, show
from spark_jobs.lake_spec.described import MOST_COMMENT, is_one_line

_TOPIC = re.compile(r"[A-Za-z0-9._*?\[\]!-]{1,249}")
"""A pattern of the names that Kafka allows."""
_MOST_SOURCE_NAME = 128
"""No database gives a column a longer name."""

PLACEHOLDER = "__debezium_unavailable_value"
"""What Debezium's connectors send in place of a value that did not travel, unless they are set to something else."""
ROW_COLUMNS = ("source_table", "row_types", "row_values", "row_unknown")
"""Of the log: the table at the source; by name there the types, the values as text and which values did not travel."""
_KEPT = frozenset({
    *("event_id", "op", "event_order", "event_time", "transaction_id"),
    *("read_from", "read_offset", "ingest_time", "event_date"),
    *("reason", "detail", "raw", "row_order", "deleted_order", "is_deleted", "cell_id"),
    *ROW_COLUMNS,
})  # fmt: skip
"""Columns that the log, the quarantine and the tables have beside those of the source."""


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
    NANOSECONDS = "nanoseconds"
    DAYS = "days"
    """A date without a time: its first moment."""


class TableType(StrEnum):
    """How a keyed table takes an upsert (docs/adr/0002-table-settings.md)."""

    MERGE_ON_READ = "merge_on_read"
    """Appends to the file group of each key: fast; engines that read base files alone see what compaction reached."""
    COPY_ON_WRITE = "copy_on_write"
    """Rewrites the file group of each key: slower by the size of the table; every engine reads every commit."""


class Nulls(StrEnum):
    """What null means in an event."""

    UNKNOWN = "unknown"
    """Nothing: the newest known value stays. Right for records that hold only what changed."""
    VALUE = "value"
    """The value was set to null. Right for events that hold the whole row."""


class OriginRule(StrEnum):
    """What decides between events of several origins in one wide log (:mod:`spark_jobs.lake_spec.origins`)."""

    ONE = "one"
    """There is one origin; events of another go to the quarantine."""
    BY_TIME = "by_time"
    """The newer event by the source's time."""
    BY_POSITION = "by_position"
    """Their positions: they are of one log, or the keys of their rows never meet."""


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
    packed: bool = False
    """A decimal whose bytes arrive in base64, without its scale, which is then the declared one."""
    comment: str = ""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.name, "column", at=("name",))
        if not self.source.isprintable() or not 0 < len(self.source) <= _MOST_SOURCE_NAME:
            yield self._refused(
                f"source {show(self.source)} is no column's name; give its name at the source, of 1 to "
                f"{_MOST_SOURCE_NAME} characters that can be printed",
                "source",
            )
        if not is_one_line(self.comment):
            yield self._refused(
                f"comment {show(self.comment)} is not one line of at most {MOST_COMMENT} characters; shorten it",
                "comment",
            )
        is_decimal = self.type is ColumnType.DECIMAL
        if is_decimal and not 0 <= self.scale <= self.precision <= 38:
            yield self._refused(
                f"decimal({self.precision},{self.scale}) is not possible; give a precision of 1 to 38 and a scale up "
                f"to it",
                "precision",
            )
        elif is_decimal and self.precision == 0:
            yield self._refused("a decimal needs precision and scale; add them", "type")
        if self.packed and not is_decimal:
            yield self._refused(
                f"packed is for decimals, and this is a {self.type.value}; take packed out, or correct its type",
                "packed",
            )

    def _refused(self, reason: str, field: str) -> ContractError:
        return ContractError(f"column {plain(self.name)}: {reason}", at=(field,))

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
    """Where the events come from: topic patterns; of the wide log, the key column and the columns.

    A lake without a wide log has neither. ``nulls`` is what null means in the wide log's events, unless a table says
    otherwise.
    """

    topics: tuple[str, ...]
    key: str = ""
    columns: tuple[ColumnSpec, ...] = ()
    nulls: Nulls = Nulls.UNKNOWN
    placeholder: str = PLACEHOLDER
    """The connector's ``unavailable.value.placeholder``."""
    drop: tuple[str, ...] = ()
    """Names at the source, or patterns of them, of columns that are not kept when they are not declared."""
    null_columns: tuple[tuple[str, Nulls], ...] = ()
    """What null means in columns that are exceptions from ``nulls``."""
    tables: tuple[str, ...] = ()
    """Patterns of the tables at the source (``dbo.SALES``, ``*.sales``) whose events are the wide log's; none are all
    that no table with from names. One with two ``/`` names server and database too: ``*/ERP_A/dbo.SALES``."""
    origins: OriginRule = OriginRule.ONE

    @property
    def ways(self) -> tuple[tuple[bool, bool], ...]:
        """How ``tables`` names them: with server and database, or without (lake_spec/table_sources.py)."""
        own = ((True, True),) if any("/" in name for name in self.tables) else ()
        return (*own, (False, False))

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        names = [column.name for column in self.columns]
        yield from self._twice(names)
        for at, name in enumerate(names):
            if name in _KEPT or "__" in name or name.removesuffix("_order") in {*names} - {name}:
                yield ContractError(
                    f"source column {show(name)} is a name kept for technical columns; call it otherwise",
                    at=("columns", at, "name"),
                )
        if (self.key or names) and self.key not in names:
            yield ContractError(
                f"source key {show(self.key)} is not among the source columns; {one_of(self.key, names)}",
                at=("key",),
                lacks=("columns", self.key),
            )
        yield from self._of_values(names)
        if not self.topics:
            yield ContractError("source topics: name at least one pattern; add one", at=("topics",))
        for at, topic in enumerate(self.topics):
            if not _TOPIC.fullmatch(topic):
                yield ContractError(
                    f"source topics: {show(topic)} is no pattern of topic names (letters, digits, '.', '_', '-', "
                    f"wildcards * ? [ ]; at most 249 characters); correct it",
                    at=("topics", at),
                )

    def _of_values(self, names: list[str]) -> Iterator[ContractError]:
        """What is wrong with how values are read."""
        for at, pattern in enumerate(self.drop):
            if pattern in {column.source for column in self.columns}:
                yield ContractError(
                    f"source drop: {show(pattern)} is declared below columns; take it out of one of them",
                    at=("drop", at),
                )
        for number, (column, _) in enumerate(self.null_columns):
            if column not in names:
                yield ContractError(
                    f"source nulls names {show(column)}, none of its columns; {one_of(column, names)}",
                    at=("nulls", "columns", number),
                )
        if not isinstance(self.placeholder, str) or not self.placeholder.strip():
            yield ContractError(
                f"source placeholder {show(self.placeholder)} is no text; give the connector's "
                f"unavailable.value.placeholder, or take it out",
                at=("placeholder",),
            )

    def _twice(self, names: list[str]) -> Iterator[ContractError]:
        sources = [column.source for column in self.columns]
        for at, (name, source) in enumerate(zip(names, sources, strict=True)):
            for field, value, before in (("name", name, names[:at]), ("source", source, sources[:at])):
                if value in before:
                    yield ContractError(
                        f"source columns: a name is declared twice, {field} {show(value)}; rename one of them, or "
                        f"take it out",
                        at=("columns", at, field),
                    )
