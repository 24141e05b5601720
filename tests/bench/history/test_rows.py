"""The rows of a small history: its tables are what the product makes of its events, by one fold of them all."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from bench.arrivals import CORRECTIONS, ROUND_EVENTS, corrections, round_events
from bench.history import EVENTS_A_SALE, month_start
from bench.stitch_peers import SALE_COLUMNS, newest_sales
from tests.support.small_histories import HISTORY, SPEC, folded

pytestmark = pytest.mark.spark

MONTH = 7


def as_set(rows_df, *columns):
    rows = [tuple(row) for row in rows_df.select(*columns).collect()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def test_log_has_the_lakes_columns_and_five_events_a_sale(log_df):
    assert tuple(log_df.columns) == SPEC.log_columns
    assert {c.name: c.sql_type for c in SPEC.source.columns}.items() <= dict(log_df.dtypes).items()
    assert log_df.count() == pytest.approx(HISTORY.sales * EVENTS_A_SALE, rel=0.05)
    assert log_df.select("event_id").distinct().count() == log_df.count()
    assert log_df.where(F.col("event_time") >= month_start(24)).isEmpty()


def test_about_a_quarter_of_the_sales_are_signed_and_one_in_a_hundred_deleted(spark):
    sales_df = HISTORY.sales_rows(spark)
    assert sales_df.count() == HISTORY.sales
    assert sales_df.where("contract_signing_date IS NOT NULL").count() == pytest.approx(HISTORY.sales / 4, rel=0.2)
    assert 0 < sales_df.where("is_deleted").count() < HISTORY.sales / 40


def test_sales_are_the_fold_of_the_events(spark, log_df):
    sales_df, folded_df = HISTORY.sales_rows(spark), folded(log_df, "sales")
    assert sales_df.dtypes == folded_df.dtypes
    assert as_set(sales_df, *folded_df.columns) == as_set(folded_df, *folded_df.columns)


def test_units_are_the_fold_of_the_events_but_for_orders(spark, log_df):
    columns = ("unit_id", *SPEC.table("units").columns)
    units_df, folded_df = HISTORY.units_rows(spark), folded(log_df, "units")
    assert units_df.dtypes == folded_df.dtypes
    assert as_set(folded_df, *columns) <= as_set(units_df, *columns)


def test_arrivals_are_newer_than_the_history(spark, log_df):
    newest = log_df.agg(F.max("event_order")).first()[0]
    arriving_df = round_events(spark, HISTORY, 0)
    assert arriving_df.dtypes == log_df.dtypes
    assert arriving_df.select("event_id").distinct().count() == ROUND_EVENTS
    assert arriving_df.where(F.col("event_order") <= newest).isEmpty()
    assert {row[0] for row in arriving_df.select("op").distinct().collect()} == {"c", "u", "d"}


def test_corrections_are_of_sales_of_one_month(spark, log_df):
    found_df = corrections(spark, HISTORY, 0, MONTH)
    assert found_df.count() == CORRECTIONS
    opened_df = log_df.groupBy("sale_id").agg(F.min("event_time").alias("opened_at"))
    months_df = found_df.join(opened_df, "sale_id").select(F.date_format("opened_at", "yyyy-MM")).distinct()
    assert [row[0] for row in months_df.collect()] == [f"{month_start(MONTH):%Y-%m}"]


def test_newest_sales_are_those_of_the_product(spark, log_df):
    """The events have sales that were deleted, and some that came back in a round."""
    events_df = log_df.unionByName(round_events(spark, HISTORY, 0)).unionByName(round_events(spark, HISTORY, 1))
    expected_df, found_df = folded(events_df, "sales"), newest_sales(events_df, SALE_COLUMNS)
    assert not found_df.where("was_deleted AND NOT is_deleted").isEmpty()
    columns = ("sale_id", *SALE_COLUMNS, "is_deleted")
    assert as_set(found_df, *columns) == as_set(expected_df, *columns)
