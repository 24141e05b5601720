"""The columns of a mirror through its life, in a real lake: added, widened, dropped, refused, renamed; all recorded.

The table ``orders`` has ``id`` and ``total`` at first. Its events have an LSN of their own; one with a type that does
not fit is in the quarantine until a person declares what the table is to be.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.contracts.errors import ContractError
from tests.support.mirrors import TYPES, change, decimal_field, line_of, packed
from tests.support.shop_lakes import TOPIC, ShopLake, make_shop_lake

pytestmark = pytest.mark.hudi

FIRST = {"id": TYPES["bigint"], "total": decimal_field(10, 2)}
WIDER = {"id": TYPES["bigint"], "total": decimal_field(20, 4), "note": TYPES["string"]}


@pytest.fixture
def shop(spark, tmp_path) -> ShopLake:
    lake = make_shop_lake(spark, tmp_path, [{"name": "orders", "key": ["id"]}])
    lake.deliver("one", [change("c", "orders", {"id": n, "total": packed(n)}, n, fields=FIRST) for n in (1, 2)])
    lake.run("split")
    return lake


def declare(lake: ShopLake, *columns: dict[str, Any]) -> None:
    """What the lake spec says of columns from now on."""
    document = yaml.safe_load(Path(lake.spec).read_text(encoding="utf-8"))
    document["tables"][0]["declare"] = [*columns]
    Path(lake.spec).write_text(yaml.safe_dump(document), encoding="utf-8")


def rows_of(lake: ShopLake) -> dict[int, dict[str, Any]]:
    """The rows by id, which both readers see alike."""
    rows, by_spark = (lake.live("orders", key=("id",), by_spark=by_spark) for by_spark in (False, True))
    assert rows == by_spark
    return {key[0]: {name: value for name, value in row.items() if name != "id"} for key, row in rows.items()}


def test_a_column_more_and_a_wider_type_reach_the_table_by_themselves(shop, capsys):
    wider = change("u", "orders", {"id": 2, "total": packed(7), "note": "x"}, 9, fields=WIDER)
    shop.land("two", [line_of(wider)], topic=TOPIC)
    done = shop.run("ingest")
    assert done.messages == (
        "shop.orders: column total is decimal(20,4) now, was decimal(10,2)",
        "shop.orders: column note (string) was added",
    )
    shop.run("split")
    assert rows_of(shop) == {
        1: {"total": Decimal("0.0100"), "note": None},
        2: {"total": Decimal("0.0007"), "note": "x"},
    }
    late = change("c", "orders", {"id": 3, "total": packed(3)}, 5, fields=FIRST)
    shop.deliver("late", [late])
    shop.run("split")
    assert rows_of(shop)[3] == {"total": Decimal("0.0300"), "note": None}
    fewer = {name: WIDER[name] for name in ("id", "note")}
    shop.deliver("dropped", [change("u", "orders", {"id": 3, "note": "y"}, 12, fields=fewer)])
    shop.run("split")
    assert rows_of(shop)[3] == {"total": None, "note": "y"}
    capsys.readouterr()
    assert shop.run("schema", action="history").status == "nothing_to_do"
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()[2:]]
    assert [(words[2], words[3]) for words in lines].count(("added", "id")) == 1
    assert {words[2] for words in lines} == {"added", "widened", "dropped"}
    widened = next(words for words in lines if words[2] == "widened")
    assert widened[4:9] == ["decimal(10,2)", "decimal(20,4)", "the", "source", "0000000000000009-" + widened[8][-16:]]
    shop.run("schema", action="list")
    assert "gone" in capsys.readouterr().out


def test_what_does_not_fit_waits_for_a_person_and_the_rest_goes_on(shop, capsys):
    """``total`` becomes text at the source: the table stays as it is until the spec says otherwise."""
    as_text = {"id": TYPES["bigint"], "total": TYPES["string"]}
    good = change("u", "orders", {"id": 1, "total": packed(5)}, 19, fields=FIRST)
    other = change("u", "orders", {"id": 2, "total": "a lot"}, 20, fields=as_text)
    shop.land("three", [line_of(good), line_of(other)], topic=TOPIC)
    done = shop.run("ingest")
    (alert,) = done.alerts
    assert alert.startswith("shop.orders: column total came as string and is decimal(10,2)")
    assert (done.counters["events_new"], done.counters["records_quarantined"]) == (1, 1)
    shop.run("split")
    assert rows_of(shop) == {1: {"total": Decimal("0.05")}, 2: {"total": Decimal("0.02")}}
    (record,) = shop.rows("shop_quarantine")
    assert (record["reason"], bytes(record["raw"])) == ("other_type", line_of(other))
    again = change("u", "orders", {"id": 2, "total": "more"}, 21, fields=as_text)
    shop.land("four", [line_of(again)], topic=TOPIC)
    assert shop.run("ingest").alerts == ()
    early = shop.run("quarantine", action="replay", because="too early", all=True)
    assert early.counters["records_unusable"] == 2
    assert [message.split(":")[0] for message in early.messages if "total came as string" in message] == ["shop.orders"]
    declare(shop, {"name": "amount", "source": "total", "type": "string"})
    planned = shop.run("schema", action="plan")
    assert planned.counters["changes"] == 2
    printed = capsys.readouterr().out
    assert [word in printed for word in ("renamed", "changed", "decimal(10,2)")] == [True] * 3
    before = shop.instants()
    shop.run("schema", action="apply")
    assert shop.instants() == before
    applied = shop.run("schema", action="apply", yes=True, by="Ada")
    assert [(table.table, table.is_committed) for table in applied.tables] == [("shop_log", True), ("orders", True)]
    assert rows_of(shop) == {1: {"amount": "0.05"}, 2: {"amount": "0.02"}}
    shop.run("quarantine", action="replay", because="total is text now", all=True)
    shop.run("split")
    assert rows_of(shop) == {1: {"amount": "0.05"}, 2: {"amount": "more"}}
    assert shop.run("schema", action="apply", yes=True).status == "nothing_to_do"
    shop.run("schema", action="history")
    assert "Ada" in capsys.readouterr().out


@pytest.mark.slice(name="jobs")
def test_a_history_gets_new_names_with_its_table(spark, tmp_path):
    """Null says nothing of ``total``, and nothing of ``amount`` either, as which it is declared later."""
    entry = {"name": "orders", "key": ["id"], "history": True}
    nulls = {"default": "value", "columns": {"total": "unknown"}}
    lake = make_shop_lake(spark, tmp_path, [{**entry, "nulls": nulls}])
    totals = (packed(5), None)
    lake.deliver(
        "one", [change("u", "orders", {"id": 1, "total": t}, n, fields=FIRST) for n, t in enumerate(totals, 1)]
    )
    lake.run("split")
    declare(lake, {"name": "amount", "source": "total", "type": "decimal", "precision": 10, "scale": 2})
    applied = lake.run("schema", action="apply", yes=True)
    assert [table.table for table in applied.tables] == ["shop_log", "orders", "orders_history"]
    lake.run("query", sql="SELECT 1 AS one", rows=1)
    versions = spark.table("orders_versions").collect()
    assert [(row["id"], row["amount"], row["valid_to"]) for row in versions] == [(1, Decimal("0.05"), None)]
    assert lake.run("schema", action="apply", yes=True).status == "nothing_to_do"


def test_a_plan_that_would_lose_something_is_refused(shop):
    declare(shop, {"name": "id", "source": "total", "type": "decimal", "precision": 4, "scale": 2})
    before = shop.instants()
    with pytest.raises(ContractError, match="orders: total: id is the name of 'id'; choose another"):
        shop.run("schema", action="apply", yes=True)
    declare(shop, {"name": "total", "source": "total", "type": "decimal", "precision": 4, "scale": 2})
    with pytest.raises(ContractError, match=r"decimal\(4,2\) does not hold what is there as decimal\(10,2\)"):
        shop.run("schema", action="apply", yes=True)
    with pytest.raises(ContractError, match="no table with from fits --tables"):
        shop.run("schema", action="list", tables="carts")
    assert shop.instants() == before
