"""Which rows events are about: of the code "a" and of none, and of tables whose key is a text, alone or beside another.

An empty text alone is no key of a row, in a table of the wide log or of one at the source; as a part of a key it is.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake_spec.schemas import Column, TableSchema
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.spec_files.spec_file import parse_lake_spec
from spark_jobs.transforms.folding import fold_events, select_events
from spark_jobs.transforms.keyed_rows import KEY, TABLE, width_of

pytestmark = pytest.mark.spark

FROM = {"database": "shop", "table": "things"}
SPEC = parse_lake_spec(
    {
        "lake": "things",
        "source": {
            "topics": ["THINGS"],
            "key": "id",
            "columns": [
                {"name": name, "source": name, "type": type_} for name, type_ in (("id", "bigint"), ("code", "string"))
            ],
        },
        "log": "log",
        "quarantine": "bad",
        "tables": [
            {"name": "wide", "key": "code", "columns": ["id"]},
            {"name": "by_id", "key": ["id"], "from": FROM, "deletes": "tombstone"},
            {"name": "by_code", "key": ["code"], "from": FROM, "deletes": "ignore"},
            {"name": "by_both", "key": ["id", "code"], "from": FROM, "deletes": "ignore"},
        ],
    }
)
COLUMNS = tuple(
    Column(source=name, name=name, type=type_, added="", since="")
    for name, type_ in (("id", "bigint"), ("code", "string"))
)
TABLES = merged_tables(SPEC, {"shop.things": TableSchema(columns=COLUMNS)})
SCHEMA = (
    "op string, event_order string, source_table string, row_types map<string,string>, "
    "row_values map<string,string>, row_unknown array<string>, id bigint, code string"
)


def test_an_empty_text_is_a_key_only_beside_another_column(spark: SparkSession):
    codes = ("a", "", None)
    wide = [("u", f"w{code}", None, None, None, None, 1, code) for code in codes]
    own: list[tuple[Any, ...]] = [
        ("u", f"m{code}", "shop.things", {}, {"id": "1", "code": code}, None, None, None) for code in codes
    ]
    events_df = select_events(spark.createDataFrame([*wide, *own], SCHEMA), TABLES)
    rows = fold_events(events_df, TABLES, width_of(TABLES)).select(TABLE, KEY).collect()
    assert sorted((row[TABLE], row[KEY]) for row in rows) == [
        ("by_both", '["1",""]'),
        ("by_both", '["1","a"]'),
        ("by_code", "a"),
        ("by_id", "1"),
        ("wide", "a"),
    ]
