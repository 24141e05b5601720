"""A table SALES in a real database, changed at random by SQL, as an ERP would and worse."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from local_stack.servers.databases import Server

_COLUMNS: dict[str, Any] = {
    "SaleId": sa.BigInteger(),
    "AgentId": sa.BigInteger(),
    "AgentName": sa.String(60),
    "UnitId": sa.BigInteger(),
    "UnitName": sa.String(60),
    "StatusId": sa.Integer(),
    "StatusName": sa.String(60),
    "ContractSubtotal": sa.Numeric(18, 4),
}
LATER = ("CustomerId", "CustomerName")
_NAMES = ("Ada", "Ḟîñn", "李雷", "O'Neil; --", "Zoë 🏠", "a\tb", "%s", "")
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


class SalesSource:
    """The table, and what happens to it. No statement sets a null: to the lake it is unknown, and not a value."""

    def __init__(self, server: Server, *, seed: int) -> None:
        self.server = server
        self.database = server.new_database()
        self._random, self._seed = random.Random(seed), seed
        self._engine = sa.create_engine(server.url(self.database), poolclass=sa.NullPool)
        self._is_postgres = self._engine.dialect.name == "postgresql"
        self.tables = "public.SALES" if self._is_postgres else f"{self.database}.SALES"
        moment = sa.DateTime() if self._is_postgres else mysql.DATETIME(fsp=6)
        columns = [sa.Column(n, t, primary_key=n == "SaleId", autoincrement=False) for n, t in _COLUMNS.items()]
        columns.append(sa.Column("ContractSigningDate", moment))
        self._table = sa.Table("SALES", sa.MetaData(), *columns, mysql_charset="utf8mb4")
        self._table.create(self._engine)
        self._keys: list[int] = []
        self._next = 1

    def change(self, count: int) -> None:
        """So many random statements, a few in each transaction; some transactions are rolled back."""
        while count > 0:
            few = min(count, self._random.randint(1, 12))
            known = list(self._keys), self._next
            with self._connection() as connection, connection.begin() as transaction:
                for _ in range(few):
                    connection.execute(self._statement())
                if self._random.random() < 0.1:
                    transaction.rollback()
                    self._keys, self._next = known
            count -= few

    def add_columns(self) -> None:
        """What the source has from now on."""
        if self._is_postgres:
            types = {"CustomerId": "bigint", "CustomerName": "varchar(60)"}
            changes = ", ".join(f'ADD COLUMN "{name}" {kind}' for name, kind in types.items())
            statement = f'ALTER TABLE "SALES" {changes}'
        else:
            statement = "ALTER TABLE SALES ADD COLUMN CustomerId bigint, ADD COLUMN CustomerName varchar(60)"
        with self._connection() as connection, connection.begin():
            connection.exec_driver_sql(statement)
        self._table.append_column(sa.Column("CustomerId", sa.BigInteger()))
        self._table.append_column(sa.Column("CustomerName", sa.String(60)))

    def add_mark(self) -> int:
        """Insert one more row, after everything so far; gives its key."""
        key, self._next = self._next, self._next + 1
        self._keys.append(key)
        with self._connection() as connection, connection.begin():
            connection.execute(sa.insert(self._table).values(SaleId=key, **self._values()))
        return key

    def rows(self) -> dict[int, dict[str, Any]]:
        """The table as it is now, by key; times in UTC."""
        with self._connection() as connection:
            rows = [dict(row) for row in connection.execute(sa.select(self._table)).mappings()]
        for row in rows:
            row["ContractSigningDate"] = row["ContractSigningDate"].replace(tzinfo=UTC)
        return {row["SaleId"]: row for row in rows}

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            yield connection

    def _statement(self) -> sa.Executable:
        chance, is_key = self._random.random(), self._table.c.SaleId
        if not self._keys or chance < 0.45:
            self._keys.append(self._next)
            self._next += 1
            return sa.insert(self._table).values(SaleId=self._keys[-1], **self._values())
        at = self._random.randrange(len(self._keys))
        key = self._keys[at]
        if chance < 0.80:
            values = self._values()
            some = self._random.sample(sorted(values), self._random.randint(1, len(values)))
            return sa.update(self._table).where(is_key == key).values({name: values[name] for name in some})
        if chance < 0.92:
            self._keys.pop(at)
            return sa.delete(self._table).where(is_key == key)
        self._keys[at] = self._next
        self._next += 1
        return sa.update(self._table).where(is_key == key).values(SaleId=self._keys[at])

    def _values(self) -> dict[str, Any]:
        draw = self._random
        agent, unit, status, customer = (draw.randint(1, 9) for _ in range(4))
        values = {
            "AgentId": agent,
            "AgentName": f"{draw.choice(_NAMES)} {agent}",
            "UnitId": unit,
            "UnitName": f"{draw.choice(_NAMES)} {unit}",
            "StatusId": status,
            "StatusName": f"status {status}",
            "ContractSubtotal": Decimal(draw.randint(-(10**12), 10**12)).scaleb(-4),
            "ContractSigningDate": _BEGIN + timedelta(microseconds=draw.randint(0, 10**13)),
            "CustomerId": customer,
            "CustomerName": f"{draw.choice(_NAMES)} {customer}",
        }
        return {name: value for name, value in values.items() if name in self._table.c}
