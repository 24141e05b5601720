"""A table of the lake: where its rows come from, how they merge, and how they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import check_identifier, is_identifier, wrong_identifier
from spark_jobs.contracts.names import plain, show
from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.partitioning import Transform, mistakes_of_width, partition_text
from spark_jobs.lake_spec.table_sources import ORIGIN, Sources, is_schema, is_source_name, origin_of
from spark_jobs.lake_spec.tables import ColumnSpec, Nulls, TableType

ROW_KEY, ROW_ORDER, OLDER_ORDERS, IS_DELETED = "row_key", "row_order", "older_orders", "is_deleted"
ROW_PARTITION, REMOVES = "row_partition", "_hoodie_is_deleted"
TECHNICAL = (ROW_KEY, ROW_PARTITION, ROW_ORDER, OLDER_ORDERS, IS_DELETED)
"""Columns of a table with one order a row, beside those of the source: the key as text, the partition, the order of its
newest event, that of values which are older (those that did not travel with it), and whether the row is deleted."""
VALID = ("valid_from", "valid_to")
"""Columns that versions of a row have beside its own."""
MASK = "***"
"""In place of every value of a masked column that is not null."""
HISTORY_SUFFIX, VERSIONS_SUFFIX = "_history", "_versions"
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[0-9]*[A-Z]?[a-z]+[0-9]*|[0-9]*[A-Z]+[0-9]*|[0-9]+")


class Deletes(StrEnum):
    """What a delete at the source does to the row with its key."""

    TOMBSTONE = "tombstone"
    """The row stays with its key, its order and ``is_deleted``; views hide it."""
    REMOVE = "remove"
    """The row is removed; its delete is kept apart, so that an older event does not bring it back."""
    IGNORE = "ignore"
    """Nothing. Right for tables that are made of some columns of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec(Described):
    """One row per key, merged from change events by their order.

    With ``database`` and ``table`` the events are those of a table at the source (PostgreSQL's and SQL Server's schema
    with the table: ``public.orders``): ``key``, ``columns``, ``drop`` and ``mask`` are names there, no ``columns`` are
    all of them, and ``declared`` are those whose type the events do not carry. Without, the events are those of the
    wide log, and the names are the lake's.

    With ``shards`` the events are those of several tables at the source: ``found`` are those that the log knows, and
    ``origin_column`` is the column that says of which one a row is; it is the first of the key.

    ``is_found`` says that no entry declares it: it was made because a pattern has its table at the source.
    ``nulls`` is what null means in its columns; None for the source's rule. ``null_columns`` are the exceptions.
    With ``history`` a table beside it keeps every event about its rows. With ``served`` the serving store has its rows
    beside the marts, so that dashboards join names that are the newest.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...] = ()
    database: str = ""
    table: str = ""
    declared: tuple[ColumnSpec, ...] = ()
    drop: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    nulls: Nulls | None = None
    null_columns: tuple[tuple[str, Nulls], ...] = ()
    deletes: Deletes | None = None
    partition: str = ""
    transform: Transform = Transform.VALUE
    width: int | None = None
    type: TableType = TableType.MERGE_ON_READ
    buckets: int = 1
    shards: Sources | None = None
    origin_column: str = ""
    found: tuple[str, ...] = ()
    is_found: bool = False
    history: bool = False
    served: bool = False
    has_default_deletes: bool = field(default=False, init=False, repr=False, compare=False)
    """True when its entry does not declare ``deletes``."""
    names_beside: Mapping[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By name at the source, the lake's name of columns that another table of the same source declares."""

    def __post_init__(self) -> None:
        if self.shards and self.key[:1] != (ORIGIN,):
            object.__setattr__(self, "key", (ORIGIN, *self.key))
        if self.deletes is None:
            object.__setattr__(self, "has_default_deletes", True)
            object.__setattr__(self, "deletes", Deletes.TOMBSTONE if self.is_mirror else Deletes.IGNORE)
        if self.nulls is None and self.is_mirror:
            object.__setattr__(self, "nulls", Nulls.VALUE)
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.name, "table", at=("name",))
        yield from self.mistakes_of_description(f"table {plain(self.name)}")
        yield from self._of_a_mirror() if self.is_mirror else self._of_the_wide_log()
        for reason, at in mistakes_of_width(self.partition, self.transform, self.width):
            yield self._wrong(reason, at)
        if self.buckets < 1:
            yield self._wrong("buckets must be at least 1; correct it", "buckets")
        if self.history and not is_identifier(self.versions_name):
            yield self._wrong("with history its name has at most 54 characters; shorten it", "name")
        known = {*self.columns, *self.key}
        for number, (column, _) in enumerate(self.null_columns):
            if column not in known and (self.columns or not self.is_mirror):
                yield self._wrong(f"nulls names {show(column)}, none of its columns", "nulls", "columns", number)

    def _of_the_wide_log(self) -> Iterator[ContractError]:
        if len(self.key) != 1:
            yield self._wrong("its key has to be one column; name it", "key")
        elif not self.columns or set(self.key) & set(self.columns) or len(set(self.columns)) != len(self.columns):
            yield self._wrong("needs columns beside its key, each once; correct columns", "columns")
        if self.partition and self.partition not in (*self.key, *self.columns):
            yield self._wrong(f"partition {show(self.partition)} is none of its columns; name one of them", "partition")
        for what, is_there in (("declare", self.declared), ("drop", self.drop), ("mask", self.mask)):
            if is_there:
                yield self._wrong(f"{what} is for tables with from; take it out", what)
        yield from self.comments_elsewhere(f"table {plain(self.name)}", "source: columns")
        if self.history and (taken := {*VALID} & {*self.key, *self.columns}):
            yield self._wrong(f"with history {min(taken)} is a column of its versions; call it otherwise", "history")

    def _of_a_mirror(self) -> Iterator[ContractError]:
        named = () if self.shards or self.is_found else ((self.database, "database"), (self.table, "table"))
        for value, what in named:
            if not (is_schema(value) if what == "database" else is_source_name(value)):
                yield self._wrong(
                    f"{what} {show(value)} is no name of a {what}; give its name at the source", "from", what
                )
        if self.shards:
            yield from wrong_identifier(self.origin_column, "origin", at=("origin",))
            if self.origin_column in TECHNICAL or self.origin_column in {column.name for column in self.declared}:
                yield self._wrong(f"column {show(self.origin_column)} is taken; call it otherwise", "origin")
        if not self.source_key or len(set(self.key)) != len(self.key):
            yield self._wrong("its key is no list of columns; give their names at the source, each once", "key")
        yield from self._left_out()
        if self.partition and self.columns and not self.takes(self.partition):
            yield self._wrong(
                f"partition {show(self.partition)} is none of its columns; add it to columns", "partition"
            )
        names = [column.name for column in self.declared]
        for number, name in enumerate(names):
            if name in TECHNICAL or name in names[:number]:
                yield self._wrong(f"column {show(name)} is taken; call it otherwise", "declare", number, "name")

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
                if what == "drop" and name in self.columns:
                    yield self._wrong(f"{show(name)} is among its columns and dropped; choose one", what, number)

    def _wrong(self, reason: str, *at: str | int) -> ContractError:
        return ContractError(f"table {plain(self.name)}: {reason}", at=at)

    @property
    def is_mirror(self) -> bool:
        """True for a table that is made of the events of a table at the source, or of several."""
        return bool(self.database or self.table or self.shards)

    @property
    def origin(self) -> str:
        """For people, what it is made of: a table at the source, or patterns of several; "" for the wide log."""
        return str(self.shards) if self.shards else "".join(self.origins)

    @property
    def origins(self) -> tuple[str, ...]:
        """The tables at the source that its events name, compared without case; none for the wide log."""
        if self.shards:
            return self.found
        return (origin_of(self.database, self.table),) if self.is_mirror else ()

    def is_from(self, origin: str) -> bool:
        """True when it is made of the events of a table at the source, which the log need not know yet."""
        return self.shards.has(origin) if self.shards else origin in self.origins

    @property
    def source_key(self) -> tuple[str, ...]:
        """The columns of its key that rows have at the source."""
        return tuple(name for name in self.key if name != ORIGIN)

    @property
    def history_name(self) -> str:
        """The table that keeps every event about its rows."""
        return f"{self.name}{HISTORY_SUFFIX}"

    @property
    def versions_name(self) -> str:
        """The view of every version of its rows, made of that table."""
        return f"{self.name}{VERSIONS_SUFFIX}"

    @property
    def key_column(self) -> str:
        """The key of a table of the wide log, which is one column."""
        return self.key[0]

    @property
    def has_row_order(self) -> bool:
        """True when its rows are stored with one order a row, False when each column has one of its own beside it.

        The second is the form of tables of the wide log, whose columns come from different events. Rows in partitions
        and rows that are removed need the first.
        """
        return self.is_mirror or self.removes_rows or bool(self.partition)

    @property
    def keeps_tombstones(self) -> bool:
        """True when deleted rows stay in the table, which readers do not see."""
        return self.has_row_order or self.deletes is Deletes.TOMBSTONE

    @property
    def follows_deletes(self) -> bool:
        """True when deletes at the source reach its rows."""
        return self.deletes is not Deletes.IGNORE

    @property
    def removes_rows(self) -> bool:
        """True when rows are taken out of the table: deleted ones, or those that moved to another partition."""
        return self.deletes is Deletes.REMOVE or (bool(self.partition) and not self.has_fixed_partitions)

    @property
    def has_fixed_partitions(self) -> bool:
        """True when the key alone decides the partition: a row never moves, and stays in its own when it is deleted."""
        return self.transform is Transform.TRUNCATE and self.partition in self.key

    @property
    def partitioned_by(self) -> str:
        """The partition column and what of it names a partition, such as ``sale_id by truncate[1000000]``; or ""."""
        return partition_text(self.partition, self.transform, self.width)

    @property
    def names(self) -> dict[str, str]:
        """By name at the source, the lake's name of columns that are declared, by whichever table of the source."""
        own = {ORIGIN: self.origin_column} if self.shards else {}
        return {**self.names_beside, **own, **{column.source: column.name for column in self.declared}}

    def with_names_beside(self, names: Mapping[str, str]) -> TableSpec:
        """The same table, which knows what others of its source declare: the log has one name for a column."""
        table = replace(self)
        object.__setattr__(table, "names_beside", names)
        return table

    def column_name(self, source: str) -> str:
        """The lake's name of a column at the source: as it is declared, else made of its own."""
        return self.names.get(source) or lake_name(source)

    def takes(self, column: str) -> bool:
        """True for a column at the source that the table is to have."""
        return column not in self.drop and (not self.columns or column in self.columns or column in self.key)

    def mistakes_beside(self, other: TableSpec) -> Iterator[ContractError]:
        """What does not fit another table of the same origin: one log holds the events of both."""
        for what, own, others in (("drop", self.drop, other.drop), ("mask", self.mask, other.mask)):
            if set(own) != set(others):
                yield self._wrong(f"{what} differs from {other.name}, which has the same source; align them", what)
        known = {column.source: replace(column, comment="") for column in other.declared}
        for number, column in enumerate(self.declared):
            beside = known.get(column.source)
            if beside and beside != replace(column, comment=""):
                forms = f"{column.name} {column.sql_type} here and {beside.name} {beside.sql_type} in {other.name}"
                reason = f"column {show(column.source)} is {forms}, of the same source; align them"
                if (column.name, column.sql_type) == (beside.name, beside.sql_type):
                    reason = f"column {show(column.source)} is read otherwise than in {other.name}, of the same source"
                    reason += "; declare the same unit, max_length and packed"
                yield self._wrong(reason, "declare", number, "type")

    def mistakes_of_deletes(self, others: Iterable[TableSpec]) -> Iterator[ContractError]:
        """Of a table beside ``others`` of the same source with another key, which has to declare ``deletes``.

        A row at the source has one key. By the default a delete of it would also delete the row of a table whose key
        many rows at the source share, such as the vendor of a deleted purchase.
        """
        other = next((each for each in others if {*each.source_key} != {*self.source_key}), None)
        if other and self.has_default_deletes:
            yield self._wrong(
                f"its key differs from that of {other.name}, of the same source, so it has to say what a delete does; "
                f"write deletes: ignore, or deletes: {self.deletes} if this is the key of the rows there",
                "deletes",
            )


def lake_name(source: str) -> str:
    """The name in the lake of a column at the source: words in lower case with ``_`` between them.

    ``CustomerID`` is ``customer_id``. What is no letter or digit of ASCII separates words; ContractError when nothing
    is left, or too much.
    """
    name = "_".join(word.lower() for word in _WORD.findall(source))
    name = f"c_{name}" if name[:1].isdigit() else name
    check_identifier(name, f"the lake's name for column {show(source)}")
    return f"{name}_" if name in TECHNICAL else name
