"""A small shop for tests of specs and marts: orders with a number, a buyer and an amount; buyers live in a city."""

from __future__ import annotations

from typing import Any

from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit, SourceSpec

NUMBER = ColumnSpec(name="number", source="No", type=ColumnType.BIGINT)
BUYER = ColumnSpec(name="buyer_id", source="BuyerId", type=ColumnType.BIGINT)
CITY = ColumnSpec(name="city", source="City", type=ColumnType.STRING)
AMOUNT = ColumnSpec(name="amount", source="Amount", type=ColumnType.DECIMAL, precision=10, scale=2)
PAID = ColumnSpec(
    name="paid_at",
    source="PaidAt",
    type=ColumnType.TIMESTAMP,
    unit=(("postgresql", NumberUnit.MICROSECONDS), ("default", NumberUnit.MILLISECONDS)),
)
SOURCE = SourceSpec(topics=("ORDERS",), key="number", columns=(NUMBER, BUYER, CITY, AMOUNT, PAID))
BUYERS = TableSpec(name="buyers", key=("buyer_id",), columns=("city",))
ORDERS = TableSpec(name="orders", key=("number",), columns=("buyer_id", "amount", "paid_at"), deletes=Deletes.TOMBSTONE)

DAY = "date_format(from_utc_timestamp(paid_at, :time_zone), 'yyyy-MM-dd')"
"""The day on which an order was paid, as a scope."""
BUYERS_LOOKED_UP = ReadSpec(table="buyers", by="buyer_id")


def shop(*marts: MartSpec, **changes: Any) -> LakeSpec:
    """The shop's lake with these marts."""
    parts: dict[str, Any] = {"lake": "shop", "source": SOURCE, "tables": (BUYERS, ORDERS), "log": "order_log"}
    return LakeSpec(**{**parts, "quarantine": "bad", "marts": marts, **changes})


def mart(sql: str, mode: Any = MartMode.FULL, **changes: Any) -> MartSpec:
    """A mart over the table orders with the grain ``number``, or as given."""
    parts: dict[str, Any] = {"name": "answers", "layer": "fast", "reads": (ReadSpec(table="orders"),)}
    return MartSpec(**{**parts, "grain": ("number",), "mode": mode, "sql": sql, **changes})


def scoped(sql: str, *reads: ReadSpec, scope: str = "number", **changes: Any) -> MartSpec:
    """A scoped mart; over orders by their number when no read is given."""
    reads = reads or (ReadSpec(table="orders", scope="number"),)
    return mart(sql, MartMode.SCOPED, **{"reads": reads, "scope": scope, "grain": (scope,), **changes})
