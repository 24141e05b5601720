"""The ERP's table of sales in a real database, and the statements that are run there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from local_stack.servers.databases import Server

_NAMES = {
    "sale_id": "SaleId",
    "agent_id": "AgentId",
    "agent_name": "AgentName",
    "unit_id": "UnitId",
    "unit_name": "UnitName",
    "status_id": "StatusId",
    "status_name": "StatusName",
    "contract_subtotal": "ContractSubtotal",
    "contract_signing_date": "ContractSigningDate",
}
"""Names of its columns in the lake, and there."""
COMPARED = ("sale_id", "agent_id", "unit_id", "status_id", "contract_subtotal", "contract_signing_date")
"""Columns that the lake's table of sales has of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is done at the source, and what ``sale`` has in the lake then: some of its columns, or None for no sale.

    ``sql`` names columns as the lake does, in braces.
    """

    title: str
    sql: str
    sale: int
    shows: Mapping[str, Any] | None

    def has_come(self, rows: Mapping[int, Mapping[str, Any]]) -> bool:
        """True when rows of the lake, by the id of their sale, are as after the statement."""
        row = rows.get(self.sale)
        if row is None or row["is_deleted"]:
            return self.shows is None
        return self.shows is not None and all(row[name] == value for name, value in self.shows.items())


STATEMENTS = (
    Statement(
        title="a sale is entered",
        sql="INSERT INTO {table} VALUES (900001, 77, 'Ada of sales', 5, 'unit 5', 1, 'reserved', 250000.5000, {now})",
        sale=900001,
        shows={"status_id": 1},
    ),
    Statement(
        title="it is signed",
        sql="UPDATE {table} SET {status_id} = 4, {status_name} = 'signed' WHERE {sale_id} = 900001",
        sale=900001,
        shows={"status_id": 4},
    ),
    Statement(
        title="another contract is cancelled",
        sql="UPDATE {table} SET {contract_subtotal} = NULL, {contract_signing_date} = NULL WHERE {sale_id} = 499",
        sale=499,
        shows={"contract_subtotal": None, "contract_signing_date": None, "status_id": 4},
    ),
    Statement(title="another sale is deleted", sql="DELETE FROM {table} WHERE {sale_id} = 17", sale=17, shows=None),
)


class SalesTable:
    """The ERP's table in a database of its own."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database = server.new_database()
        self._engine = sa.create_engine(server.url(self.database), poolclass=sa.NullPool)
        self._quote = self._engine.dialect.identifier_preparer.quote_identifier
        is_postgres = self._engine.dialect.name == "postgresql"
        self.pattern = "public.SALES" if is_postgres else f"{self.database}.SALES"
        self._moment = "timestamp" if is_postgres else "datetime(3)"
        self._table = sa.table("SALES", *map(sa.column, _NAMES.values()))

    def fill(self, count: int) -> None:
        """Make it, with sales of a few agents, as they might be."""
        types = {
            "SaleId": "bigint PRIMARY KEY",
            "AgentId": "bigint",
            "AgentName": "varchar(60)",
            "UnitId": "bigint",
            "UnitName": "varchar(60)",
            "StatusId": "bigint",
            "StatusName": "varchar(60)",
            "ContractSubtotal": "decimal(18,4)",
            "ContractSigningDate": self._moment,
        }
        columns = ", ".join(f"{self._quote(name)} {kind}" for name, kind in types.items())
        self._run(f"CREATE TABLE {self._quote('SALES')} ({columns})")
        rows = [
            {
                "SaleId": n,
                "AgentId": n % 9,
                "AgentName": f"agent {n % 9}",
                "UnitId": n,
                "UnitName": f"unit {n}",
                "StatusId": 1 + n % 4,
                "StatusName": f"status {1 + n % 4}",
                "ContractSubtotal": n * 1000,
                "ContractSigningDate": datetime.now(UTC).replace(tzinfo=None, microsecond=0),
            }
            for n in range(1, count + 1)
        ]
        with self._engine.begin() as connection:
            connection.execute(sa.insert(self._table), rows)

    def execute(self, statement: Statement) -> str:
        """Run it and commit; gives the SQL."""
        quoted = {name: self._quote(column) for name, column in {**_NAMES, "table": "SALES"}.items()}
        sql = statement.sql.format(now=f"'{datetime.now(UTC):%Y-%m-%d %H:%M:%S}'", **quoted)
        self._run(sql)
        return sql

    def rows(self) -> dict[int, dict[str, Any]]:
        """All its rows by the id of their sale, with the names that the lake has for :data:`COMPARED`."""
        columns: list[Any] = [sa.column(_NAMES[name]).label(name) for name in COMPARED]
        with self._engine.connect() as connection:
            found = connection.execute(sa.select(*columns).select_from(self._table)).mappings()
            return {row["sale_id"]: dict(row) for row in found}

    def _run(self, sql: str) -> None:
        with self._engine.begin() as connection:
            connection.exec_driver_sql(sql)
