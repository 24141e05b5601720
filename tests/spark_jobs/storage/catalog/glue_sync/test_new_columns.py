"""A column that is added at the source: in the table, in Glue (moto's server) and among what is expected, by itself.

The lake's spec names the tables ``orders`` and ``carts`` and none of their columns. It is the same before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.results import JobResult
from tests.support.contexts import context_of, run_in
from tests.support.glue_api import GlueApi, running_glue
from tests.support.mirrors import TYPES, change, decimal_field, packed
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(900)]

BEFORE = {"id": TYPES["bigint"], "total": decimal_field(10, 2)}
AFTER = {**BEFORE, "total": decimal_field(12, 2), "paidAt": TYPES["timestamp"]}
MIRRORS: list[dict[str, Any]] = [
    {"name": "orders", "key": ["id"]},
    {"name": "carts", "key": ["id"], "type": "copy_on_write", "deletes": "remove"},
]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[GlueApi]:
    with running_glue() as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        yield api


def run_sync(lake: ShopLake) -> JobResult:
    return run_in(context_of("sync", replace(lake.settings, catalog="glue"), action="apply"))


def catalog() -> dict[str, dict[str, str]]:
    """Of each table in the catalog, the types of the source's columns."""
    found = boto3.client("glue").get_tables(DatabaseName="shop")["TableList"]
    ours = {"id", "total", "paid_at"}
    columns = {each["Name"]: each["StorageDescriptor"]["Columns"] for each in found}
    return {name: {c["Name"]: c["Type"] for c in of if c["Name"] in ours} for name, of in columns.items()}


def results(lake: ShopLake) -> set[tuple[str, str]]:
    """Tables and expectations of which there is a result."""
    return {(row["table_name"], row["expectation"]) for row in lake.rows("shop_quality")}


@pytest.mark.slice(name="tables")
def test_a_column_at_the_source_is_in_table_catalog_and_suite_by_itself(
    spark: SparkSession, tmp_path: Path, api: GlueApi
):
    lake, tables = make_shop_lake(spark, tmp_path, MIRRORS), ("orders", "carts")
    row = {"id": 1, "total": packed(100)}
    lake.deliver("one", [change("c", table, row, 1, fields=BEFORE) for table in tables])
    lake.run("split")
    run_sync(lake)
    lake.run("validate", tables="", increment=False)
    declared = Path(lake.spec).read_bytes()
    first = {"id": "bigint", "total": "decimal(10,2)"}
    assert [catalog()[name] for name in ("orders_ro", "orders_rt", "carts")] == [first] * 3
    assert not any("paid_at" in name for _, name in results(lake))

    more = {"id": 2, "total": packed(10**11), "paidAt": 1_700_000_000_000_000}
    lake.deliver("two", [change("c", table, more, 2, fields=AFTER) for table in tables])
    lake.run("split")
    messages = run_sync(lake).messages
    done = lake.run("validate", tables="", increment=False)

    paid = {key: row["paid_at"] for key, row in lake.live("orders", key=("id",)).items()}
    assert paid == {(1,): None, (2,): datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)}
    now = {"id": "bigint", "total": "decimal(12,2)", "paid_at": "timestamp"}
    assert [catalog()[name] for name in ("orders_ro", "orders_rt", "carts")] == [now] * 3
    assert any("paid_at" in line for line in messages)
    assert {(table, "paid_at_nulls_as_usual") for table in tables} <= results(lake)
    assert done.counters["broken"] == 0
    assert Path(lake.spec).read_bytes() == declared
