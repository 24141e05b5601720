"""The tables of a merge by the book that is read with its events, which may know more than the spec was resolved by."""

from __future__ import annotations

from spark_jobs.lake_spec.resolving import resolve
from spark_jobs.lake_spec.schemas import BatchSchema, TypeSpan, evolve
from spark_jobs.pipelines.merge.tables import ROWS_A_TASK, merged_tables, rows_an_event, tasks_for
from spark_jobs.spec_files.spec_file import parse_lake_spec

ENTRIES = [
    {"name": "orders", "from": {"database": "shop", "table": "orders_*"}, "key": ["id"], "origin": "shard"},
    {"name": "s_{table}", "from": {"database": "shop", "table": "*"}, "key": ["id"]},
    {"name": "first", "from": {"database": "shop", "table": "orders_1"}, "key": ["id"]},
]
LAKE = parse_lake_spec({"lake": "s", "source": {"topics": ["*"]}, "log": "l", "quarantine": "q", "tables": ENTRIES})


def arrived(origin: str) -> BatchSchema:
    return BatchSchema(
        origin=origin, first="1", last="1", seen=(TypeSpan(column="id", type="int", first="1", last="1"),)
    )


def test_a_shard_that_came_since_the_spec_was_resolved_is_merged_and_a_new_table_waits_for_the_next_run():
    before = evolve({}, [arrived("shop.orders_1"), arrived("shop.a")], at="1").book
    after = evolve(before, [arrived("shop.orders_2"), arrived("shop.b")], at="2").book
    tables = merged_tables(resolve(LAKE, before), after)
    assert {table.name: table.spec.origins for table in tables} == {
        "orders": ("shop.orders_1", "shop.orders_2"),
        "first": ("shop.orders_1",),
        "s_a": ("shop.a",),
    }
    assert rows_an_event(tables) == 2, "an event of the first shard is a row of two tables"
    assert [tasks_for(events, tables) for events in (0, 1, ROWS_A_TASK // 2, ROWS_A_TASK)] == [0, 1, 1, 2]
