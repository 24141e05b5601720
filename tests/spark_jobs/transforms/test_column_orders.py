"""Laws 1 and 3 on the pure merge: 600 random histories of a dimension and as many of sales, against a plain fold.

In a slice 2,400 of each.

What is stored goes the way it goes in the lake: typed rows of the table, keyed rows, packed and unpacked. Each example
puts three hundred histories (see tests.support.folds), with keys of their own, into one DataFrame. They come in up to
three steps; what a step changes is stored and goes into the next one. After every step the merge must return exactly
the rows that differ from what is stored: no more, no less, nothing twice. And the changes made of it must be exactly
the difference, before and after the step, of what readers see: key and values of live rows. So must be how many rows
the merge says that it added, changed and removed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.pipelines.merge.tables import merged_table, merged_tables
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.transforms.changes import to_changes
from spark_jobs.transforms.column_orders import from_columns, table_columns, to_columns
from spark_jobs.transforms.folding import fold_events
from spark_jobs.transforms.keyed_rows import STORED, MergedTable, merge_rows, width_of
from spark_jobs.transforms.packed import pack_rows, unpack_rows
from tests.support.folds import Change, Row, fold_changes, random_history
from tests.support.lakes import in_utc
from tests.support.row_kinds import assert_kinds

pytestmark = pytest.mark.spark

SPEC = load_lake_spec(Settings().lake_spec)
HISTORIES, EXAMPLES, MORE_EXAMPLES = 300, 2, 8
UNIT = {"unit_name": "name", "unit_name_order": "1", "project_id": 3, "project_id_order": "1"}
UNIT |= {"building_id": None, "building_id_order": None}


def events_of(spark: SparkSession, table: TableSpec, changes: Iterable[Change]) -> DataFrame:
    columns = ", ".join(f"{name} {SPEC.columns_by_name[name].sql_type}" for name in (*table.key, *table.columns))
    rows = [(change.op, change.order, change.key, *change.values) for change in changes]
    return spark.createDataFrame(rows, f"op string, event_order string, {columns}")


def stored_of(spark: SparkSession, table: TableSpec, rows: dict[int, Row]) -> DataFrame:
    types = {name: SPEC.columns_by_name[name].sql_type for name in (*table.key, *table.columns)}
    types["is_deleted"] = "boolean"
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in table_columns(table))
    names = table_columns(table)[1:]
    return spark.createDataFrame([(key, *(row[name] for name in names)) for key, row in rows.items()], schema)


def alone(table: TableSpec) -> MergedTable:
    return merged_table(table, SPEC, {})


def merged_of(
    spark: SparkSession, table: TableSpec, changes: list[Change], rows: dict[int, Row] | None, **options: Any
) -> DataFrame:
    merged, stored_df = alone(table), None
    width = len(merged.columns)
    if rows is not None:
        packed_df = pack_rows(from_columns(stored_of(spark, table, rows), merged, width))
        stored_df = unpack_rows(packed_df, merged.slots)
    return merge_rows(fold_events(events_of(spark, table, changes), [merged], width), stored_df, **options)


def rows_of(merged_df: DataFrame, table: TableSpec) -> dict[int, Row]:
    """Rows that the merge returned, by key; each key once."""
    merged = to_columns(merged_df, alone(table)).collect()
    assert len({row[table.key_column] for row in merged}) == len(merged)
    return {
        row[table.key_column]: {n: in_utc(v) for n, v in row.asDict().items() if n != table.key_column}
        for row in merged
    }


def merge(spark: SparkSession, table: TableSpec, changes: list[Change], rows: dict[int, Row] | None) -> dict[int, Row]:
    return rows_of(merged_of(spark, table, changes, rows), table)


def changes_of(merged_df: DataFrame, table: TableSpec) -> dict[int, tuple[Row | None, Row | None]]:
    """Before and after of every change, by key; each key once."""
    changes: dict[int, tuple[Row | None, Row | None]] = {}
    for row in to_changes(merged_df, alone(table)).collect():
        sides = [row[side] and {n: in_utc(v) for n, v in row[side].asDict().items()} for side in (BEFORE, AFTER)]
        key = next(side[table.key_column] for side in sides if side)
        assert key not in changes
        changes[key] = (sides[0], sides[1])
    return changes


def visible(rows: dict[int, Row], table: TableSpec) -> dict[int, Row]:
    """What readers see of these rows."""
    live = {key: row for key, row in rows.items() if not row.get("is_deleted")}
    return {key: {table.key_column: key} | {name: row[name] for name in table.columns} for key, row in live.items()}


def assert_steps_give_the_fold(spark: SparkSession, name: str, seed: int) -> None:
    """Every step of random histories returns the rows that it changed, and the changes made of them, and no more."""
    rng, table = random.Random(seed), SPEC.table(name)
    histories = [random_history(rng, name, number) for number in range(HISTORIES)]
    seen: list[Change] = []
    rows: dict[int, Row] = {}
    for step in range(3):
        changes = [change for history in histories if step < len(history) for change in history[step]]
        rng.shuffle(changes)
        seen += changes
        expected = fold_changes(seen, name)
        changed = {key: row for key, row in expected.items() if row != rows.get(key)}
        merged_df = merged_of(spark, table, changes, rows if step else None, keep_stored=[name]).cache()
        assert rows_of(merged_df, table) == changed
        before, after = visible(rows, table), visible(expected, table)
        differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert changes_of(merged_df, table) == {key: (before.get(key), after.get(key)) for key in differing}
        assert_kinds(merged_df, [alone(table)], {name: {*map(str, before)}}, {name: {*map(str, after)}})
        merged_df.unpersist()
        rows = expected


@pytest.mark.parametrize("name", ["units", "sales"])
@settings(max_examples=EXAMPLES, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_any_steps_in_any_order_give_the_fold_and_only_what_changed(spark, name, seed):
    assert_steps_give_the_fold(spark, name, seed)


@pytest.mark.slice(name="laws")
@pytest.mark.parametrize("name", ["units", "sales"])
@settings(max_examples=MORE_EXAMPLES, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_more_steps_give_the_fold(spark, name, seed):
    assert_steps_give_the_fold(spark, name, seed)


@pytest.mark.parametrize("name", [pytest.param("units", marks=pytest.mark.slice(name="laws")), "sales"])
def test_the_same_changes_again_change_nothing(spark, name):
    rng, table = random.Random(name), SPEC.table(name)
    changes = [c for number in range(HISTORIES) for step in random_history(rng, name, number) for c in step]
    rows = merge(spark, table, changes, None)
    assert rows == fold_changes(changes, name)
    assert merge(spark, table, changes, rows) == {}
    assert merge(spark, table, rng.choices(changes, k=50), rows) == {}
    assert merge(spark, table, [], rows) == {}


def sale(op: str, order: str, **values: Any) -> Change:
    columns = SPEC.table("sales").columns
    return Change(key=0, op=op, order=order, values=tuple(values.get(column) for column in columns))


STORIES: dict[str, list[list[Change]]] = {
    "deleted": [[sale("c", "1", unit_id=7, agent_id=8)], [sale("d", "2", unit_id=7)]],
    "late change": [[sale("d", "5", unit_id=7)], [sale("c", "3", unit_id=7), sale("u", "4", agent_id=8)]],
    "late deletes": [[sale("c", "1", unit_id=7), sale("u", "5", agent_id=8)], [sale("d", "3")], [sale("d", "2")]],
    "late delete of nothing": [[sale("c", "5", unit_id=7)], [sale("d", "3")], [sale("u", "2", agent_id=8)]],
    "begun again": [[sale("c", "1", unit_id=7, agent_id=8), sale("d", "2")], [sale("c", "3", unit_id=9)]],
}
"""What happens to a sale, step by step; each is a sale of its own, and all are merged at once."""


@pytest.fixture(scope="module")
def returned(spark: SparkSession) -> dict[str, list[Row | None]]:
    """Of each story what each step returned for its sale; None when it left the row alone."""
    table, rows, seen = SPEC.table("sales"), dict[int, Row](), {name: list[Row | None]() for name in STORIES}
    for step in range(max(map(len, STORIES.values()))):
        changes = [
            replace(change, key=key)
            for key, story in enumerate(STORIES.values())
            for change in (story[step] if step < len(story) else ())
        ]
        changed = merge(spark, table, changes, rows)
        rows |= changed
        for key, name in enumerate(STORIES):
            seen[name].append(changed.get(key))
    return seen


def test_a_deleted_row_is_a_tombstone(returned):
    nothing = dict.fromkeys(table_columns(SPEC.table("sales"))[1:])
    assert returned["deleted"][1] == {**nothing, "deleted_order": "2", "is_deleted": True}


def test_an_older_change_that_arrives_after_the_delete_changes_nothing(returned):
    assert returned["late change"][1] is None


def test_an_older_delete_changes_nothing_but_what_it_is_newer_than(returned):
    _, row, last = returned["late deletes"]
    assert row is not None
    assert (row["unit_id"], row["agent_id"], row["deleted_order"]) == (None, 8, "3")
    assert row["is_deleted"] is False
    assert last is None


def test_a_delete_older_than_every_value_is_kept_for_what_comes_later_still(returned):
    _, row, last = returned["late delete of nothing"]
    assert row is not None
    assert (row["unit_id"], row["deleted_order"], row["is_deleted"]) == (7, "3", False)
    assert last is None, "what was set before the delete stays void"


def test_a_newer_change_starts_the_row_afresh(returned):
    row = returned["begun again"][1]
    assert row is not None
    assert (row["unit_id"], row["agent_id"], row["is_deleted"]) == (9, None, False)


def test_what_was_stored_is_kept_for_the_tables_that_need_it(spark):
    sales, units = SPEC.table("sales"), SPEC.table("units")
    spec = replace(SPEC, tables=(units, sales), marts=())
    tables = merged_tables(spec, {})
    width = width_of(tables)
    stored_df = from_columns(stored_of(spark, units, {7: UNIT}), tables[0], width).unionByName(
        from_columns(stored_of(spark, sales, fold_changes([sale("c", "1", unit_id=7)], "sales")), tables[1], width)
    )
    events_df = spark.createDataFrame(
        [("u", "2", 1, 8, None), ("u", "3", None, 7, "new name"), ("u", "4", None, 9, "another")],
        "op string, event_order string, sale_id bigint, unit_id bigint, unit_name string",
    )
    for column in {c for table in spec.tables for c in (*table.key, *table.columns)} - set(events_df.columns):
        events_df = events_df.withColumn(column, F.lit(None).cast(SPEC.columns_by_name[column].sql_type))
    folded_df = fold_events(events_df, tables, width)
    assert STORED not in merge_rows(folded_df, stored_df).columns
    rows = merge_rows(folded_df, stored_df, keep_stored=["units"]).collect()
    kept = {(row["table"], row["key"]): row[STORED] and row[STORED].asDict() for row in rows}
    unit = {"row_order": None, "slot_0": "name", "slot_1": None, "slot_2": "3", "slot_3": None}
    assert kept == {
        ("sales", "1"): None,
        ("units", "7"): {**unit, "slot_4": None, "slot_5": None},
        ("units", "8"): None,
        ("units", "9"): None,
    }


def test_a_row_of_which_only_the_key_is_known_is_a_row(spark):
    table = SPEC.table("units")
    nameless = [Change(key=1, op="c", order="1", values=(None, None, None))]
    rows = merge(spark, table, nameless, {})
    assert rows == {1: dict.fromkeys(table_columns(table)[1:])}
    assert merge(spark, table, nameless, rows) == {}
