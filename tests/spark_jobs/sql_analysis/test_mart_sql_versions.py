"""Versions in the SQL of marts: their columns, and joins by a moment, of which a change concerns few rows.

Orders are paid at a moment, and their buyers move from city to city: ``buyers_versions`` knows when.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from tests.support.shop import BUYERS, ORDERS, SOURCE, mart, scoped, shop

AT = ReadSpec(table="buyers_versions", by="buyer_id", at="paid_at")
ORDERS_READ = ReadSpec(table="orders", scope="number")
BOUNDS = "o.paid_at >= v.valid_from AND (v.valid_to IS NULL OR o.paid_at < v.valid_to)"
JOINED = f"FROM orders o LEFT JOIN buyers_versions v ON v.buyer_id = o.buyer_id AND {BOUNDS}"
RIGHT = f"SELECT number, v.city {JOINED}"
ITEMS = TableSpec(name="items", key=("ItemId",), database="erp", table="items", history=True)


def lake(*marts: MartSpec) -> LakeSpec:
    return shop(*marts, tables=(replace(BUYERS, history=True), replace(ORDERS, history=True), ITEMS))


def refusal(declared: MartSpec) -> str:
    with pytest.raises(ContractError) as caught:
        analyse_mart(declared, lake(declared))
    return str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        RIGHT,
        "SELECT number, city FROM orders AS o JOIN buyers_versions v ON (o.buyer_id <=> v.buyer_id) AND "
        "(v.valid_from <= paid_at AND (v.valid_to > paid_at OR v.valid_to IS NULL))",
        f"WITH paid AS (SELECT number, v.city AS town {JOINED} AND v.city <> 'Rome') SELECT number, town FROM paid",
        f"SELECT o.number, COUNT(*) AS moves {JOINED.replace('LEFT JOIN', 'LEFT SEMI JOIN')} GROUP BY o.number",
    ],
)
def test_rows_are_joined_to_the_version_of_their_moment(sql):
    declared = scoped(sql, ORDERS_READ, AT)
    assert analyse_mart(declared, lake(declared)).mart is declared


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (RIGHT.replace(">=", ">"), "has at: paid_at, and its ON does not fit it"),
        (RIGHT.replace("o.paid_at <", "o.paid_at <="), "and its ON does not fit it"),
        (RIGHT.replace("v.valid_to IS NULL OR ", ""), "and its ON does not fit it"),
        (RIGHT.replace("v.valid_to IS NULL OR", "v.valid_to IS NULL AND"), "and its ON does not fit it"),
        ("SELECT number, city FROM orders JOIN buyers_versions USING (buyer_id)", "and its ON does not fit it"),
        (RIGHT.replace("v.city", "v.valid_from AS since"), "may be in its ON only"),
        (f"{RIGHT} WHERE v.valid_to IS NULL", "may be in its ON only"),
        (f"{RIGHT} AND v.valid_from > TIMESTAMP '2026-01-01'", "may be in its ON only"),
        ("WITH w AS (SELECT * FROM orders) SELECT number FROM w", "buyers_versions; take it out of reads"),
        (
            f"WITH w AS (SELECT * FROM orders) SELECT number, v.city {JOINED.replace('orders', 'w')}",
            "* may not be anywhere",
        ),
        (
            # The newest buyer and the first payment need not be of one order.
            "WITH w AS (SELECT number, MAX(buyer_id) AS buyer_id, MIN(paid_at) AS paid_at FROM orders GROUP BY number) "
            f"SELECT number, v.city {JOINED.replace('orders', 'w')}",
            "join it to the table that has buyer_id and paid_at",
        ),
        (
            f"SELECT o.number, w.city FROM orders o JOIN (SELECT buyer_id, city, valid_from, valid_to "
            f"FROM buyers_versions) w ON w.buyer_id = o.buyer_id AND {BOUNDS.replace('v.', 'w.')}",
            "may be in its ON only",
        ),
        (
            "SELECT o.number, w.city FROM orders o JOIN (SELECT buyer_id, city FROM buyers_versions) w "
            "ON w.buyer_id = o.buyer_id",
            "a FROM begins with the versions buyers_versions",
        ),
    ],
)
def test_what_would_see_more_of_versions_than_their_values_at_a_moment(sql, message):
    assert message in refusal(scoped(sql, ORDERS_READ, AT))


def test_without_a_moment_a_mart_sees_all_versions_of_a_key():
    sql = "SELECT number, COUNT(v.valid_from) AS moves FROM orders JOIN buyers_versions v USING (buyer_id) GROUP BY 1"
    declared = scoped(sql, ORDERS_READ, replace(AT, at=""))
    assert analyse_mart(declared, lake(declared)).columns == ("number", "moves")


def test_the_moment_is_a_column_of_the_rows_that_point_to_versions():
    wrong = scoped(RIGHT, ORDERS_READ, replace(AT, at="signed_at"))
    assert "buyers_versions: at is 'signed_at', which is no column of a read" in refusal(wrong)


@pytest.mark.parametrize(
    ("reads", "mode", "message"),
    [
        ((ReadSpec(table="orders_history"),), "full", "the values of each event; read orders_versions, or orders"),
        ((ReadSpec(table="orders_versions"),), "append", "rows of orders_versions change, so appending"),
        ((ReadSpec(table="order_log_versions"),), "full", "which is no table"),
        ((ReadSpec(table="orders_versions", partition="number"),), "full", "no partitions; take partition out"),
        ((ORDERS_READ, ReadSpec(table="buyers", by="buyer_id", at="paid_at")), "scoped", "so at has no meaning"),
        ((replace(ORDERS_READ, at="paid_at"),), "scoped", "at is of versions that are looked up; add by"),
    ],
)
def test_reads_that_do_not_fit(reads, mode, message):
    with pytest.raises(ContractError, match=message):
        lake(mart("SELECT number FROM orders", MartMode(mode), reads=reads, scope="number" * (mode == "scoped")))


def test_a_table_without_history_has_no_versions():
    with pytest.raises(ContractError, match="buyers has no versions; add history: true to buyers"):
        shop(mart("SELECT 1 AS number", reads=(ReadSpec(table="buyers_versions"),)))


def test_versions_of_a_table_at_the_source_have_the_columns_that_are_named():
    sql = (
        "SELECT item_id AS number, COUNT(*) AS prices, MIN(i.valid_from) AS since, MAX(price) AS most "
        "FROM items_versions i GROUP BY item_id"
    )
    declared = mart(sql, MartMode.AGGREGATE, reads=(ReadSpec(table="items_versions"),))
    query = analyse_mart(declared, lake(declared))
    assert query.inputs_of("items_versions") == ("item_id", "price", "valid_from")
    with pytest.raises(ContractError, match=r"it selects \* of items_versions"):
        analyse_mart(replace(declared, sql="SELECT item_id AS number FROM (SELECT * FROM items_versions)"), lake())


def test_a_mart_over_versions_depends_on_their_history():
    declared = scoped(RIGHT, ORDERS_READ, AT)
    spec = lake(declared)
    assert spec.sources_of(declared) == ("orders", "buyers_history")
    assert [reader.name for reader in spec.readers_of("buyers_history")] == ["answers"]
    assert spec.readers_of("buyers") == spec.readers_of("orders_history") == ()
    assert spec.readers_of("buyers", "buyers_history") == spec.readers_of("buyers_history")
    assert spec.declared_sources_of(declared) == ("orders", "buyers")
    assert spec.fed_tables == {"orders"}
    assert spec.missing_reads(declared) == ()
    assert SOURCE.key == "number"


def test_the_moment_is_part_of_the_definition():
    declared = scoped(RIGHT, ORDERS_READ, AT)
    assert declared.definition != scoped(RIGHT, ORDERS_READ, replace(AT, at="")).definition
