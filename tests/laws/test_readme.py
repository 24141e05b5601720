"""README's chapters "Connect your database" and "Add a rule", followed word by word into the shipped lake."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.spec_files.lake_check import check_lake
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import SpecLake
from tests.support.mirrors import TYPES, change, line_of
from tests.support.readme import connected_lake, ruled_lake

FIELDS = {"id": TYPES["bigint"], "customer_id": TYPES["bigint"]}


def order(op: str, number: int, customer: int | None, lsn: int) -> bytes:
    return line_of(change(op, "orders", {"id": number, "customer_id": customer}, lsn, fields=FIELDS))


def sale(number: int, customer: int, at: int) -> bytes:
    return line(sqlserver("u", {"SaleId": number, "CustomerId": customer}, at * 60))


def test_what_it_adds_fits_the_shipped_lake(tmp_path: Path) -> None:
    found = check_lake(connected_lake(tmp_path), str(PROJECT_ROOT / "include" / "rules"))
    assert found.mistakes == ()
    assert found.spec is not None
    assert [table.name for table in found.spec.tables if table.is_mirror] == ["orders"]
    (mart,) = (mart for mart in found.spec.marts if mart.name == "customer_orders")
    assert {read.table for read in mart.reads} == {"orders", "sales"}


def test_the_rule_that_it_adds_fits_the_shipped_lake(tmp_path: Path) -> None:
    """It has a name that is not there yet, and an action that its table can take."""
    shipped = check_lake(PROJECT_ROOT / "include" / "lakes" / "sales.yaml", str(PROJECT_ROOT / "include" / "rules"))
    found = check_lake(ruled_lake(tmp_path), str(PROJECT_ROOT / "include" / "rules"))
    assert found.mistakes == ()
    assert found.spec is not None
    assert shipped.spec is not None
    assert len(found.spec.expectations) == len(shipped.spec.expectations) + 1


@pytest.mark.hudi
@pytest.mark.slice(name="laws-marts")
def test_the_mart_joins_the_connected_table_with_sales(spark, tmp_path: Path) -> None:
    lake = SpecLake(spark=spark, folder=tmp_path, spec=connected_lake(tmp_path / "spec"))
    sales = {1: 1, 2: 1, 3: 2, 4: 3}
    orders: dict[int, int | None] = {10: 1, 11: 1, 12: 2, 13: None}
    lake.land("sales.jsonl", [sale(number, customer, number) for number, customer in sales.items()])
    arrived = [order("c", number, customer, number) for number, customer in orders.items()]
    lake.land("orders.jsonl", arrived, topic="shop.shop.orders")
    for changed in (False, True):
        if changed:  # an order is deleted, another one's customer is corrected
            later = [order("d", 10, 1, 100), order("u", 12, 3, 101)]
            lake.land("later.jsonl", later, topic="shop.shop.orders")
            orders = {**{n: c for n, c in orders.items() if n != 10}, 12: 3}
        lake.run("ingest")
        lake.run("split")
        lake.run("mart", layer="fast")
        assert {row["id"]: row["customer_id"] for row in lake.rows("orders") if not row["is_deleted"]} == orders
        counts: dict[int, list[set[int]]] = defaultdict(lambda: [set(), set()])
        for number, customer in sales.items():
            counts[customer][0].add(number)
            counts[customer][1].update(n for n, of in orders.items() if of == customer)
        found = {row["customer_id"]: (row["sales"], row["orders"]) for row in lake.rows("customer_orders")}
        assert found == {customer: (len(s), len(o)) for customer, (s, o) in counts.items()}
