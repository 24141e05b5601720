"""Events that are in the log and are read once more: what they gain, and when they are left as they are.

Stored are five events of sale, agent and note; each is read again with a note or with something beside the columns.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.transforms.supplement import richer_rows

pytestmark = pytest.mark.spark

SCHEMA = (
    "event_id string, agent bigint, note string, source_table string, row_types map<string,string>, "
    "row_values map<string,string>, row_unknown array<string>, ingest_time string"
)
BESIDE = ({"Vip": "x:int"}, {"Vip": "1"})
NONE = (None, None)


def test_an_event_gains_what_it_lacks_and_loses_nothing(spark: SparkSession) -> None:
    stored = [
        ("gains a column", 1, None, None, *NONE, None, "then"),
        ("gains what is beside", 1, "n", None, *NONE, None, "then"),
        ("has it all", 1, "n", None, *BESIDE, None, "then"),
        ("is another now", 0, None, None, *NONE, None, "then"),
        ("of a table", None, None, "shop.orders", {"id": "int"}, {"id": "1"}, None, "then"),
        ("not read again", 1, None, None, *NONE, None, "then"),
    ]
    read = [
        ("gains a column", 1, "new", None, *NONE, None, "now"),
        ("gains what is beside", 1, "n", None, *BESIDE, ["x"], "now"),
        ("has it all", 1, "n", None, {"Vip": "x:int"}, {"Vip": "2"}, None, "now"),
        ("is another now", 1, "new", None, *BESIDE, None, "now"),
        ("of a table", None, None, "shop.orders", {"id": "int"}, {"id": "1"}, None, "now"),
        ("not in the log", 1, "new", None, *NONE, None, "now"),
    ]
    read_df = spark.createDataFrame(read, SCHEMA)
    for without in ((), ("row_types", "row_values", "row_unknown")):
        stored_df = spark.createDataFrame(stored, SCHEMA).drop(*without)
        richer_df = richer_rows(stored_df, read_df, ["agent", "note"])
        assert richer_df.columns == read_df.columns
        rows = {row["event_id"]: tuple(row)[1:] for row in richer_df.collect()}
        if without:
            del rows["has it all"]
        assert rows == {
            "gains a column": (1, "new", None, None, None, None, "now"),
            "gains what is beside": (1, "n", None, *BESIDE, ["x"], "now"),
        }
