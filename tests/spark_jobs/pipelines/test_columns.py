"""What a batch of records has for columns, of two tables, and which records are set aside for columns that do not fit.

Records of two tables have two columns each that come with other types; deletes, rejected records and records of an
older type that came before the change stay as they are.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.frames import collect_together
from spark_jobs.lake_spec.schemas import Refusal, TypeSpan
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.pipelines.columns import _arrived, column_queries, quarantine_types
from spark_jobs.sources.decoding import KEY_COLUMNS
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.shop_lakes import shop_spec

pytestmark = pytest.mark.spark

SCHEMA = (
    "source_table string, op string, event_order string, read_from string, read_offset bigint, "
    "row_types map<string,string>, reason string, detail string"
)
SPEC = parse_lake_spec(
    shop_spec(
        {"name": name, "key": ["id"], "declare": [{"name": f"own_{name}", "source": "b", "type": "string"}]}
        for name in ("orders", "carts")
    )
)
Record = tuple[str | None, str, str, dict[str, str], str | None]
GOOD = {"a": "int", "b": "string"}
RECORDS: tuple[Record, ...] = (
    ("shop.orders", "c", "5", GOOD, None),
    ("shop.orders", "u", "7", {"a": "string", "b": "string"}, None),
    ("shop.orders", "u", "8", {"a": "int", "b": "date"}, None),
    ("shop.orders", "u", "9", {"a": "string", "b": "date"}, None),
    ("shop.orders", "d", "9", {"a": "string", "b": "date"}, None),
    ("shop.orders", "u", "6", {"a": "string"}, "not_json"),
    ("shop.carts", "c", "1", {"b": "date", "a": "string"}, None),
    ("shop.carts", "u", "2", {"b": "string", "a": "bigint"}, None),
    ("shop.carts", "u", "3", {"b": "string", "a": "bigint"}, None),
    ("shop.carts", "u", "4", {"b": "string"}, None),
    (None, "c", "1", {"a": "date"}, None),
)


def decoded(spark: SparkSession) -> DataFrame:
    rows = [
        (table, op, order, f"file-{number % 2}", number, types, reason, None)
        for number, (table, op, order, types, reason) in enumerate(RECORDS)
    ]
    return spark.createDataFrame(rows, SCHEMA)


def refusal(table: str, column: str, type_: str, since: str = "") -> Refusal:
    return Refusal(origin=f"shop.{table}", column=column, type=type_, since=since, reason=f"{table}: {column}: {type_}")


A_TEXT, B_DATE = refusal("orders", "a", "string"), refusal("orders", "b", "date")


@pytest.mark.parametrize(
    ("refusals", "aside"),
    [
        ((), {}),
        ((A_TEXT, B_DATE), {1: "a: string", 2: "b: date", 3: "a: string"}),
        ((B_DATE, A_TEXT), {1: "a: string", 2: "b: date", 3: "b: date"}),
        ((A_TEXT, refusal("carts", "a", "bigint", "3")), {1: "a: string", 3: "a: string", 8: "a: bigint"}),
        (
            (refusal("carts", "a", "bigint", "2"), refusal("carts", "b", "date")),
            {6: "b: date", 7: "a: bigint", 8: "a: bigint"},
        ),
        ((refusal("carts", "a", "bigint", "4"),), {}),
    ],
)
def test_records_with_any_refused_column_of_their_table_are_set_aside(spark, refusals, aside: dict[int, str]):
    rows = quarantine_types(decoded(spark), refusals).collect()
    found = {row["read_offset"]: row["detail"].split(": ", 1)[1] for row in rows if row["reason"] == "other_type"}
    assert found == aside
    others = {row["read_offset"]: row["reason"] for row in rows if row["reason"] != "other_type"}
    assert others == {n: record[4] for n, record in enumerate(RECORDS) if n not in aside}


def test_what_arrived_of_each_table_is_what_its_usable_rows_had(spark):
    found: dict[str, Any] = {
        each.origin: each for each in _arrived(collect_together(column_queries(decoded(spark), SPEC)), SPEC)
    }
    assert found.keys() == {"shop.orders", "shop.carts"}
    orders, carts = found["shop.orders"], found["shop.carts"]
    assert (orders.first, orders.last, dict(orders.names)) == ("5", "9", {"b": "own_orders"})
    assert (carts.first, carts.last, dict(carts.names)) == ("1", "4", {"b": "own_carts"})
    assert set(orders.seen) == {
        TypeSpan(column="a", type="int", first="5", last="8", place="file-0:0", number=0),
        TypeSpan(column="a", type="string", first="7", last="9", place="file-1:1", number=0),
        TypeSpan(column="b", type="string", first="5", last="7", place="file-0:0", number=1),
        TypeSpan(column="b", type="date", first="8", last="9", place="file-0:2", number=1),
    }
    assert {(each.column, each.type, each.first, each.last) for each in carts.seen} == {
        ("a", "string", "1", "1"),
        ("a", "bigint", "2", "3"),
        ("b", "date", "1", "1"),
        ("b", "string", "2", "4"),
    }


def test_the_keys_of_records_are_those_of_the_first_events_and_shards_are_reported(spark):
    entries = [
        {"name": "s_{table}", "from": {"database": "shop", "table": "*"}},
        {"name": "all_orders", "from": {"database": "shop", "table": "orders*"}, "key": ["id"], "origin": "shard"},
    ]
    keys_df = decoded(spark).withColumn(
        KEY_COLUMNS,
        F.when(F.col("source_table") == "shop.carts", F.array(F.when(F.col("event_order") == "1", "a").otherwise("b"))),
    )
    spec = parse_lake_spec(shop_spec(entries))
    found = {each.origin: each for each in _arrived(collect_together(column_queries(keys_df, spec)), spec)}
    assert (found["shop.carts"].keys, found["shop.carts"].shard_of) == ((("a",), ("b",)), ())
    orders = found["shop.orders"]
    assert (orders.keys, orders.shard_of, dict(orders.names)) == ((), ("all_orders",), {ORIGIN: "shard"})
