"""Iceberg's part of a day does what the product does: a small history folded whole, and in two halves merged by SQL.

The halves are by a hash, so that deletes come before what they delete.
"""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from bench.day_iceberg import fold_with_deletes, merge_statement, merged_values
from spark_jobs.transforms.column_orders import table_columns
from tests.support.small_histories import SPEC, folded

pytestmark = pytest.mark.spark


def rows_of(rows_df, table):
    return sorted(map(repr, rows_df.select(*table_columns(table)).collect()))


@pytest.mark.parametrize("name", ["sales", "agents"])
def test_folded_and_merged_rows_are_those_of_the_product(spark, log_df, name):
    table = SPEC.table(name)
    expected = rows_of(folded(log_df, name), table)
    assert rows_of(fold_with_deletes(log_df, table), table) == expected
    is_first = F.xxhash64("event_order") % 2 == 0
    fold_with_deletes(log_df.where(is_first), table).createOrReplaceTempView("day_t")
    fold_with_deletes(log_df.where(~is_first), table).createOrReplaceTempView("day_s")
    key, columns = table.key_column, [f"{value} AS {column}" for column, value in merged_values(table)]
    both_df = spark.sql(f"SELECT t.{key}, {', '.join(columns)} FROM day_t t JOIN day_s s ON t.{key} = s.{key}")
    alone = [f"SELECT * FROM day_{a} LEFT ANTI JOIN day_{b} USING ({key})" for a, b in ("ts", "st")]
    all_df = both_df
    for text in alone:
        all_df = all_df.unionByName(spark.sql(text).select(*both_df.columns))
    assert rows_of(all_df, table) == expected


def test_a_row_that_nothing_newer_is_known_of_is_left_alone():
    statement = merge_statement("day.agents", "folded", SPEC.table("agents"))
    assert "WHEN MATCHED AND (s.agent_name_order > coalesce(t.agent_name_order, '')) THEN UPDATE" in statement
