"""Events that an earlier release read have an id without connector and database; they are known by either.

ERP_A was read by that release, ERP_B was not.
"""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.pipelines import known_events
from spark_jobs.pipelines.known_events import with_former_ids, without_known
from spark_jobs.sources.decoding import decoded_schema
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
A, B = "sqlserver/erp/ERP_A/dbo.SALES", "sqlserver/erp/ERP_B/dbo.SALES"


@pytest.mark.spark
def test_records_of_origins_of_then_have_both_ids(spark: Any):
    columns = [part.split()[0] for part in decoded_schema(SPEC).split(", ")]
    made = [
        {"event_id": f"erp.dbo.SALES:1-a@sqlserver/{origin.split('/')[2]}", "source_origin": origin, "read_offset": 7}
        for origin in (A, B)
    ]
    decoded_df = spark.createDataFrame([tuple(row.get(name) for name in columns) for row in made], decoded_schema(SPEC))
    assert with_former_ids(decoded_df, ()) is decoded_df
    rows = with_former_ids(decoded_df, (A,)).select("event_id", "source_origin", "read_offset").collect()
    assert sorted(map(tuple, rows)) == [
        ("erp.dbo.SALES:1-a", A, 7),
        ("erp.dbo.SALES:1-a@sqlserver/ERP_A", A, 7),
        ("erp.dbo.SALES:1-a@sqlserver/ERP_B", B, 7),
    ]


@pytest.mark.spark
@pytest.mark.parametrize("most", [2, 1, 0], ids=["few", "many", "none are few"])
def test_rows_of_known_events_are_left_out_however_many_there_are(spark: Any, monkeypatch: Any, most: int):
    monkeypatch.setattr(known_events, "_MOST_LITERALS", most)
    rows_df = literal_frame(spark, [("a", 1), ("b", 2), ("a", 3), ("c", 4)], "event_id string, n int")
    for known, left in ((("a", "x"), [2, 4]), (("b",), [1, 3, 4]), ((), [1, 2, 3, 4])):
        known_df = literal_frame(spark, [(each,) for each in known], "event_id string")
        left_df, count = without_known(rows_df, known_df)
        assert (sorted(row["n"] for row in left_df.collect()), count) == (left, len(known))
