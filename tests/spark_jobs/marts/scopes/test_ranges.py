"""Which ranges of a table a scoped mart reads: those of its scopes, when the table was committed in just these ranges.

A lake with ``orders`` in ranges of ten ids, made by hand: its commits say by which definition they are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec
from spark_jobs.marts.definitions import DECLARED
from spark_jobs.marts.scopes import SCOPE, Scopes, ranges_of
from spark_jobs.marts.sources import Source
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.options import METADATA_PREFIX
from tests.support.made_tables import MadeTable
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = pytest.mark.spark

ORDERS = {"name": "orders", "key": ["Id"], "partition": "Id", "transform": "truncate", "width": 10}
IDS = [5, 12, 13, None, -1]
RANGES = ["-9999999999999999990", f"{0:019d}", f"{10:019d}", "unknown"]


def ranges(spark: SparkSession, folder: Path, *, now: dict[str, Any], stored: str, scope: str) -> Any:
    lake: ShopLake = make_shop_lake(spark, folder, [now])
    spec, settings = load_lake_spec(lake.spec), Settings(base_path=str(folder / "lake"))
    made = MadeTable(table_layout(spec.tables[0]), Path(settings.table_path("orders")))
    made.commits(1, extraMetadata={METADATA_PREFIX + DECLARED: json.dumps({"partition": stored})} if stored else {})
    read = ReadSpec(table="orders", scope=scope)
    mart = MartSpec(name="m", layer="l", mode=MartMode.SCOPED, grain=("id",), scope="id", sql="", reads=(read,))
    source = Source.plan(read, BEGINNING, spec=spec, settings=settings)
    scopes_df = spark.createDataFrame([(id_,) for id_ in IDS], f"{SCOPE} bigint")
    return ranges_of(Scopes(rows_df=scopes_df, count=len(IDS), few=tuple(IDS)), source, mart, spec)


def test_the_ranges_of_the_scopes_alone_are_read(spark: SparkSession, tmp_path: Path):
    assert ranges(spark, tmp_path, now=ORDERS, stored="Id by truncate[10]", scope="id") == RANGES


@pytest.mark.parametrize(
    ("now", "stored", "scope"),
    [
        (ORDERS, "Id by truncate[100]", "id"),
        (ORDERS, "", "id"),
        (ORDERS, "Id by truncate[10]", "id + 1"),
        ({"name": "orders", "key": ["Id"], "partition": "Id"}, "Id by value", "id"),
    ],
)
def test_all_of_it_is_read_when_the_rows_may_be_elsewhere(
    spark: SparkSession, tmp_path: Path, now: dict[str, Any], stored: str, scope: str
):
    """Before a rebuild its rows are in the ranges of before; a scope that is not the column is in any."""
    assert ranges(spark, tmp_path, now=now, stored=stored, scope=scope) is None
