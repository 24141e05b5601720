"""Two tables of a shop in a real database, with columns of every kind, changed at random by SQL."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from local_stack.servers.databases import Server

KEYS = {"orders": ("id",), "order_lines": ("order_id", "line")}
DECLARED: list[dict[str, Any]] = [
    {"name": "total", "source": "total", "type": "decimal", "precision": 18, "scale": 4},
    {"name": "placed_at", "source": "placed_at", "type": "timestamp", "unit": {"default": "microseconds"}},
    {"name": "shipped_at", "source": "shipped_at", "type": "timestamp"},
    {"name": "day", "source": "day", "type": "timestamp", "unit": {"default": "days"}},
    {"name": "is_paid", "source": "is_paid", "type": "boolean"},
]
"""What records without schemas do not say of ``orders``."""
_TEXTS = ("", "Ada", "Ḟîñn", "李雷", "O'Neil; --", "Zoë 🏠", "a\tb\nc", "%s", '{"a": 1}')
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


class ShopSource:
    """The tables ``orders`` and ``order_lines`` in a database that is there; ``mirrors`` are the lake's entries."""

    def __init__(self, server: Server, database: str, *, seed: int, has_schemas: bool) -> None:
        self._random, self._has_schemas = random.Random(seed), has_schemas
        self._engine = sa.create_engine(server.url(database), poolclass=sa.NullPool)
        self._is_postgres = self._engine.dialect.name == "postgresql"
        self._schema = "public" if self._is_postgres else database
        self.tables = ",".join(f"{self._schema}.{name}" for name in KEYS)
        self._orders, self._lines = self._make_tables()
        self._ids: list[int] = []
        self._line_keys: list[tuple[int, int]] = []
        self._next = 1

    @property
    def mirrors(self) -> list[dict[str, Any]]:
        """Entries of a lake spec; deleted lines are not kept, and lines are partitioned."""
        common: list[dict[str, Any]] = [
            {"name": name, "from": {"database": self._schema, "table": name}, "key": [*key]}
            for name, key in KEYS.items()
        ]
        common[0] |= {} if self._has_schemas else {"declare": DECLARED}
        common[1] |= {"deletes": "remove", "partition": "sku"}
        return common

    def change(self, count: int) -> None:
        """So many random statements, a few in each transaction; some transactions are rolled back."""
        while count > 0:
            few = min(count, self._random.randint(1, 12))
            known = list(self._ids), list(self._line_keys), self._next
            with self._engine.connect() as connection, connection.begin() as transaction:
                for _ in range(few):
                    connection.execute(self._statement())
                if self._random.random() < 0.1:
                    transaction.rollback()
                    self._ids, self._line_keys, self._next = known
            count -= few

    def grow(self) -> None:
        """A column more, and where records have schemas a wider one."""
        statements = ["ALTER TABLE orders ADD COLUMN channel varchar(20)"]
        statements += ["ALTER TABLE orders ALTER COLUMN total TYPE numeric(22,6)"] if self._is_postgres else []
        with self._engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
        self._orders.append_column(sa.Column("channel", sa.String(20)))

    def rows(self) -> dict[str, dict[tuple[Any, ...], Row]]:
        """By table and key the rows as they are now, as the lake is to have them."""
        with self._engine.connect() as connection:
            found = {
                table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
                for table in (self._orders, self._lines)
            }
        return {
            name: {tuple(row[key] for key in KEYS[name]): self._in_lake(row) for row in rows}
            for name, rows in found.items()
        }

    def _make_tables(self) -> tuple[sa.Table, sa.Table]:
        metadata, is_postgres = sa.MetaData(), self._is_postgres
        micros: Any = sa.DateTime() if is_postgres else mysql.DATETIME(fsp=6)
        zoned: Any = sa.DateTime(timezone=True) if is_postgres else mysql.TIMESTAMP(fsp=6)
        document: Any = postgresql.JSONB() if is_postgres else sa.JSON()
        orders = sa.Table(
            "orders",
            metadata,
            sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
            sa.Column("customer_id", sa.Integer()),
            sa.Column("total", sa.Numeric(18, 4)),
            sa.Column("placed_at", micros),
            sa.Column("shipped_at", zoned, nullable=True),
            sa.Column("day", sa.Date()),
            sa.Column("is_paid", sa.Boolean()),
            sa.Column("note", sa.Text()),
            sa.Column("photo", sa.LargeBinary()),
            sa.Column("data", document),
            sa.Column("rate", sa.Double()),
            sa.Column("at_time", sa.Time() if is_postgres else mysql.TIME(fsp=6)),
            mysql_charset="utf8mb4",
        )
        lines = sa.Table(
            "order_lines",
            metadata,
            sa.Column("order_id", sa.BigInteger(), primary_key=True, autoincrement=False),
            sa.Column("line", sa.Integer(), primary_key=True, autoincrement=False),
            sa.Column("sku", sa.String(20)),
            sa.Column("pieces", sa.Integer()),
            mysql_charset="utf8mb4",
        )
        metadata.create_all(self._engine)
        if is_postgres:  # long texts are stored apart, and are not sent again when another column changes
            with self._engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE orders ALTER COLUMN note SET STORAGE EXTERNAL")
        return orders, lines

    def _statement(self) -> sa.Executable:
        return self._order_statement() if self._random.random() < 0.6 else self._line_statement()

    def _order_statement(self) -> sa.Executable:
        chance, is_key = self._random.random(), self._orders.c.id
        if not self._ids or chance < 0.4:
            self._ids.append(self._next)
            self._next += 1
            return sa.insert(self._orders).values(id=self._ids[-1], **self._values())
        at = self._random.randrange(len(self._ids))
        key = self._ids[at]
        if chance < 0.8:
            values = self._values()
            some = self._random.sample(sorted(values), self._random.randint(1, len(values)))
            return sa.update(self._orders).where(is_key == key).values({name: values[name] for name in some})
        if chance < 0.92:
            self._ids.pop(at)
            return sa.delete(self._orders).where(is_key == key)
        self._ids[at] = self._next
        self._next += 1
        # A long text that did not change would not be sent with the new key, so it would be unknown.
        values = {name: value for name, value in self._values().items() if name in ("note", "rate")}
        return sa.update(self._orders).where(is_key == key).values(id=self._ids[at], **values)

    def _line_statement(self) -> sa.Executable:
        chance = self._random.random()
        values = {"sku": self._random.choice(["tea", "milk", "bread", None]), "pieces": self._random.randint(0, 99)}
        if not self._line_keys or chance < 0.45:
            key = (self._random.randint(1, 10**6), self._random.randint(1, 3))
            if key in self._line_keys:
                key = (self._next + 10**6, 1)
                self._next += 1
            self._line_keys.append(key)
            return sa.insert(self._lines).values(order_id=key[0], line=key[1], **values)
        key = self._random.choice(self._line_keys)
        is_key = (self._lines.c.order_id == key[0]) & (self._lines.c.line == key[1])
        if chance < 0.75:
            return sa.update(self._lines).where(is_key).values(**values)
        self._line_keys.remove(key)
        return sa.delete(self._lines).where(is_key)

    def _values(self) -> Row:
        draw = self._random
        moment = _BEGIN + timedelta(microseconds=draw.randint(-(10**15), 10**13))
        values: Row = {
            "customer_id": draw.randint(-(2**31), 2**31 - 1),
            "total": Decimal(draw.randint(-(10**17), 10**17)).scaleb(-4),
            "placed_at": moment.replace(tzinfo=None),
            "shipped_at": _BEGIN + timedelta(microseconds=draw.randint(0, 10**13)),
            "day": date(1990, 1, 1) + timedelta(days=draw.randint(0, 20000)),
            "is_paid": draw.random() < 0.5,
            "note": draw.randbytes(4000).hex() if draw.random() < 0.2 else draw.choice(_TEXTS),
            "photo": draw.randbytes(draw.randint(0, 9)),
            "data": {"text": draw.choice(_TEXTS), "list": [1, None, True]},
            "rate": draw.choice([0.1, -1e300, 3.0, 1e-7]),
            "at_time": time(draw.randint(0, 23), draw.randint(0, 59), draw.randint(0, 59), draw.randint(0, 999999)),
        }
        if "channel" in self._orders.c:
            values["channel"] = draw.choice(_TEXTS)
        return {name: None if draw.random() < 0.1 else value for name, value in values.items()}

    def _in_lake(self, row: Row) -> Row:
        known: dict[str, Callable[[Any], Any]] = {"data": lambda value: value, "at_time": _clock}
        if not self._has_schemas:
            known |= {"photo": _base64, "day": _midnight, "at_time": _microseconds}
        return {name: _in_lake(known.get(name), value) for name, value in row.items()}


def as_read(row: Row) -> Row:
    """A row of the lake, with documents parsed, so that spaces in them do not count."""
    return {**row, "data": row["data"] and json.loads(row["data"])} if "data" in row else row


def _in_lake(own: Callable[[Any], Any] | None, value: Any) -> Any:
    if value is None:
        return None
    if own:
        return own(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return bytes(value) if isinstance(value, memoryview) else value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _midnight(value: date) -> datetime:
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


def _clock(value: time) -> str:
    return f"{value:%H:%M:%S.%f}" if value.microsecond else f"{value:%H:%M:%S}"


def _microseconds(value: time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
