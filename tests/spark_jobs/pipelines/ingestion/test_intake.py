"""How the rows of a batch are placed in files of the log."""

from __future__ import annotations

from itertools import chain, pairwise

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.pipelines.ingestion import intake
from spark_jobs.pipelines.ingestion.intake import in_files

pytestmark = pytest.mark.spark

LARGE, SMALL = "2026-01-01", "2026-01-02"


@pytest.fixture
def rows_df(spark: SparkSession) -> DataFrame:
    """90 events of one day, each twice, and 3 of another, in no order."""
    numbers = [number * 37 % 90 for number in range(180)]
    rows = [(LARGE, f"{number:04}", f"event {number}") for number in numbers]
    rows += [(SMALL, f"{number:04}", f"late {number}") for number in (2, 1, 3)]
    return literal_frame(spark, rows, "event_date string, event_order string, event_id string").repartition(3)


def files_of(placed_df: DataFrame) -> dict[tuple[int, str], list[str]]:
    """Event orders by task and day, as they are written."""
    found: dict[tuple[int, str], list[str]] = {}
    for row in placed_df.select(F.spark_partition_id().alias("task"), "event_date", "event_order").collect():
        found.setdefault((row["task"], row["event_date"]), []).append(row["event_order"])
    return found


def test_a_day_is_one_file(rows_df: DataFrame) -> None:
    for records in (None, {LARGE: 180, SMALL: 3}):
        files = files_of(in_files(rows_df, Settings(), day_records=records, has_repeats=True))
        assert sorted(day for _, day in files) == [LARGE, SMALL]
        assert {day: orders for (_, day), orders in files.items()} == {
            LARGE: [f"{number:04}" for number in range(90)],
            SMALL: ["0001", "0002", "0003"],
        }


def test_a_large_day_is_cut_by_event_order(rows_df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MOST_RECORDS", 50)
    files = files_of(in_files(rows_df, Settings(), day_records={LARGE: 180, SMALL: 3}, has_repeats=True))
    assert {day for _, day in files} == {LARGE, SMALL}
    parts = sorted(orders for (_, day), orders in files.items() if day == LARGE)
    assert 4 <= len(parts) <= 5
    assert [*chain.from_iterable(parts)] == [f"{number:04}" for number in range(90)], "each once and in order"
    assert all(before[-1] < after[0] for before, after in pairwise(parts))
    assert max(map(len, parts)) < 45


def test_of_repeats_one_stays_whole_and_events_of_one_order_are_two(spark: SparkSession) -> None:
    """Of one event whatever else its columns have is of one of its rows; ids tell events of one order apart."""
    rows = [(LARGE, "1", "a", 1, "one"), (LARGE, "1", "b", 2, "two"), (LARGE, "1", "a", None, "three")]
    schema = "event_date string, event_order string, event_id string, number int, texts string"
    rows_df = literal_frame(spark, rows, schema).selectExpr("map(texts, 1) AS counted", "*")
    placed_df = in_files(rows_df, Settings(), has_repeats=True)
    assert placed_df.schema.simpleString() == rows_df.schema.simpleString()
    found = {row["event_id"]: (row["number"], row["texts"], row["counted"]) for row in placed_df.collect()}
    assert found["b"] == (2, "two", {"two": 1})
    assert found["a"] in ((1, "one", {"one": 1}), (None, "three", {"three": 1}))
    assert len(found) == placed_df.count() == 2


@pytest.mark.parametrize(("records", "tasks"), [(4_000, 2), (40_000, 2), (200_000, 10)])
def test_a_large_batch_of_many_days_has_more_tasks(spark: SparkSession, records: int, tasks: int) -> None:
    days = {f"2026-01-{day:02}": records // 10 for day in range(1, 11)}
    schema = "event_date string, event_order string, event_id string"
    rows_df = literal_frame(spark, [(day, "1", "a") for day in days], schema)
    placed_df = in_files(rows_df, Settings(shuffle_partitions=2), day_records=days)
    assert placed_df.rdd.getNumPartitions() == tasks
    assert len(files_of(placed_df)) == 10


def test_repeats_are_kept_where_none_are_expected(rows_df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MOST_RECORDS", 50)
    files = files_of(in_files(rows_df, Settings(), day_records={LARGE: 180, SMALL: 3}))
    assert sum(map(len, files.values())) == 183
