"""Tables that come as whole files instead of change events, such as exchange rates: what they are, and their words."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import show, show_all
from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, TableType

_PARTITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
"""What a partition may be called: a folder's name for every engine, and no pattern of several."""
_RECORD_KEYS = (ColumnType.BIGINT, ColumnType.STRING)
_PARTITIONS = (ColumnType.STRING, ColumnType.TIMESTAMP)
_DAY = "_day"


class LoadOperation(StrEnum):
    """What the rows of a load do to the table."""

    UPSERT = "upsert"
    """Put in; a row whose key is there takes its place."""
    INSERT = "insert"
    """Put in where the key is not there yet; the others change nothing and count as duplicates."""
    BULK_INSERT = "bulk_insert"
    """A first load: put in. When one of the keys is there the whole load is refused."""
    INSERT_OVERWRITE = "insert_overwrite"
    """Take the place of the partitions that they name; the other partitions stay."""
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    """Take the place of the whole table."""
    DELETE = "delete"
    """Their keys are taken out; other columns need not be there."""

    @property
    def looks_up(self) -> bool:
        """True when it depends on which keys the table has."""
        return self in (LoadOperation.INSERT, LoadOperation.BULK_INSERT, LoadOperation.DELETE)

    @property
    def replaces(self) -> bool:
        """True when rows go that no row of the load is about."""
        return self in (LoadOperation.INSERT_OVERWRITE, LoadOperation.INSERT_OVERWRITE_TABLE)


class FileFormat(StrEnum):
    """How the files of a load are written."""

    CSV = "csv"
    """With a header, in UTF-8; plain or gzip."""
    JSON = "json"
    """One object a line, in UTF-8; plain or gzip."""
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec(Described):
    """One such table: one row per key, as the newest load left it.

    The partition is one of the key's columns, else a row could be in two of them. A timestamp is written as its day
    (UTC), in a column of its own; with ``keep_days`` a text has to be a day.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[ColumnSpec, ...]
    partition: str = ""
    operation: LoadOperation = LoadOperation.UPSERT
    keep_days: int = 0
    """How long ago a partition's day may be before ``partitions retain`` removes it; 0 keeps all."""
    buckets: int = 1
    type: TableType = TableType.MERGE_ON_READ

    def __post_init__(self) -> None:
        check_identifier(self.name, "load")
        what = f"load {self.name}"
        raise_all([*self.mistakes_of_description(what), *self.comments_elsewhere(what, "load: columns")])
        names, sources = ([getattr(each, what) for each in self.columns] for what in ("name", "source"))
        if not names or len(set(names)) != len(names) or len(set(sources)) != len(names):
            raise self._refused("needs columns, each once")
        if wrong := [name for name in names if name == CELL_ID or "__" in name]:
            raise self._refused(f"column {show(wrong[0])} is a name kept for technical columns; call it otherwise")
        if not self.key or len(set(self.key)) != len(self.key):
            raise self._refused("needs a key: the columns that identify a row, each once")
        if missing := [name for name in self.key if name not in names]:
            raise self._refused(f"key columns {show_all(missing)} are not among its columns")
        if self.buckets < 1:
            raise self._refused("buckets must be at least 1")
        self._check_partition(names)

    def _check_partition(self, names: Collection[str]) -> None:
        if self.keep_days < 0:
            raise self._refused(f"keep_days is {self.keep_days}; give days, or 0 to keep all")
        if not self.partition:
            if self.keep_days:
                raise self._refused("keep_days removes whole partitions; say by which day: partition")
            if self.operation is LoadOperation.INSERT_OVERWRITE:
                raise self._refused("operation insert_overwrite is for partitions; use insert_overwrite_table")
            return
        if self.partition not in self.key:
            raise self._refused(
                f"partition {show(self.partition)} is not in its key {list(self.key)}, so a row could be in two "
                f"partitions; add it to the key"
            )
        column = self.column(self.partition)
        if column.type not in _PARTITIONS:
            raise self._refused(f"partition {column.name} is a {column.type.value}; use a string or a timestamp")
        if self.partition_column != self.partition and self.partition_column in names:
            raise self._refused(f"column {show(self.partition_column)} is kept for the day of {self.partition}")

    @property
    def record_key(self) -> str:
        """The column that Hudi knows a row by; of several it is text made of them."""
        is_plain = len(self.key) == 1 and self.column(self.key[0]).type in _RECORD_KEYS
        return self.key[0] if is_plain else CELL_ID

    @property
    def partition_column(self) -> str:
        """The stored column that the partitions are of, or ""."""
        if not self.partition or self.column(self.partition).type is not ColumnType.TIMESTAMP:
            return self.partition
        return self.partition + _DAY

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """The table's columns as readers see them."""
        names = tuple(column.name for column in self.columns)
        return names if self.partition_column in ("", *names) else (*names, self.partition_column)

    @property
    def is_by_day(self) -> bool:
        """True when every partition is a day."""
        return bool(self.keep_days) or self.partition_column != self.partition

    def column(self, name: str) -> ColumnSpec:
        """The column called ``name``, which is one of its own."""
        return next(column for column in self.columns if column.name == name)

    def _refused(self, reason: str) -> ContractError:
        return ContractError(f"load {self.name}: {reason}")


def is_partition(value: str) -> bool:
    """True for a value that can be a partition's name."""
    return _PARTITION.fullmatch(value) is not None


def is_day(value: str) -> bool:
    """True for a day as ISO 8601 writes it: ``2026-01-31``."""
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def first_kept_day(today: date, keep_days: int) -> str:
    """The oldest day whose partition stays."""
    return (today - timedelta(days=min(keep_days, (today - date.min).days))).isoformat()
