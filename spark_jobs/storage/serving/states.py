"""A mart on its way from the state that the store has to another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.instants import Instant, moment_of, parse_instant
from spark_jobs.storage.serving.columns import ROW_KEY, types_of
from spark_jobs.storage.serving.tables import RECORD, ServedMart

if TYPE_CHECKING:
    from sqlalchemy import Connection

KeyedRow = tuple[str, Sequence[Any]]
"""The record key of a row, and its values in the order of the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MartState:
    """A mart as of ``instant`` of its own timeline; ``clock`` is the one it was brought to, ``served_at`` the run's."""

    mart: str
    instant: Instant
    clock: datetime | None
    served_at: datetime

    def __post_init__(self) -> None:
        check_identifier(self.mart, "mart")
        parse_instant(self.instant)
        if self.mart == RECORD:
            raise ContractError(f"mart {self.mart}: the serving store keeps its own record under this name; rename it")

    @property
    def true_at(self) -> datetime:
        """The instant as a time."""
        return moment_of(self.instant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many rows were written, and how many taken away because they went; of a replacement all are written."""

    rows: int
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class TableChange:
    """A mart's table on its way from what is ``served`` in ``columns`` to ``state`` with ``schema``."""

    connection: Connection
    state: MartState
    schema: StructType
    served: ServedMart | None
    columns: frozenset[str]

    @property
    def wanted(self) -> dict[str, str]:
        """The mart's columns with their types, by Spark's names."""
        return types_of(self.schema)

    @property
    def is_fit(self) -> bool:
        """True when the table can hold the rows, once it has the columns that are missing."""
        known = self.served.column_types if self.served else {}
        is_keyed = ROW_KEY in self.columns
        return is_keyed and all(known.get(n) == kind for n, kind in self.wanted.items() if n in self.columns)

    @property
    def missing(self) -> list[str]:
        """Columns that the table lacks."""
        return [name for name in self.wanted if name not in self.columns]

    @property
    def types(self) -> dict[str, str]:
        """Types of all columns of a table that is fit: those that the mart no longer has stay, with nulls."""
        return {**(self.served.column_types if self.served and self.is_fit else {}), **self.wanted}

    def served_with(self, row_count: int) -> ServedMart:
        """The record when it is done."""
        return ServedMart(
            mart=self.state.mart,
            instant=self.state.instant,
            true_at=self.state.true_at,
            clock=self.state.clock,
            row_count=row_count,
            served_at=self.state.served_at,
            column_types=self.types,
        )
