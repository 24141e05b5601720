"""The shipped lake of a shop, a second lake spec, with every job by which a lake is kept; the engine knows no lake.

Customers, products, orders and order lines come as change events with schemas; one customer is deleted in the end.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.entrypoint import parse_arguments
from tests.support.contexts import CLOCK, run_in
from tests.support.mirrors import TYPES, change, decimal_field, packed
from tests.support.shop_lakes import ShopLake

pytestmark = pytest.mark.hudi

TEXT, NUMBER = TYPES["string"], TYPES["bigint"]
FIELDS = {
    "customers": {"id": NUMBER, "name": TEXT, "email": TEXT},
    "products": {"sku": TEXT, "price": decimal_field(10, 2)},
    "orders": {"id": NUMBER, "customer_id": NUMBER, "placed_at": TYPES["timestamp"]},
    "order_lines": {"order_id": NUMBER, "line": TYPES["int"], "sku": TEXT, "note_to_packer": TEXT},
}
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("customers", {"id": 1, "name": "Ada", "email": "ada@example.org"}),
    ("customers", {"id": 2, "name": "Bo", "email": None}),
    ("products", {"sku": "tea", "price": packed(499)}),
    ("orders", {"id": 10, "customer_id": 1, "placed_at": 1_767_312_000_000_000}),
    ("order_lines", {"order_id": 10, "line": 1, "sku": "tea", "note_to_packer": "for Ada, as a present"}),
    ("order_lines", {"order_id": 10, "line": 2, "sku": "tea", "note_to_packer": None}),
]


@pytest.fixture
def shop(spark, tmp_path) -> ShopLake:
    (tmp_path / "landing").mkdir()
    lake = ShopLake(spark=spark, folder=tmp_path, spec=str(PROJECT_ROOT / "include" / "lakes" / "shop.yaml"))
    events = [change("c", table, row, lsn, fields=FIELDS[table]) for lsn, (table, row) in enumerate(ROWS, start=1)]
    lake.deliver("made", events)
    lake.run("split")
    return lake


def test_every_job_keeps_it(shop, capsys):
    assert shop.live("customers", key=("id",)) == {
        (1,): {"id": 1, "name": "Ada", "email": "***"},
        (2,): {"id": 2, "name": "Bo", "email": None},
    }
    assert shop.live("order_lines", key=("order_id", "line"))[10, 1] == {"order_id": 10, "line": 1, "sku": "tea"}
    assert "present" not in str(shop.rows("shop_log"))
    shop.run("savepoint", action="create", label="before")
    later = CLOCK + timedelta(minutes=5)
    shop.deliver("deleted", [change("d", "customers", {"id": 2}, 20, fields=FIELDS["customers"])])
    shop.run("split", clock=later)
    assert [*shop.live("customers", key=("id",))] == [(1,)]
    capsys.readouterr()
    of_orders = (
        "SELECT c.name, l.line FROM orders o JOIN customers c ON c.id = o.customer_id "
        "JOIN order_lines l ON l.order_id = o.id ORDER BY l.line"
    )
    assert say(shop, "query", "--sql", of_orders, capsys=capsys).count("Ada") == 2
    shown = say(shop, "query", "--sql", "SELECT * FROM customers", capsys=capsys)
    assert "row_order" not in shown
    assert "Bo" not in shown
    first = shop.instants()["customers"][0].partition(".")[0]
    for words in ("services run", "consumers list", f"changes --table customers --from {first}", "doctor check"):
        say(shop, *words.split(), capsys=capsys)
    say(shop, "freshness", "--clock", later.isoformat(), capsys=capsys)
    for job in ("ingest", "split"):
        assert shop.run(job, clock=later).status == "nothing_to_do"
    kept = next(word for word in say(shop, "savepoint", "list", capsys=capsys).split() if word.startswith("before"))
    say(shop, "restore", "--to", kept, "--yes", capsys=capsys)
    assert [*shop.live("customers", key=("id",))] == [(1,), (2,)]
    for job in ("ingest", "split"):
        shop.run(job, clock=later)
    assert [*shop.live("customers", key=("id",))] == [(1,)]


def say(shop: ShopLake, *words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, which is run as the command line would."""
    capsys.readouterr()
    run_in(replace(parse_arguments(words), settings=shop.settings, session=shop.spark))
    return capsys.readouterr().out
