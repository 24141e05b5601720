"""Lake specs refuse nonsense. Every case is the small shop below with one thing changed.

The shop: orders with a number, a buyer and an amount; one table of buyers, one of orders, a mart of each kind.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.specs import (
    ColumnSpec,
    ColumnType,
    DailyTotalsSpec,
    HourlyEventsSpec,
    LakeSpec,
    LookupSpec,
    SourceSpec,
    TableSpec,
    TimeUnit,
)

NUMBER = ColumnSpec(name="number", source="No", type=ColumnType.BIGINT)
BUYER = ColumnSpec(name="buyer_id", source="BuyerId", type=ColumnType.BIGINT)
CITY = ColumnSpec(name="city", source="City", type=ColumnType.STRING)
AMOUNT = ColumnSpec(name="amount", source="Amount", type=ColumnType.DECIMAL, precision=10, scale=2)
PAID = ColumnSpec(
    name="paid_at",
    source="PaidAt",
    type=ColumnType.TIMESTAMP,
    unit=(("postgresql", TimeUnit.MICROSECONDS), ("default", TimeUnit.MILLISECONDS)),
)
SOURCE = SourceSpec(topics=("ORDERS",), key="number", columns=(NUMBER, BUYER, CITY, AMOUNT, PAID))
BUYERS = TableSpec(name="buyers", key="buyer_id", columns=("city",))
ORDERS = TableSpec(name="orders", key="number", columns=("buyer_id", "amount", "paid_at"), follows_deletes=True)
HOURLY = HourlyEventsSpec(name="per_hour", group_by=("city",), hours=24, count_as="events")
DAILY = DailyTotalsSpec(
    name="of_the_day",
    table="orders",
    day_of="paid_at",
    group_by=("city",),
    count_as="orders_paid",
    total="amount",
    total_as="amount_paid",
    lookup=LookupSpec(table="buyers", by="buyer_id", take=("city",)),
)
SHOP = LakeSpec(
    lake="shop", source=SOURCE, tables=(BUYERS, ORDERS), log="order_log", quarantine="bad", marts=(HOURLY, DAILY)
)


def test_the_shop_itself_is_a_lake():
    assert SHOP.table_names == ["order_log", "bad", "buyers", "orders", "per_hour", "of_the_day"]
    assert SHOP.table("orders") is ORDERS
    assert SHOP.columns_by_name["amount"].sql_type == "decimal(10,2)"


def test_a_table_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ContractError, match=r"lake shop has no table 'ordrs'; it has \['buyers', 'orders'\]"):
        SHOP.table("ordrs")


def test_the_unit_of_a_time_depends_on_the_connector():
    assert PAID.unit_for("postgresql") is TimeUnit.MICROSECONDS
    assert PAID.unit_for("sqlserver") is TimeUnit.MILLISECONDS
    assert replace(PAID, unit=()).unit_for("any") is TimeUnit.MILLISECONDS


@pytest.mark.parametrize("name", ["", "Units", "1st", "sales;drop", "a b", "../x", "é", "a" * 64])
@pytest.mark.parametrize("spec", [NUMBER, BUYERS, HOURLY, DAILY], ids=lambda spec: type(spec).__name__)
def test_names_that_are_no_identifiers(spec, name):
    with pytest.raises(ContractError, match="not a snake_case identifier"):
        replace(spec, name=name)


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 2), (4, 5), (4, -1)])
def test_decimals_that_cannot_be(precision, scale):
    with pytest.raises(ContractError, match="column amount"):
        replace(AMOUNT, precision=precision, scale=scale)


@pytest.mark.parametrize(
    ("spec", "change", "message"),
    [
        (SOURCE, {"key": "nobody"}, "source key 'nobody'"),
        (SOURCE, {"topics": ()}, "at least one pattern"),
        (SOURCE, {"columns": (NUMBER, NUMBER)}, "declared twice"),
        (SOURCE, {"columns": (NUMBER, replace(BUYER, source="No"))}, "declared twice"),
        (BUYERS, {"columns": ()}, "needs columns beside its key"),
        (BUYERS, {"columns": ("buyer_id", "city")}, "needs columns beside its key"),
        (BUYERS, {"columns": ("city", "city")}, "each once"),
        (BUYERS, {"buckets": 0}, "buckets must be at least 1"),
        (HOURLY, {"hours": 0}, "hours must be between"),
        (HOURLY, {"hours": 100_000}, "hours must be between"),
        (HOURLY, {"count_as": "count(*)"}, "not a snake_case identifier"),
        (DAILY, {"total_as": "Total"}, "not a snake_case identifier"),
    ],
)
def test_parts_that_contradict_themselves(spec, change, message):
    with pytest.raises(ContractError, match=message):
        replace(spec, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_zone": "Mars/Olympus"}, "time_zone 'Mars/Olympus' is unknown"),
        ({"quarantine": "order_log"}, r"used twice: \['order_log'\]"),
        ({"tables": (BUYERS, BUYERS)}, r"used twice: \['buyers'\]"),
        ({"tables": (replace(BUYERS, columns=("town",)),)}, r"buyers: columns \['town'\] are not declared"),
        ({"tables": (replace(BUYERS, follows_deletes=True), ORDERS)}, "needs the source key 'number'"),
        ({"marts": (replace(HOURLY, group_by=("town",)),)}, r"per_hour: columns \['town'\]"),
        ({"marts": (replace(DAILY, table="nowhere"),)}, "no table 'nowhere'"),
        ({"marts": (replace(DAILY, total="city"),), "tables": (BUYERS, ORDERS)}, None),
        ({"marts": (replace(DAILY, total="weight"),)}, r"of_the_day: columns \['weight'\]"),
        ({"marts": (replace(DAILY, lookup=LookupSpec(table="buyers", by="city", take=("city",))),)}, "not the key"),
        ({"marts": (replace(DAILY, lookup=LookupSpec(table="buyers", by="buyer_id", take=("age",))),)}, "age"),
        ({"log": "Log"}, "log 'Log' is not"),
    ],
)
def test_lakes_whose_parts_do_not_fit(change, message):
    if message is None:
        assert replace(SHOP, **change)
        return
    with pytest.raises(ContractError, match=message):
        replace(SHOP, **change)
