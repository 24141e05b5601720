"""Tables of the serving store: one a mart, the record of what they hold, and how one takes another's place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.serving.address import Database
from spark_jobs.storage.serving.columns import (
    ROW_KEY,
    column_type,
    in_database,
    key_type,
    text_type,
    timestamp_type,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

RECORD = "served_marts"
_OF_EARLIER_RELEASES = "true_for"
"""A column of the tables of releases that wrote no key."""
_MYSQL_OPTIONS: Mapping[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedMart:
    """What the store holds of a mart. ``column_types`` are Spark's names of its columns' types.

    ``is_keyed`` is False of a table that an earlier release made, which has no primary key.
    """

    mart: str
    instant: Instant
    true_at: datetime
    clock: datetime | None
    row_count: int
    served_at: datetime
    column_types: Mapping[str, str]
    is_keyed: bool = True


class ServingTables:
    """Builds, reads and changes tables through a connection that its caller has begun a transaction on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.record = self._build_record()

    def read(self, connection: Connection, mart: str) -> tuple[ServedMart | None, frozenset[str]]:
        """The record of a mart and the columns of its table; without a table there are neither."""
        columns = self._columns(connection, mart)
        query = self.record.select().where(self.record.c.mart == mart)
        found = connection.execute(query).mappings().one_or_none()
        if found is None or not columns:
            return None, columns
        facts: dict[str, Any] = {name: _in_utc(found[name]) for name in ("true_at", "clock", "served_at")}
        facts |= {"column_types": json.loads(found["column_types"]), "is_keyed": ROW_KEY in columns}
        return ServedMart(**{**found, **facts}), columns

    def names(self, connection: Connection) -> list[str]:
        """The marts and tables in the record."""
        return [str(name) for (name,) in connection.execute(self.record.select().with_only_columns(self.record.c.mart))]

    def write(self, connection: Connection, served: ServedMart) -> None:
        """Put the record of a mart in the place of the one there is."""
        times = {name: getattr(served, name) for name in ("true_at", "clock", "served_at")}
        values = {
            **{column.name: getattr(served, column.name) for column in self.record.columns},
            **{name: in_database(time, self._database) if time else None for name, time in times.items()},
            "column_types": json.dumps(dict(served.column_types), separators=(",", ":")),
        }
        connection.execute(self.record.delete().where(self.record.c.mart == served.mart))
        connection.execute(self.record.insert().values(values))

    def build(self, name: str, schema: StructType) -> Table:
        """The table of a mart with this schema, under this name; nothing is done in the database."""
        import sqlalchemy as sa

        columns = [
            sa.Column(_quoted(field.name), column_type(field.dataType, self._database)) for field in schema.fields
        ]
        return sa.Table(
            _quoted(name),
            sa.MetaData(),
            *columns,
            sa.Column(ROW_KEY, key_type(), primary_key=True),
            **_MYSQL_OPTIONS,
        )

    def _columns(self, connection: Connection, name: str) -> frozenset[str]:
        """Names of the columns of a table, none when it is not there; ContractError when it is not the store's."""
        import sqlalchemy as sa

        try:
            found = frozenset(str(column["name"]) for column in sa.inspect(connection).get_columns(name))
        except sa.exc.NoSuchTableError:
            return frozenset()
        if not found & {ROW_KEY, _OF_EARLIER_RELEASES}:
            raise ContractError(
                f"the database has a table {name} that is not the serving store's; rename it, or give the store a "
                f"database or schema of its own"
            )
        return found

    def add_columns(self, connection: Connection, table: Table, names: list[str]) -> None:
        """Add columns of ``table`` that the one in the database does not have yet."""
        import sqlalchemy as sa

        for name in names:
            column = sa.schema.CreateColumn(table.c[name]).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {_sql(connection, table.name)} ADD COLUMN {column}")

    def count(self, connection: Connection, table: Table) -> int:
        """How many rows the table has."""
        import sqlalchemy as sa

        return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())

    def upsert(self, connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
        """Write these rows, each in the place of the one with its key if there is one."""
        from sqlalchemy.dialects import mysql, postgresql, sqlite

        if self._database is Database.MYSQL:
            added = mysql.insert(table)
            others = {c.name: added.inserted[c.name] for c in table.columns if not c.primary_key}
            connection.execute(added.on_duplicate_key_update(others), rows)
            return
        insert = (postgresql if self._database is Database.POSTGRESQL else sqlite).insert(table)
        values = {c.name: insert.excluded[c.name] for c in table.columns if not c.primary_key}
        connection.execute(insert.on_conflict_do_update(index_elements=[table.c[ROW_KEY]], set_=values), rows)

    def delete(self, connection: Connection, table: Table, keys: list[str]) -> None:
        """Remove the rows with these keys."""
        connection.execute(table.delete().where(table.c[ROW_KEY].in_(keys)))

    def build_beside(self, connection: Connection, mart: str, schema: StructType) -> Table:
        """An empty table that will take the mart's place; what an earlier attempt left is removed."""
        new = self.build(_beside(mart, "new"), schema)
        for leftover in (new.name, _beside(mart, "old")):
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {_sql(connection, leftover)}")
        new.create(connection)
        return new

    def swap(self, connection: Connection, mart: str, *, is_there: bool) -> None:
        """Let the table made beside take the mart's place, in one step for readers; rights of readers go with it."""
        name, new, old = (_sql(connection, each) for each in (mart, _beside(mart, "new"), _beside(mart, "old")))
        if self._database is Database.MYSQL:  # its changes of tables end a transaction; this one is a step in itself
            moves = f"{name} TO {old}, {new} TO {name}" if is_there else f"{new} TO {name}"
            connection.exec_driver_sql(f"RENAME TABLE {moves}")
            return
        if is_there:
            if self._database is Database.POSTGRESQL:
                self._copy_rights(connection, mart)
            connection.exec_driver_sql(f"DROP TABLE {name}")
        connection.exec_driver_sql(f"ALTER TABLE {new} RENAME TO {name}")

    def drop_old(self, connection: Connection, mart: str) -> None:
        """Remove what :meth:`swap` left in MySQL."""
        if self._database is Database.MYSQL:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {_sql(connection, _beside(mart, 'old'))}")

    @staticmethod
    def _copy_rights(connection: Connection, mart: str) -> None:
        """PostgreSQL keeps rights with the table, not with its name."""
        rights = connection.exec_driver_sql(
            "SELECT DISTINCT grantee, privilege_type FROM information_schema.role_table_grants "
            "WHERE table_schema = current_schema() AND table_name = %s AND grantee <> current_user",
            (mart,),
        ).all()
        for grantee, right in rights:
            to = "PUBLIC" if grantee == "PUBLIC" else _sql(connection, grantee)
            connection.exec_driver_sql(f"GRANT {right} ON {_sql(connection, _beside(mart, 'new'))} TO {to}")

    def _build_record(self) -> Table:
        import sqlalchemy as sa

        moment = timestamp_type(self._database)
        return sa.Table(
            RECORD,
            sa.MetaData(),
            sa.Column("mart", sa.String(63), primary_key=True),
            sa.Column("instant", sa.String(17), nullable=False),
            sa.Column("true_at", moment, nullable=False),
            sa.Column("clock", moment),
            sa.Column("row_count", sa.BigInteger(), nullable=False),
            sa.Column("served_at", moment, nullable=False),
            sa.Column("column_types", text_type(self._database), nullable=False),
            **_MYSQL_OPTIONS,
        )


def _beside(mart: str, what: str) -> str:
    """A name that no mart can have and that no database finds too long."""
    return f"{mart[:40]}__{hashlib.sha256(mart.encode()).hexdigest()[:8]}__{what}"


def _quoted(name: str) -> str:
    from sqlalchemy.sql import quoted_name

    return quoted_name(name, quote=True)


def _sql(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(_quoted(str(name)))


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
