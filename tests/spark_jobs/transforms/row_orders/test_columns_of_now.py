"""Stored rows of a table whose columns have other names and types now."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.transforms.keyed_rows import MergedTable
from spark_jobs.transforms.row_orders import with_columns_of

pytestmark = pytest.mark.spark

ORDERS = TableSpec(name="orders", database="shop", table="orders", key=("Id",))


def test_stored_rows_get_the_names_and_types_of_now_of_every_column(spark):
    """``total`` and ``day`` were renamed and widened, ``Name`` renamed alone; one that was not written is not there."""
    written = {"Id": "id", "Name": "name", "total": "total", "day": "day"}
    now = MergedTable(
        spec=ORDERS,
        columns=(
            Column(source="Id", name="id", type="decimal(19,0)", added="1", since="1"),
            Column(source="Name", name="full_name", type="string", added="1", since="1"),
            Column(source="total", name="amount", type="decimal(12,4)", added="1", since="1"),
            Column(source="day", name="paid_on", type="date", added="1", since="1"),
            Column(source="note", name="note", type="string", added="2", since="2"),
        ),
    )
    rows_df = spark.createDataFrame(
        [("7", 7, "Ann", Decimal("1.10"), date(2026, 1, 1), "050-a", False)],
        "row_key string, id bigint, name string, total decimal(10,2), day date, row_order string, is_deleted boolean",
    )
    found_df = with_columns_of(rows_df, now, written)
    assert [(each.name, each.dataType.simpleString()) for each in found_df.schema.fields] == [
        ("row_key", "string"),
        ("id", "decimal(19,0)"),
        ("full_name", "string"),
        ("amount", "decimal(12,4)"),
        ("paid_on", "date"),
        ("row_order", "string"),
        ("is_deleted", "boolean"),
    ]
    (row,) = found_df.collect()
    assert tuple(row) == ("7", Decimal(7), "Ann", Decimal("1.1000"), date(2026, 1, 1), "050-a", False)
