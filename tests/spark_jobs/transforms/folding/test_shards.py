"""Shards that are one table: random events of three with the same few ids, in steps, against a plain fold.

The third one has a column more, and one that is called like the place of the origin among the values: it is dropped.
What a step gives is stored and read again for the next one.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.frames import literal_frame
from spark_jobs.lake_spec.resolving import resolve
from spark_jobs.lake_spec.schemas import BatchSchema, TypeSpan, evolve
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.folding import fold_events, select_events
from spark_jobs.transforms.keyed_rows import merge_rows, width_of
from spark_jobs.transforms.stored_rows import from_stored, to_stored

pytestmark = pytest.mark.spark

SHARDS = {f"shop.orders_{number}": {"id": "bigint", "text": "string"} for number in (1, 2, 3)}
SHARDS["shop.orders_3"] |= {"more": "int", ORIGIN: "string"}
ENTRY = {"name": "orders", "from": {"database": "shop", "table": "orders_*"}, "key": ["id"], "origin": "shard"}
LAKE = parse_lake_spec({"lake": "s", "source": {"topics": ["*"]}, "log": "l", "quarantine": "q", "tables": [ENTRY]})
BOOK = evolve(
    {},
    [
        BatchSchema(
            origin=origin,
            first="000",
            last="999",
            seen=tuple(TypeSpan(column=name, type=type_, first="000", last="999") for name, type_ in types.items()),
        )
        for origin, types in SHARDS.items()
    ],
    at="2026",
).book
TABLES = merged_tables(resolve(LAKE, BOOK), BOOK)
SCHEMA = (
    "op string, event_order string, source_table string, row_types map<string,string>, "
    "row_values map<string,string>, row_unknown array<string>"
)
Event = tuple[str, str, str, dict[str, str], dict[str, str | None], None]


def random_events(rng: random.Random, count: int) -> list[Event]:
    events = list[Event]()
    for order in rng.sample(range(1000), count):
        shard, id_ = rng.choice([*SHARDS]), rng.randint(1, 3)
        values = {"id": str(id_), "text": rng.choice([None, "a", "b"]), "more": str(order), ORIGIN: "shop.orders_1"}
        own = {name: value for name, value in values.items() if name in SHARDS[shard]}
        events.append((rng.choice("ccud"), f"{order:03d}", shard, SHARDS[shard], own, None))
    return events


def fold(events: list[Event]) -> dict[tuple[str, int], tuple[str | None, int | None]]:
    rows = dict[tuple[str, int], tuple[str | None, int | None]]()
    for op, _, shard, _, values, _ in sorted(events, key=lambda event: event[1]):
        key = (shard, int(str(values["id"])))
        if op == "d":
            rows.pop(key, None)
        else:
            more = values.get("more")
            rows[key] = (values["text"], None if more is None else int(more))
    return rows


def merged(spark: SparkSession, events: list[Event], stored_df: DataFrame | None) -> list[Any]:
    (table,), width = TABLES, width_of(TABLES)
    events_df = select_events(literal_frame(spark, events, SCHEMA), TABLES)
    keyed_df = None if stored_df is None else from_stored(stored_df, table, width)
    rows_df = merge_rows(fold_events(events_df, TABLES, width), keyed_df)
    return to_stored(rows_df, table).collect()


def test_rows_and_deletes_of_a_shard_concern_no_other(spark: SparkSession):
    rng = random.Random(7)
    events, stored, stored_df = random_events(rng, 60), dict[str, Any](), None
    for step in range(2):
        rows = merged(spark, events[step::2], stored_df)
        stored |= {row["row_key"]: row for row in rows}
        stored_df = spark.createDataFrame([*stored.values()], schema=schema_of(spark))
    live = {(r["shard"], r["id"]): (r["text"], r["more"]) for r in stored.values() if not r["is_deleted"]}
    assert live == fold(events)
    assert {row["shard"] for row in stored.values()} == {*SHARDS}


def schema_of(spark: SparkSession) -> Any:
    """The columns that the table is stored with."""
    (table,), width = TABLES, width_of(TABLES)
    events_df = select_events(literal_frame(spark, random_events(random.Random(0), 1), SCHEMA), TABLES)
    return to_stored(merge_rows(fold_events(events_df, TABLES, width), None), table).schema
