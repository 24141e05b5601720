"""Putting the rows of a mart, as of one instant, where dashboards read: whole states only, each with its instant."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.instants import Instant, moment_of, parse_instant
from spark_jobs.storage.serving.address import ServingAddress
from spark_jobs.storage.serving.columns import TRUE_AT, TRUE_FOR, build_bind, check_columns, in_database
from spark_jobs.storage.serving.sessions import ServingSessions
from spark_jobs.storage.serving.tables import RECORD, ServedMart, ServingTables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_CHUNK = 1_000
"""Rows held in memory and sent at a time."""

Rows = Iterator[dict[str, Any]]
log = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class _Change:
    """A mart's table on its way from what is ``served`` in ``columns`` to ``state`` with ``schema``."""

    connection: Connection
    state: MartState
    schema: StructType
    served: ServedMart | None
    columns: frozenset[str]

    @property
    def wanted(self) -> dict[str, str]:
        """The mart's columns with their types, by Spark's names."""
        return {field.name: field.dataType.simpleString() for field in self.schema.fields}

    @property
    def is_fit(self) -> bool:
        """True when the table can hold the rows, once it has the columns that are missing."""
        known = self.served.column_types if self.served else {}
        return bool(self.columns) and all(known.get(n) == kind for n, kind in self.wanted.items() if n in self.columns)

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


class ServingStore:
    """The tables that dashboards read, one a mart, and the record of what they hold (``served_marts``)."""

    def __init__(self, address: ServingAddress, *, wait_seconds: int) -> None:
        """Make the record if there is none yet; ``wait_seconds`` is how long a writer waits for another.

        Raises:
            SettingsError: the database, its user or password is not what the URL says.
            TransientError: the database does not answer.
        """
        self._database = address.database
        self._sessions = ServingSessions(address, wait_seconds=wait_seconds)
        self._tables = ServingTables(address.database)
        with self._sessions.open_for(RECORD) as connection, self._sessions.writing(connection, RECORD):
            self._tables.record.create(connection, checkfirst=True)

    def served(self, mart: str) -> ServedMart | None:
        """What the store holds of the mart; None when that is nothing."""
        with self._sessions.open() as connection, connection.begin():
            return self._tables.read(connection, mart)[0]

    def vacuum(self) -> None:
        """Take rows that were deleted out of the database's files as well."""
        self._sessions.vacuum()

    def keep(self, state: MartState) -> None:
        """Record that the rows of this instant are right at its clock too."""
        with (
            self._sessions.open_for(state.mart) as connection,
            self._sessions.writing(connection, state.mart),
        ):
            served, _ = self._tables.read(connection, state.mart)
            if served and served.instant == state.instant:
                now = dataclasses.replace(served, clock=state.clock, served_at=state.served_at)
                self._tables.write(connection, now)

    def replace(
        self,
        state: MartState,
        schema: StructType,
        rows: Iterable[Sequence[Any]],
        *,
        is_on_timeline: Callable[[Instant], bool],
    ) -> int | None:
        """Put ``rows`` in the place of the mart's rows; readers see all of the old ones, then all of the new.

        Rows of a later instant stay, unless that instant is gone from the timeline (the table was restored): a late
        retry never takes newer rows away. When it fails anywhere, either nothing has changed or all has: run it again.

        Args:
            state: what the rows are true for.
            schema: the columns, in the order of the values in each row.
            rows: read once, a thousand at a time.
            is_on_timeline: whether the mart's timeline, looked at again, still has an instant.

        Returns:
            How many rows were written; None when the store holds this instant, or a later one, already.
        """
        check_columns(state.mart, schema)
        values = self._values(state, schema, rows)
        values = chain(
            list(islice(values, _CHUNK)), values
        )  # the lake has begun to answer: only now a transaction opens
        with self._sessions.open_for(state.mart) as connection:
            for step in (self._add_columns, self._replace_rows):
                with self._sessions.writing(connection, state.mart):
                    served, columns = self._tables.read(connection, state.mart)
                    if served and _is_late(state, served, is_on_timeline):
                        return None
                    count = step(_Change(connection, state, schema, served, columns), values)
        log.info("%s: %d rows of %s are served", state.mart, count, state.instant)
        return count

    def _add_columns(self, change: _Change, _values: Rows) -> int:
        """Add new columns in a transaction of their own: readers wait for that moment only, and not for the rows."""
        if change.is_fit and change.served and change.missing:
            self._sessions.hurry(change.connection)
            # The record first: MySQL commits it when the table changes. Known and not there is added again, there and
            # not known is rebuilt.
            self._tables.write(change.connection, dataclasses.replace(change.served, column_types=change.types))
            table = self._tables.build(change.state.mart, change.schema)
            self._tables.add_columns(change.connection, table, change.missing)
        return 0

    def _replace_rows(self, change: _Change, values: Rows) -> int:
        connection, mart = change.connection, change.state.mart
        is_fit = change.is_fit and not change.missing
        if is_fit:
            table = self._tables.build(mart, change.schema)
            connection.execute(table.delete())
            count = _insert(connection, table, values)
        else:
            count = _insert(connection, self._tables.build_beside(connection, mart, change.schema), values)
            self._sessions.hurry(connection)
            self._tables.swap(connection, mart, is_there=bool(change.columns))
        self._tables.write(connection, change.served_with(count))
        if not is_fit:
            self._tables.drop_old(connection, mart)
        return count

    def _values(self, state: MartState, schema: StructType, rows: Iterable[Sequence[Any]]) -> Rows:
        binds = [build_bind(f.dataType, self._database, f"mart {state.mart}: {f.name}") for f in schema.fields]
        same = {TRUE_FOR: state.instant, TRUE_AT: in_database(state.true_at, self._database)}
        for row in rows:
            own = {name: bind(value) for name, bind, value in zip(schema.names, binds, row, strict=True)}
            yield {**own, **same}


def _is_late(state: MartState, served: ServedMart, is_on_timeline: Callable[[Instant], bool]) -> bool:
    if served.instant <= state.instant:
        return served.instant == state.instant
    return is_on_timeline(served.instant)


def _insert(connection: Connection, table: Table, values: Rows) -> int:
    count = 0
    while chunk := list(islice(values, _CHUNK)):
        connection.execute(table.insert(), chunk)
        count += len(chunk)
    return count
