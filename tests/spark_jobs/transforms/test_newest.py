"""Laws 1 and 3 on the pure merge: 2,100 random histories of a dimension and as many of sales, against a plain fold.

What is stored goes the way it goes in the lake: typed rows of the table, keyed rows, packed and unpacked. Each example
puts three hundred histories (see tests.support.folds), with keys of their own, into one DataFrame. They come in up to
three steps; what a step changes is stored and goes into the next one. After every step the merge must return exactly
the rows that differ from what is stored: no more, no less, nothing twice.
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

from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.specs import TableSpec
from spark_jobs.transforms.newest import fold_events, from_table, merge_rows, slot_names, table_columns, to_table
from spark_jobs.transforms.packed import pack_rows, unpack_rows
from tests.support.folds import Change, Row, fold_changes, random_history
from tests.support.lakes import in_utc

pytestmark = pytest.mark.spark

SPEC = load_lake_spec(Settings().lake_spec)
HISTORIES, EXAMPLES = 300, 7


def events_of(spark: SparkSession, table: TableSpec, changes: Iterable[Change]) -> DataFrame:
    columns = ", ".join(f"{name} {SPEC.columns_by_name[name].sql_type}" for name in (table.key, *table.columns))
    rows = [(change.op, change.order, change.key, *change.values) for change in changes]
    return spark.createDataFrame(rows, f"op string, event_order string, {columns}")


def stored_of(spark: SparkSession, table: TableSpec, rows: dict[int, Row]) -> DataFrame:
    types = {name: SPEC.columns_by_name[name].sql_type for name in (table.key, *table.columns)}
    types["is_deleted"] = "boolean"
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in table_columns(table))
    names = table_columns(table)[1:]
    return spark.createDataFrame([(key, *(row[name] for name in names)) for key, row in rows.items()], schema)


def merge(spark: SparkSession, table: TableSpec, changes: list[Change], rows: dict[int, Row] | None) -> dict[int, Row]:
    """Rows that the merge returns, by key; each key once."""
    spec = replace(SPEC, tables=(table,), marts=())
    stored_df = None
    if rows is not None:
        packed_df = pack_rows(from_table(stored_of(spark, table, rows), table, spec))
        stored_df = unpack_rows(packed_df, slot_names(spec))
    merged_df = merge_rows(fold_events(events_of(spark, table, changes), spec), stored_df)
    merged = to_table(merged_df, table, spec).collect()
    assert len({row[table.key] for row in merged}) == len(merged)
    return {row[table.key]: {n: in_utc(v) for n, v in row.asDict().items() if n != table.key} for row in merged}


@pytest.mark.parametrize("name", ["units", "sales"])
@settings(max_examples=EXAMPLES, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_any_steps_in_any_order_give_the_fold_and_only_what_changed(spark, name, seed):
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
        assert merge(spark, table, changes, rows if step else None) == changed
        rows = expected


@pytest.mark.parametrize("name", ["units", "sales"])
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
    return Change(key=1, op=op, order=order, values=tuple(values.get(column) for column in columns))


def steps_of_sale(spark: SparkSession, *steps: list[Change]) -> list[Row | None]:
    """What each step returned for sale 1; None when it left the row alone."""
    table, rows, seen = SPEC.table("sales"), dict[int, Row](), []
    for step in steps:
        changed = merge(spark, table, step, rows)
        rows |= changed
        seen.append(changed.get(1))
    return seen


def test_a_deleted_row_is_a_tombstone(spark):
    rows = steps_of_sale(spark, [sale("c", "1", unit_id=7, agent_id=8)], [sale("d", "2", unit_id=7)])
    nothing = dict.fromkeys(table_columns(SPEC.table("sales"))[1:])
    assert rows[1] == {**nothing, "deleted_order": "2", "is_deleted": True}


def test_an_older_change_that_arrives_after_the_delete_changes_nothing(spark):
    rows = steps_of_sale(spark, [sale("d", "5", unit_id=7)], [sale("c", "3", unit_id=7), sale("u", "4", agent_id=8)])
    assert rows[1] is None


def test_an_older_delete_changes_nothing_but_what_it_is_newer_than(spark):
    rows = steps_of_sale(
        spark, [sale("c", "1", unit_id=7), sale("u", "5", agent_id=8)], [sale("d", "3")], [sale("d", "2")]
    )
    assert rows[1] is not None
    assert (rows[1]["unit_id"], rows[1]["agent_id"], rows[1]["deleted_order"]) == (None, 8, "3")
    assert rows[1]["is_deleted"] is False
    assert rows[2] is None


def test_a_newer_change_starts_the_row_afresh(spark):
    rows = steps_of_sale(spark, [sale("c", "1", unit_id=7, agent_id=8), sale("d", "2")], [sale("c", "3", unit_id=9)])
    assert rows[1] is not None
    assert (rows[1]["unit_id"], rows[1]["agent_id"], rows[1]["is_deleted"]) == (9, None, False)


def test_a_row_of_which_only_the_key_is_known_is_a_row(spark):
    table = SPEC.table("units")
    nameless = [Change(key=1, op="c", order="1", values=(None, None, None))]
    rows = merge(spark, table, nameless, {})
    assert rows == {1: dict.fromkeys(table_columns(table)[1:])}
    assert merge(spark, table, nameless, rows) == {}
