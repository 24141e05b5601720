"""A shop's orders in a lake whose definition of them changes, and what they must be by any definition.

``orders`` is made of events of one table at the source. What it must hold is computed here in plain Python, by applying
the events one after another in the source's order; nothing is shared with the product.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from tests.support.contexts import CLOCK
from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, change
from tests.support.shop_lakes import HIDDEN, ShopLake, make_shop_lake

Rows = dict[tuple[Any, ...], dict[str, Any]]

FIELDS = {
    "id": TYPES["bigint"],
    "customer": TYPES["int"],
    "status": TYPES["string"],
    "amount": TYPES["int"],
    "note": TYPES["string"],
}
STATUSES = ("new", "paid", "sent")
FIRST: dict[str, Any] = {"name": "orders", "key": ["id"], "partition": "status", "history": False}
"""How the table is declared at first: null is a value, deleted rows are kept as tombstones."""
ITEMS = {"name": "items", "key": ["id"]}
MART = {
    "name": "order_sums",
    "layer": "test",
    "mode": "aggregate",
    "grain": ["customer"],
    "reads": [{"table": "orders"}],
}
SQL = "SELECT orders.customer, COUNT(*) AS placed, SUM(orders.amount) AS total FROM orders GROUP BY orders.customer"


def order(op: str, id_: int, lsn: int, **values: Any) -> Envelope:
    """A change of one order; columns that are not given are null."""
    row = {"id": id_, **dict.fromkeys(("customer", "status", "amount", "note")), **values}
    return change(op, "orders", row, lsn, fields=FIELDS)


def orders(rng: random.Random, count: int, *, after: int = 0) -> list[Envelope]:
    """What might happen to a few orders, in the source's order; columns are null now and then."""
    records = []
    for lsn in range(after + 1, after + count + 1):
        values: dict[str, Any] = {
            "customer": rng.randint(1, 3),
            "status": rng.choice(STATUSES),
            "amount": rng.choice([None, rng.randint(1, 99)]),
            "note": rng.choice([None, f"note {lsn}"]),
        }
        records.append(order("d" if rng.random() < 0.2 else "u", rng.randint(1, 5), lsn, **values))
    return records


def expected(records: Iterable[Envelope], declared: dict[str, Any]) -> Rows:
    """By key the live rows of ``orders``, by a declaration of it."""
    takes_null = (declared.get("nulls") or "value") == "value"
    rows: Rows = {}
    for record in sorted(records, key=lambda each: each["payload"]["source"]["lsn"]):
        body = record["payload"]
        image = body["before" if body["op"] == "d" else "after"]
        key = tuple(image[name] for name in declared["key"])
        if None in key:
            continue
        if body["op"] != "d":
            known = {name: value for name, value in image.items() if takes_null or value is not None}
            rows[key] = {**dict.fromkeys(FIELDS), **rows.get(key, {}), **known}
        elif declared.get("deletes") != "ignore":
            rows.pop(key, None)
    return rows


def sums(rows: Rows) -> dict[int, tuple[int, int | None]]:
    """What the mart must hold of these rows: by customer their number, and the total of amounts that are known."""
    found: dict[int, tuple[int, int | None]] = {}
    for row in rows.values():
        count, total = found.get(row["customer"], (0, None))
        total = total if row["amount"] is None else (total or 0) + row["amount"]
        found[row["customer"]] = (count + 1, total)
    return found


@dataclass(kw_only=True)
class Shop:
    """The lake, how ``orders`` is declared in its files, and all that came to it."""

    lake: ShopLake
    declared: dict[str, Any]
    records: list[Envelope] = field(default_factory=list)
    deliveries: int = 0
    clock: datetime = CLOCK
    """Of jobs of changes: a plan has the name of its second."""

    @classmethod
    def make(cls, spark: SparkSession, folder: Path, **declared: Any) -> Shop:
        """An empty lake."""
        (folder / "marts").mkdir()
        (folder / "marts" / "order_sums.yaml").write_text(yaml.safe_dump(MART), encoding="utf-8")
        (folder / "marts" / "order_sums.sql").write_text(SQL, encoding="utf-8")
        first = {**FIRST, **declared}
        written = {name: value for name, value in first.items() if value is not None}
        return cls(lake=make_shop_lake(spark, folder, [written, ITEMS], marts="marts"), declared=first)

    def declare(self, **changes: Any) -> None:
        """Change the files; a word that is None is left out."""
        self.declared = {**self.declared, **changes}
        declared = {name: value for name, value in self.declared.items() if value is not None}
        path = Path(self.lake.spec)
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        entry = {"from": {"database": "shop", "table": "orders"}, **declared}
        document["tables"] = [entry if table["name"] == "orders" else table for table in document["tables"]]
        path.write_text(yaml.safe_dump(document), encoding="utf-8")

    def deliver(self, records: Sequence[Envelope], *, item: int = 0) -> None:
        """Events of orders, and of an item."""
        self.records += records
        self.deliveries += 1
        items = [change("c", "items", {"id": item}, 10_000 + item, fields={"id": TYPES["bigint"]})] if item else []
        self.lake.deliver(f"part-{self.deliveries}", [*records, *items])

    def run(self, job: str, **options: Any) -> Any:
        """A job of changes, with the plan file of this lake."""
        plan = str(self.lake.folder / "plan.yaml")
        return self.lake.run(
            job, clock=self.clock, **({"output": plan} if job == "plan" else {"plan": plan, **options})
        )

    def refresh(self) -> None:
        """The mart by an ordinary run."""
        self.lake.run("mart", layer="test")

    @property
    def wanted(self) -> Rows:
        """What ``orders`` must hold by its files and all that came."""
        return expected(self.records, self.declared)

    def stored(self, key: Sequence[str], *, by_spark: bool = False) -> Rows:
        """What readers see of ``orders``, by the columns of a key."""
        rows = self.lake.rows_by_spark("orders") if by_spark else self.lake.rows("orders")
        live = [row for row in rows if not row["is_deleted"]]
        shown = [{name: value for name, value in row.items() if name not in HIDDEN} for row in live]
        by_key = {tuple(row[name] for name in key): row for row in shown}
        assert len(by_key) == len(shown), "a row is there twice"
        return by_key

    def sums(self) -> dict[int, tuple[int, int | None]]:
        """What the mart holds."""
        return {row["customer"]: (row["placed"], row["total"]) for row in self.lake.rows("order_sums")}

    def assert_is(self, wanted: Rows, key: Sequence[str]) -> None:
        """Both readers see just these orders."""
        assert self.stored(key) == wanted
        assert self.stored(key, by_spark=True) == wanted
