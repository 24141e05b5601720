"""A table whose definition changes: blocked, planned, previewed, applied with crashes on the way, and taken back.

Order 1 loses its note by an event in which it is null, and moves from customer 1 to 2; order 2 is paid and deleted;
order 3 stays. Then ``orders`` has another key, other partitions, and null means that nothing is known.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError, StalePlanError
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.storage.savepoints import SavepointRecords
from tests.support.crashes import crash_at_commit, run_and_crash
from tests.support.redefined import Shop, expected, order, sums

pytestmark = pytest.mark.hudi

BEGINNING = [
    order("c", 1, 10, customer=1, status="new", amount=5, note="gift"),
    order("u", 1, 20, customer=1, status="paid", amount=6),
    order("c", 2, 30, customer=1, status="new", amount=7),
    order("c", 3, 40, customer=3, status="new", amount=9, note="fast"),
    order("d", 2, 50, customer=1, status="new", amount=7),
]
LATER = [order("u", 1, 60, customer=2, status="sent", note="moved"), order("u", 3, 35, customer=3, status="paid")]
"""The second is older than what is known of order 3."""
LAST = [order("u", 3, 70, customer=3, status="sent", amount=11), order("u", 1, 25, customer=1, amount=8)]
OTHER = {"key": ["id", "customer"], "partition": "customer", "nulls": "unknown"}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    """The lake after the beginning."""
    made = Shop.make(spark, tmp_path)
    made.deliver(BEGINNING, item=1)
    made.lake.run("split")
    made.refresh()
    return made


def test_a_table_is_blocked_previewed_and_made_again_and_its_mart_with_it(shop: Shop, capsys) -> None:
    before = shop.wanted
    shop.assert_is(before, ["id"])
    shop.declare(**OTHER)
    shop.deliver(LATER, item=2)
    with pytest.raises(TablesFailedError, match="orders: key, nulls, partition changed"):
        shop.lake.run("split")
    shop.assert_is(before, ["id"])
    assert len(shop.lake.rows("items")) == 2, "the other table goes on"

    assert shop.run("plan").counters == {
        "changes": 1,
        "to_apply": 1,
        "to_recompute": 0,
        "to_rebuild": 1,
        "impossible": 0,
    }
    assert "order_sums" in capsys.readouterr().out
    aside = str(shop.lake.folder / "aside.yaml")
    assert shop.lake.run("plan", clock=shop.clock, output=aside, tables="items").counters["changes"] == 0
    chosen = shop.lake.run("plan", clock=shop.clock, output=aside, marts="order_sums")
    assert (chosen.counters["to_apply"], chosen.counters["to_rebuild"]) == (1, 1)
    assert "orders: was not chosen; a chosen mart reads it, so it is computed first" in chosen.messages
    states = shop.lake.instants()
    found = shop.run("preview", samples=5).findings["orders"]
    then = expected(BEGINNING, shop.declared)
    assert (found["rows_now"], found["rows_then"]) == (len(before), len(then))
    assert (found["new"], found["gone"]) == (len(then), len(before)), "by another key they are other rows"
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["amount"]["sum_then"] == sum(row["amount"] for row in then.values())
    assert found["samples"]["gone"] == ("id: 1", "id: 3")
    assert shop.lake.instants() == states, "a preview writes nothing"

    for is_committed, rows in ((False, before), (True, shop.wanted)):
        crash = crash_at_commit("storage.replacing", 1, is_committed=is_committed)
        assert run_and_crash(shop.lake, "apply", crash, plan=str(shop.lake.folder / "plan.yaml"))
        shop.assert_is(rows, ["id"] if rows is before else OTHER["key"])
    assert [record.made_by for record in SavepointRecords(shop.lake.settings).all()] == ["apply"]
    shop.run("apply")
    assert shop.sums() == sums(shop.wanted)
    assert {path.name for path in Path(shop.lake.path("orders")).glob("row_partition=[0-9]*")} == {
        f"row_partition={row['customer']}" for row in shop.wanted.values()
    }
    shop.deliver(LAST)
    shop.lake.run("split")
    shop.assert_is(shop.wanted, OTHER["key"])


@pytest.mark.slice(name="tables")
def test_an_applied_plan_is_taken_back_and_what_came_since_is_not_lost(shop: Shop) -> None:
    before, first = shop.wanted, dict(shop.declared)
    shop.declare(**OTHER)
    shop.run("plan")
    shop.run("apply")
    shop.deliver(LATER)
    shop.lake.run("split")
    shop.refresh()
    shop.assert_is(shop.wanted, OTHER["key"])
    crash = crash_at_commit("storage.replacing", 1, is_committed=True)
    assert run_and_crash(shop.lake, "undo", crash, plan=str(shop.lake.folder / "plan.yaml"), yes=True)
    shop.run("undo", yes=True)
    shop.assert_is(before, ["id"])
    assert shop.sums() == sums(before)
    with pytest.raises(ContractError, match="no savepoint made by apply is called"):
        shop.run("undo")
    with pytest.raises(TablesFailedError, match="orders: key, nulls, partition changed"):
        shop.lake.run("split")
    with pytest.raises(StalePlanError, match="orders was written since it was made"):
        shop.run("apply")
    shop.declare(**{**dict.fromkeys(OTHER), **first})
    shop.lake.run("split")
    shop.refresh()
    shop.assert_is(shop.wanted, ["id"])
    assert shop.sums() == sums(shop.wanted)
    assert shop.run("plan").counters["changes"] == 0


@pytest.mark.slice(name="tables")
def test_what_cannot_take_its_predecessors_place_is_left_with_what_to_do(shop: Shop) -> None:
    states = shop.lake.instants()
    for changes, part in (
        ({"partition": None}, "partition"),
        ({"type": "copy_on_write"}, "type"),
        ({"key": ["customer"], "deletes": "remove"}, "key"),
    ):
        first = dict(shop.declared)
        shop.declare(**changes)
        planned = shop.run("plan")
        assert (planned.counters["to_rebuild"], planned.counters["impossible"]) == (0, 1)
        assert any(part in line and "declare a table under a new name" in line for line in planned.messages)
        with pytest.raises(TablesFailedError, match=f"orders: .*{part}"):
            shop.lake.run("split")
        shop.declare(**{**dict.fromkeys(changes), **first})
    assert shop.lake.instants() == states
    assert shop.lake.run("split").status == "nothing_to_do"
