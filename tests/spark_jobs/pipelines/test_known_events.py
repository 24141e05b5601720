"""Events that an earlier release read have an id without connector and database; they are known by either.

ERP_A was read by that release, ERP_B was not.
"""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.known_events import with_former_ids
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
