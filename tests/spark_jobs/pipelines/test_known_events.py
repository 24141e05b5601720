"""Events that an earlier release read have an id without connector and database; they are known by either.

ERP_A was read by that release, ERP_B was not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.pipelines import known_events
from spark_jobs.pipelines.known_events import order_ranges, with_former_ids, without_known
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


DAYS = st.dictionaries(
    st.integers(0, 40).map(lambda day: f"2026-03-{day:02}"),
    st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda pair: (f"{min(pair):02}", f"{max(pair):02}")),
)


@given(DAYS)
def test_ranges_have_every_order_of_the_batch_and_little_else(days: dict[str, tuple[str, str]]):
    ranges = order_ranges(days)
    assert all(any(first <= one and other <= last for first, last in ranges) for one, other in days.values())
    assert all(before[1] < after[0] for before, after in pairwise(ranges)), "in their order, none twice"
    assert len(ranges) <= 20
    if len(days) <= 20:
        held = {f"{order:02}" for first, last in days.values() for order in range(int(first), int(last) + 1)}
        assert all(f"{order:02}" in held for first, last in ranges for order in range(int(first), int(last) + 1))


@pytest.mark.spark
@pytest.mark.parametrize("most", [2, 1, 0], ids=["few", "many", "none are few"])
def test_rows_of_known_events_are_left_out_however_many_there_are(spark: Any, monkeypatch: Any, most: int):
    monkeypatch.setattr(known_events, "_MOST_LITERALS", most)
    rows_df = literal_frame(spark, [("a", 1), ("b", 2), ("a", 3), ("c", 4)], "event_id string, n int")
    for known, left in ((("a", "x"), [2, 4]), (("b",), [1, 3, 4]), ((), [1, 2, 3, 4])):
        known_df = literal_frame(spark, [(each,) for each in known], "event_id string")
        left_df, count = without_known(rows_df, known_df)
        assert (sorted(row["n"] for row in left_df.collect()), count) == (left, len(known))
