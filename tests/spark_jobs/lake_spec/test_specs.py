"""Lake specs refuse nonsense. Every case is the shop of tests/support/shop.py with one thing changed.

The shop: orders with a number, a buyer and an amount; one table of buyers, one of orders; four marts: what each day
brought (scoped), the cells of buyers and days, what is stitched of them, and the deletes (append).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.loads import LoadSpec
from spark_jobs.lake_spec.marts import MartMode, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.lake_spec.people import PersonSpec
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import Nulls, NumberUnit
from tests.support.shop import (
    AMOUNT,
    BUYER,
    BUYERS,
    BUYERS_LOOKED_UP,
    DAY,
    NUMBER,
    ORDERS,
    PAID,
    SOURCE,
    mart,
    scoped,
    shop,
)

PER_DAY = scoped(
    f"SELECT {DAY} AS day, city FROM orders LEFT JOIN buyers USING (buyer_id)",
    *(ReadSpec(table="orders", scope=DAY), BUYERS_LOOKED_UP),
    scope="day",
    name="per_day",
)
CELLS = mart(
    f"SELECT buyer_id, {DAY} AS day, COUNT(*) AS n FROM orders GROUP BY 1, 2",
    MartMode.AGGREGATE,
    name="cells",
    grain=("buyer_id", "day"),
    time=TimeSpec(column="day", unit=TimeUnit.DAY),
)
YEAR = mart(
    "SELECT buyer_id, SUM(n) AS n FROM cells GROUP BY 1",
    MartMode.STITCH,
    name="year",
    reads=(ReadSpec(table="cells"),),
    grain=("buyer_id",),
    window=WindowSpec(length=1, unit=TimeUnit.YEAR),
)
DELETES = mart(
    "SELECT event_id, number FROM order_log WHERE op = 'd'",
    MartMode.APPEND,
    name="deletes",
    reads=(ReadSpec(table="order_log"),),
    grain=("event_id",),
)
SHOP = shop(YEAR, PER_DAY, CELLS, DELETES)
PEOPLE = PersonSpec(role="buyer", key="buyer_id", columns=("city",))
CARTS = TableSpec(name="carts", database="shop", table="carts", key=("id",))
COUNTS = LoadSpec(name="counts", key=("number",), columns=(NUMBER,))


def test_the_shop_itself_is_a_lake():
    assert SHOP.table_names == [
        "order_log",
        "bad",
        "buyers",
        "orders",
        "per_day",
        "cells",
        "deletes",
        "year",
        "lake_quality",
    ]
    assert SHOP.table("orders") is ORDERS
    assert SHOP.mart("cells") is CELLS
    assert SHOP.columns_by_name["amount"].sql_type == "decimal(10,2)"
    assert SHOP.log_columns == (
        *("event_id", "op", "event_order", "event_time", "transaction_id"),
        *("number", "buyer_id", "city", "amount", "paid_at"),
        *("source_table", "row_types", "row_values", "row_unknown"),
        *("read_from", "read_offset", "ingest_time", "event_date"),
    )


def test_who_reads_what():
    assert dict(SHOP.caches) == {"cells": YEAR}
    assert SHOP.fed_tables == {"orders", "buyers"}
    assert [reader.name for reader in SHOP.readers_of("orders")] == ["per_day", "cells", "year"]
    assert [reader.name for reader in SHOP.readers_of("buyers")] == ["per_day"]
    assert SHOP.readers_of("year") == ()
    assert [name for name in SHOP.table_names if SHOP.is_append_only(name)] == ["order_log", "deletes"]


def test_a_table_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ContractError, match=r"lake shop has no table 'ordrs'; it has \['buyers', 'orders'\]"):
        SHOP.table("ordrs")
    with pytest.raises(ContractError, match=r"lake shop has no mart 'orders'; it has \['per_day', "):
        SHOP.mart("orders")


def test_the_unit_of_a_time_depends_on_the_connector():
    assert PAID.unit_for("postgresql") is NumberUnit.MICROSECONDS
    assert PAID.unit_for("sqlserver") is NumberUnit.MILLISECONDS
    assert replace(PAID, unit=()).unit_for("any") is NumberUnit.MILLISECONDS


@pytest.mark.parametrize("name", ["", "Units", "1st", "sales;drop", "a b", "../x", "é", "a" * 64])
@pytest.mark.parametrize("spec", [NUMBER, BUYERS, PER_DAY], ids=lambda spec: type(spec).__name__)
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
        (SOURCE, {"key": "unknown"}, "source key 'unknown'"),
        (SOURCE, {"topics": ()}, "at least one pattern"),
        (SOURCE, {"columns": (NUMBER, NUMBER)}, "declared twice"),
        (SOURCE, {"columns": (NUMBER, replace(BUYER, source="No"))}, "declared twice"),
        (BUYERS, {"columns": ()}, "needs columns beside its key"),
        (BUYERS, {"columns": ("buyer_id", "city")}, "needs columns beside its key"),
        (BUYERS, {"columns": ("city", "city")}, "each once"),
        (BUYERS, {"buckets": 0}, "buckets must be at least 1"),
        (BUYER, {"comment": "who\npays"}, "column buyer_id: comment .* is not one line of at most 255"),
        (BUYER, {"comment": "x" * 256}, "column buyer_id: comment .* is not one line of at most 255"),
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
        ({"tables": (replace(BUYERS, deletes=Deletes.TOMBSTONE), ORDERS)}, "needs the source key 'number'"),
        ({"marts": (replace(PER_DAY, name="bad"),)}, r"used twice: \['bad'\]"),
        ({"marts": (PER_DAY, replace(CELLS, name="per_day"))}, r"used twice: \['per_day'\]"),
        ({"marts": (replace(CELLS, reads=(ReadSpec(table="nowhere"),)),)}, "cells reads 'nowhere', which is no table"),
        ({"marts": (replace(CELLS, reads=(ReadSpec(table="bad"),)),)}, "cells reads 'bad', which is no table"),
        ({"marts": (replace(DELETES, reads=(ReadSpec(table="orders"),)),)}, "rows of orders change, so appending"),
        ({"marts": (PER_DAY, replace(DELETES, reads=(ReadSpec(table="per_day"),)))}, "rows of per_day change"),
        ({"marts": (YEAR, replace(CELLS, time=None))}, "mode stitch reads a mart of mode aggregate that has a time"),
        ({"marts": (YEAR, replace(CELLS, mode=MartMode.FULL))}, "mode stitch reads a mart of mode aggregate"),
        ({"marts": (replace(YEAR, reads=(ReadSpec(table="orders"),)),)}, "mode stitch reads a mart of mode aggregate"),
        ({"marts": (YEAR, CELLS, replace(YEAR, name="decade"))}, "mart cells is a cache, which only its stitch mart"),
        ({"log": "Log"}, "log 'Log' is not"),
    ],
)
def test_lakes_whose_parts_do_not_fit(change, message):
    if message is None:
        assert replace(SHOP, **change)
        return
    with pytest.raises(ContractError, match=message):
        replace(SHOP, **change)


def test_tables_of_a_source_whose_columns_are_not_declared():
    with pytest.raises(ContractError) as caught:
        replace(SHOP, source=replace(SOURCE, key="", columns=()), marts=())
    message = "the tables' columns are not declared; add them below source: columns, and its key"
    assert [error.at for error in caught.value.each if str(error) == message] == [("source",)]


def test_what_null_means_in_columns_of_the_source_counts_in_tables_that_say_nothing_else():
    source = replace(SHOP.source, null_columns=(("amount", Nulls.VALUE), ("city", Nulls.VALUE)))
    own = replace(ORDERS, null_columns=(("amount", Nulls.UNKNOWN), ("paid_at", Nulls.VALUE)))
    whole = replace(ORDERS, name="whole_orders", nulls=Nulls.UNKNOWN)
    spec = replace(SHOP, source=source, tables=(BUYERS, own, whole), marts=())
    found = {table.name: dict(table.null_columns) for table in spec.tables}
    assert found == {
        "buyers": {"city": Nulls.VALUE},
        "orders": {"amount": Nulls.UNKNOWN, "paid_at": Nulls.VALUE},
        "whole_orders": {},
    }
    assert replace(spec) == spec, "it is the same when it is made once more"
    with pytest.raises(ContractError, match="source nulls names 'town', none of its columns"):
        replace(SHOP.source, null_columns=(("town", Nulls.VALUE),))
