"""Putting the rows of a mart, as of one instant, where dashboards read: from one whole state to the next."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.serving.address import ServingAddress
from spark_jobs.storage.serving.changes import ChangesUncertainError, RowChange
from spark_jobs.storage.serving.columns import ROW_KEY, build_bind, check_columns, row_key
from spark_jobs.storage.serving.sessions import ServingSessions
from spark_jobs.storage.serving.states import KeyedRow, MartState, TableChange, Written
from spark_jobs.storage.serving.tables import RECORD, ServedMart, ServingTables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_CHUNK = 1_000
"""Rows held in memory and sent at a time."""

Rows = Iterator[dict[str, Any]]
log = logging.getLogger(__name__)


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

    def names(self) -> frozenset[str]:
        """Marts and tables that the store has, as its record says."""
        with self._sessions.open() as connection, connection.begin():
            return frozenset(self._tables.names(connection))

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
        rows: Iterable[KeyedRow],
        *,
        is_on_timeline: Callable[[Instant], bool],
    ) -> Written | None:
        """Put ``rows`` in the place of the mart's rows; readers see all of the old ones, then all of the new.

        Rows of a later instant stay, unless that instant is gone from the timeline (the table was restored): a late
        retry never takes newer rows away. When it fails anywhere, either nothing has changed or all has: run it again.

        Args:
            state: what the rows are true for.
            schema: the columns, in the order of the values in each row.
            rows: read once, a thousand at a time.
            is_on_timeline: whether the mart's timeline, looked at again, still has an instant.

        Returns:
            What was written; None when the store holds this instant, or a later one, already.

        Raises:
            ContractError: two rows have one key, or a column or a value cannot be served.
        """
        check_columns(state.mart, schema)
        bind = self._binding(state.mart, schema)
        bound = (bind(key, of_row) for key, of_row in rows)
        values = chain(list(islice(bound, _CHUNK)), bound)  # the lake has begun to answer: only now a transaction opens
        with self._sessions.open_for(state.mart) as connection:
            for step in (self._add_columns, self._replace_rows):
                with self._sessions.writing(connection, state.mart):
                    served, columns = self._tables.read(connection, state.mart)
                    if served and _is_late(state, served, is_on_timeline):
                        return None
                    count = step(TableChange(connection, state, schema, served, columns), values)
        log.info("%s: all %d rows of %s are served", state.mart, count, state.instant)
        return Written(rows=count)

    def change(
        self, state: MartState, schema: StructType, changes: Iterable[RowChange], *, after: Instant
    ) -> Written | None:
        """Write the rows that changed since the instant that is served; readers see the old state, then the new one.

        Args:
            state: what the rows are true for afterwards.
            schema: the columns, in the order of the values in each row.
            changes: one for each key whose row differs; read once, a thousand at a time.
            after: the instant that the changes begin after.

        Returns:
            What was written; None when the store holds the state already.

        Raises:
            ChangesUncertainError: the store is not at ``after``, or its table is not what was served then. Nothing was
                written: :meth:`replace` all rows.
        """
        check_columns(state.mart, schema)
        changes = iter(changes)
        changes = chain(list(islice(changes, _CHUNK)), changes)  # as for a replacement
        with (
            self._sessions.open_for(state.mart) as connection,
            self._sessions.writing(connection, state.mart),
        ):
            served, columns = self._tables.read(connection, state.mart)
            if served and served.instant == state.instant:
                return None
            change = TableChange(connection, state, schema, served, columns)
            if served is None or served.instant != after:
                raise ChangesUncertainError("another run served it meanwhile")
            if not change.is_fit or change.missing:
                raise ChangesUncertainError("its table in the store has other columns")
            written, count = self._write_changes(change, changes, served.row_count)
            self._tables.write(connection, change.served_with(count))
        log.info("%s: %d rows written, %d deleted of %s", state.mart, written.rows, written.deleted, state.instant)
        return written

    def _write_changes(self, change: TableChange, changes: Iterator[RowChange], row_count: int) -> tuple[Written, int]:
        """Write them, and see that the table has as many rows as the mart then; gives also how many."""
        connection, mart, schema = change.connection, change.state.mart, change.schema
        table, bind = self._tables.build(mart, schema), self._binding(mart, schema)
        rows, deleted, expected = 0, 0, row_count
        while chunk := list(islice(changes, _CHUNK)):
            came = [bind(each.key, each.values) for each in chunk if each.values is not None]
            went = [row_key(each.key) for each in chunk if each.values is None and each.was_there]
            if went:
                self._tables.delete(connection, table, went)
            if came:
                self._tables.upsert(connection, table, came)
            rows, deleted = rows + len(came), deleted + len(went)
            expected += len(came) - sum(each.was_there for each in chunk)
        count = self._tables.count(connection, table)
        if count != expected:
            raise ChangesUncertainError(f"its table in the store has {count} rows and not {expected}")
        return Written(rows=rows, deleted=deleted), count

    def _add_columns(self, change: TableChange, _values: Rows) -> int:
        """Add new columns in a transaction of their own: readers wait for that moment only, and not for the rows."""
        if change.is_fit and change.served and change.missing:
            self._sessions.hurry(change.connection)
            # The record first: MySQL commits it when the table changes. Known and not there is added again, there and
            # not known is rebuilt.
            self._tables.write(change.connection, dataclasses.replace(change.served, column_types=change.types))
            table = self._tables.build(change.state.mart, change.schema)
            self._tables.add_columns(change.connection, table, change.missing)
        return 0

    def _replace_rows(self, change: TableChange, values: Rows) -> int:
        connection, mart = change.connection, change.state.mart
        is_fit = change.is_fit and not change.missing
        if is_fit:
            table = self._tables.build(mart, change.schema)
            connection.execute(table.delete())
            count = _insert(connection, table, values, mart)
        else:
            count = _insert(connection, self._tables.build_beside(connection, mart, change.schema), values, mart)
            self._sessions.hurry(connection)
            self._tables.swap(connection, mart, is_there=bool(change.columns))
        self._tables.write(connection, change.served_with(count))
        if not is_fit:
            self._tables.drop_old(connection, mart)
        return count

    def _binding(self, mart: str, schema: StructType) -> Callable[[str, Sequence[Any]], dict[str, Any]]:
        """How a row is handed to the driver: its values by column, and its key."""
        binds = [build_bind(f.dataType, self._database, f"mart {mart}: {f.name}") for f in schema.fields]

        def bind(key: str, values: Sequence[Any]) -> dict[str, Any]:
            own = {name: bind(value) for name, bind, value in zip(schema.names, binds, values, strict=True)}
            return {**own, ROW_KEY: row_key(key)}

        return bind


def _is_late(state: MartState, served: ServedMart, is_on_timeline: Callable[[Instant], bool]) -> bool:
    if served.instant <= state.instant:
        return served.instant == state.instant and served.is_keyed
    return is_on_timeline(served.instant)


def _insert(connection: Connection, table: Table, values: Rows, mart: str) -> int:
    from sqlalchemy.exc import IntegrityError

    count = 0
    while chunk := list(islice(values, _CHUNK)):
        try:
            connection.execute(table.insert(), chunk)
        except IntegrityError:
            raise ContractError(
                f"mart {mart} has two rows with the same values in the columns of its grain, so the store cannot tell "
                f"them apart; correct its SQL or its grain"
            ) from None
        count += len(chunk)
    return count
