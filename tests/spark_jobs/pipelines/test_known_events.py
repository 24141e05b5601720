"""Events that an earlier release read have an id without connector and database; they are known by either.

ERP_A was read by that release, ERP_B was not.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import counted_rows, literal_frame
from spark_jobs.pipelines import known_events
from spark_jobs.pipelines.known_events import order_ranges, with_former_ids, without_known
from spark_jobs.sources.decoding import decoded_schema
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.timeline import Timeline
from tests.support.job_counts import counting_jobs
from tests.support.made_tables import MadeTable, at

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


FIRST, SECOND, LATER = "2026-03-01", "2026-03-02", "2026-03-09"


@pytest.fixture
def log_timeline(tmp_path: Path) -> Timeline:
    """A log of two days, in files as Hudi names them: a writer died while it added ``dead``."""
    made = MadeTable(log_layout(SPEC), tmp_path / "log").commits(10, 20, action="commit").pending(30, "commit")
    with (tmp_path / "log/.hoodie/hoodie.properties").open("a") as file:
        file.write("hoodie.datasource.write.hive_style_partitioning=true\n")
    stored = {(FIRST, 10): ["a", "b"], (FIRST, 20): ["c"], (SECOND, 20): ["d", "e"], (FIRST, 30): ["dead"]}
    for number, ((day, instant), ids) in enumerate(stored.items()):
        made.base(f"f{number}", instant, partition=f"event_date={day}")
        columns = {"event_id": ids, "op": ["c"] * len(ids), "event_order": [f"order of {each}" for each in ids]}
        path = tmp_path / "log" / f"event_date={day}" / f"f{number}_0-1-2_{at(instant)}.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return Timeline(table="log", path=str(tmp_path / "log"))


def facts_of_days(days: dict[str, tuple[str, str]]) -> Any:
    return SimpleNamespace(days={day: tuple(f"order of {each}" for each in of) for day, of in days.items()})


@pytest.mark.spark
@pytest.mark.parametrize("sorted_bytes", [10**6, 0], ids=["sorted", "sent to all tasks"])
def test_what_the_log_has_is_found_in_its_files(spark: Any, log_timeline: Timeline, monkeypatch, sorted_bytes: int):
    """Of the days of the batch and near its orders, once, without what was not committed."""
    monkeypatch.setattr(known_events, "_SORTED_BYTES", sorted_bytes)
    rows = [(each, reason) for each in ("b", "b", "c", "d", "dead", "new") for reason in (None, "not_json")]
    decoded_df = literal_frame(spark, [*rows, ("e", "not_json")], "event_id string, reason string")
    for days, wanted in (
        ({FIRST: ("a", "c"), SECOND: ("d", "new")}, ["b", "c", "d"]),
        ({FIRST: ("a", "new")}, ["b", "c"]),
        ({FIRST: ("c", "c"), SECOND: ("e", "e")}, ["c"]),
        ({SECOND: ("d", "d"), LATER: ("new", "new")}, ["d"]),
    ):
        known_df = known_events.known_events(spark, log_timeline, decoded_df, facts_of_days(days))
        assert known_df is not None
        assert sorted(row["event_id"] for row in known_df.collect()) == wanted


@pytest.mark.spark
def test_what_the_log_has_takes_one_spark_job_and_of_days_without_rows_none(spark: Any, log_timeline: Timeline):
    decoded_df = literal_frame(spark, [("b", None), ("new", None)], "event_id string, reason string")
    with counting_jobs(spark) as jobs:
        known_df = known_events.known_events(spark, log_timeline, decoded_df, facts_of_days({FIRST: ("a", "new")}))
        assert known_df is not None
        assert counted_rows(known_df, 5)[0] == 1
        assert len(jobs.names()) == 1
        days = facts_of_days({LATER: ("new", "new")})
        assert known_events.known_events(spark, log_timeline, decoded_df, days) is None
