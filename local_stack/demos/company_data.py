"""A company whose databases and files change in rounds, and what its lake must hold then.

Sales come as a wide log of SQL Server, accounts and contacts from the CRM's database, products, orders, their lines and
invoices from the shop's, rates as a file. What the lake must hold is computed here in plain Python.
"""

from __future__ import annotations

import base64
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

Key = tuple[Any, ...]
Row = dict[str, Any]
_SCHEMA_OF_TIME = "io.debezium.time"
_DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "12"},
}
_TYPES: dict[str, dict[str, Any]] = {
    "bigint": {"type": "int64"},
    "int": {"type": "int32"},
    "string": {"type": "string"},
    "money": _DECIMAL,
    "date": {"type": "int32", "name": f"{_SCHEMA_OF_TIME}.Date"},
    "timestamp": {"type": "int64", "name": f"{_SCHEMA_OF_TIME}.MicroTimestamp"},
}
COLUMNS: dict[str, dict[str, str]] = {
    "accounts": {"id": "bigint", "name": "string", "email": "string", "segment": "string"},
    "contacts": {"account_id": "bigint", "number": "int", "phone": "string"},
    "products": {"id": "bigint", "category": "string"},
    "orders": {"id": "bigint", "customer_id": "bigint", "currency": "string", "ordered_at": "timestamp"},
    "order_lines": {
        "order_id": "bigint",
        "line": "int",
        "product_id": "bigint",
        "quantity": "int",
        "price": "money",
    },
    "invoices": {"id": "bigint", "order_id": "bigint", "due_on": "date", "amount": "money"},
    "returns": {"id": "bigint", "order_id": "bigint", "reason": "string"},
}
"""Tables at the source, the last of which is added later: columns with what the lake makes of their types."""
KEYS = {"contacts": 2, "order_lines": 2}
"""How many columns, from the first, are a table's key, where it is not one."""
_CURRENCIES, _CATEGORIES = ("EUR", "USD", "GBP"), ("toys", "tools", None)
_SEGMENTS, _MONTHS = ("small", "large", None), (1, 2, 3)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
ERASED = 0
"""What is in place of the key of a person who was erased."""


@dataclass
class Company:
    """What the company's databases and files say now; ``size`` multiplies how many of everything there are."""

    rng: random.Random
    size: int = 1
    tables: dict[str, dict[Key, Row]] = field(default_factory=lambda: defaultdict(dict))
    sales: dict[int, Row] = field(default_factory=dict)
    rates: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    position: int = 0
    least_sale: Decimal = Decimal(0)
    """Sales below it are in no segment's total."""

    def change(self) -> dict[str, list[bytes]]:
        """Changes of some days, old rows among them: lines of change events by topic."""
        records: list[tuple[str, bytes]] = []
        for n in self._some(5):
            records.append(self.put("accounts", (n,), name=f"Ann {n}", email=f"{n}@x.example", segment=self._segment()))
            records.append(self.put("contacts", (n, self.rng.randint(1, 2)), phone=f"555-{n:04}"))
        records += [self.put("products", (n,), category=self.rng.choice(_CATEGORIES)) for n in self._some(4)]
        for number in self._some(8):
            records += self._order(number)
        if self.tables["orders"] and self.rng.random() < 0.7:
            records.append(self.delete("orders", self.rng.choice([*self.tables["orders"]])))
        if self.tables["contacts"] and self.rng.random() < 0.7:
            records.append(self.delete("contacts", self.rng.choice([*self.tables["contacts"]])))
        records += [self._sale(number) for number in self._some(6)]
        return by_topic(records)

    def _order(self, number: int) -> list[tuple[str, bytes]]:
        at = datetime(2026, self.rng.choice(_MONTHS), self.rng.randint(1, 3), tzinfo=UTC)
        of_order = {"customer_id": self.rng.randint(1, 5 * self.size), "currency": self.rng.choice(_CURRENCIES)}
        records = [self.put("orders", (number,), **of_order, ordered_at=at)]
        for row in range(1, self.rng.randint(1, 3) + 1):
            price = Decimal(self.rng.randint(1, 10**6)).scaleb(-2)
            product = self.rng.randint(1, 4 * self.size + 1)  # the last one is never delivered
            quantity = self.rng.randint(1, 9)
            records.append(self.put("order_lines", (number, row), product_id=product, quantity=quantity, price=price))
        due, amount = at.date() + timedelta(days=30), Decimal(self.rng.randint(1, 10**6)).scaleb(-2)
        return [*records, self.put("invoices", (number,), order_id=number, due_on=due, amount=amount)]

    def _some(self, most: int) -> list[int]:
        most *= self.size
        return self.rng.sample(range(1, most + 1), self.rng.randint(1, most))

    def _segment(self) -> str | None:
        return self.rng.choice(_SEGMENTS)

    def put(self, table: str, key: Key, **values: Any) -> tuple[str, bytes]:
        """A row is inserted or updated: its topic and the event."""
        op = "u" if key in self.tables[table] else "c"
        row = self.tables[table][key] = dict(zip(COLUMNS[table], (*key, *values.values()), strict=True))
        return self._event(op, table, row)

    def delete(self, table: str, key: Key) -> tuple[str, bytes]:
        """A row is deleted: its topic and the event."""
        return self._event("d", table, self.tables[table].pop(key))

    def _event(self, op: str, table: str, row: Mapping[str, Any]) -> tuple[str, bytes]:
        self.position += 1
        schema = "crm" if table in ("accounts", "contacts") else "shop"
        source = {"connector": "postgresql", "name": schema, "db": "erp", "schema": schema, "table": table}
        moment = {"ts_ms": _milliseconds(_BEGINNING) + 1000 * self.position}
        sent = {name: _sent(value) for name, value in row.items()}
        images = {"before": sent, "after": None} if op == "d" else {"before": None, "after": sent}
        record = {**images, "source": {**source, **moment, "lsn": self.position}, "op": op, **moment}
        fields = [{"field": name, **_TYPES[kind]} for name, kind in COLUMNS[table].items()]
        image = {"type": "struct", "optional": True, "fields": fields}
        parts = [{**image, "field": "before"}, {**image, "field": "after"}]
        text = json.dumps({"schema": {"type": "struct", "fields": parts}, "payload": record})
        return f"{schema}.{schema}.{table}", text.encode()

    def _sale(self, number: int) -> tuple[str, bytes]:
        self.position += 1
        signed = datetime(2026, self.rng.choice(_MONTHS), 5, tzinfo=UTC)
        row = {"customer": self.rng.randint(1, 6 * self.size), "total": Decimal(self.rng.randint(1, 10**8)).scaleb(-4)}
        self.sales[number] = {**row, "month": f"{signed:%Y-%m}"}
        values = {
            "SaleId": number,
            "CustomerId": row["customer"],
            "CustomerName": f"Ann {row['customer']}",
            "ContractSubtotal": str(row["total"]),
            "ContractSigningDate": _milliseconds(signed),
        }
        place = f"00000027:{self.position:08x}"
        source = {"connector": "sqlserver", "name": "erp", "db": "erp", "schema": "dbo", "table": "SALES"}
        moment = {"ts_ms": _milliseconds(_BEGINNING) + 1000 * self.position}
        order = {"commit_lsn": f"{place}:0003", "change_lsn": f"{place}:0002", "event_serial_no": 1}
        record = {"before": None, "after": values, "source": {**source, **moment, **order}, "op": "c", **moment}
        return "erp.dbo.SALES", json.dumps(record).encode()

    def correct_rates(self, count: int) -> str:
        """New rates of ``count`` days in the first three months: the whole file as CSV."""
        days = [date(2026, month, day) for month in _MONTHS for day in (1, 2, 3)]
        for day in self.rng.sample(days, count):
            for currency in _CURRENCIES:
                self.rates[currency, day.isoformat()] = Decimal(self.rng.randint(1, 10**9)).scaleb(-8)
        rows = [f"{currency},{day},{rate}" for (currency, day), rate in self.rates.items()]
        return "\n".join(["currency,day,rate", *rows]) + "\n"

    def erase(self, customer: int) -> None:
        """A customer is erased: their rows get the stand-in's key, and nothing names them."""
        for table, names in (("accounts", ("name", "email")), ("contacts", ("phone",))):
            for key in [key for key in self.tables[table] if key[0] == customer]:
                row = self.tables[table].pop(key)
                first = next(iter(row))
                self.tables[table][ERASED, *key[1:]] = {**row, **dict.fromkeys(names), first: ERASED}
        for row in self.tables["orders"].values():
            row["customer_id"] = ERASED if row["customer_id"] == customer else row["customer_id"]
        for sale in self.sales.values():
            sale["customer"] = ERASED if sale["customer"] == customer else sale["customer"]

    # What the marts must hold: rows by the columns that say which row it is.

    def marts(self) -> dict[str, dict[Key, Row]]:
        """Every mart of the shipped company."""
        facts = self._facts()
        daily = _added(facts.values(), lambda f: (f["day"], f["product_id"], f["currency"]), lambda f: f["amount"])
        category = {key[0]: row["category"] for key, row in self.tables["products"].items()}
        segment = {key[0]: row["segment"] for key, row in self.tables["accounts"].items()}
        monthly = _added(
            daily.items(), lambda each: (each[0][0][:7], category.get(each[0][1]), each[0][2]), lambda each: each[1][0]
        )
        rated = [
            (day, (revenue * self.rates[currency, day]).quantize(Decimal("0.000001"), ROUND_HALF_UP))
            for (day, _, currency), (revenue, _) in daily.items()
            if (currency, day) in self.rates
        ]
        in_euro = _added(rated, lambda each: (each[0],), lambda each: each[1])
        counted = [sale for sale in self.sales.values() if sale["total"] >= self.least_sale]
        segments = _added(counted, lambda s: (s["month"], segment.get(s["customer"])), lambda s: s["total"])
        return {
            "order_line_facts": facts,
            "product_daily_revenue": {k: {"revenue": total, "order_lines": n} for k, (total, n) in daily.items()},
            "category_monthly_revenue": {key: {"revenue": total} for key, (total, _) in monthly.items()},
            "daily_revenue_in_euro": {key: {"revenue": total} for key, (total, _) in in_euro.items()},
            "sales_by_segment": {key: {"total": total, "sales": n} for key, (total, n) in segments.items()},
        }

    def _facts(self) -> dict[Key, Row]:
        found = {}
        for key, line in self.tables["order_lines"].items():
            if (order := self.tables["orders"].get((key[0],))) is not None:
                found[key] = {
                    "product_id": line["product_id"],
                    "category": self.tables["products"].get((line["product_id"],), {}).get("category"),
                    "currency": order["currency"],
                    "day": f"{order['ordered_at']:%Y-%m-%d}",
                    "amount": line["quantity"] * line["price"],
                }
        return found


def by_topic(records: Iterable[tuple[str, bytes]]) -> dict[str, list[bytes]]:
    """Events by their topic."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for topic, event in records:
        found[topic].append(event)
    return found


def land(events: Mapping[str, list[bytes]], landing: Path, name: str) -> None:
    """Write the events of each topic into its folder below the landing path, as a file of this name."""
    for topic, lines in events.items():
        (landing / topic).mkdir(parents=True, exist_ok=True)
        (landing / topic / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def _added(rows: Iterable[Any], key: Callable[[Any], Key], value: Callable[[Any], Decimal]) -> dict[Key, Any]:
    """The sum and the number of rows by key."""
    found: dict[Key, tuple[Decimal, int]] = {}
    for row in rows:
        total, count = found.get(key(row), (Decimal(0), 0))
        found[key(row)] = (total + value(row), count + 1)
    return found


def _sent(value: Any) -> Any:
    """A value as a connector with schemas sends it."""
    if isinstance(value, datetime):
        return _milliseconds(value) * 1000
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    if isinstance(value, Decimal):
        return base64.b64encode(int(value.scaleb(2)).to_bytes(9, "big", signed=True)).decode()
    return value


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
