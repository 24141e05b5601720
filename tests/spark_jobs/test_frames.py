"""Rows of the driver in a plan are the rows that were given, and no Python on the executors copies them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.frames import collect_together, constant_column, counted_rows, literal_frame, shuffled_into
from spark_jobs.storage.pinned import pinned
from tests.support.job_counts import counting_jobs

SCHEMA = (
    "a_text string, a_number bigint, a_part double, an_amount decimal(38,6), is_so boolean, a_day date, "
    "a_time timestamp, texts array<string>, numbers array<bigint>"
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(-(2**63), 2**63 - 1)
AMOUNT = st.decimals(-(10**31), 10**31, allow_nan=False, places=6)
ZONE = st.integers(-12, 12).map(lambda hours: timezone(timedelta(hours=hours)))
TIME = st.datetimes(datetime.fromisoformat("1900-01-01"), datetime.fromisoformat("2200-01-01"), timezones=ZONE)
VALUES: tuple[st.SearchStrategy[Any], ...] = (
    *(TEXT, NUMBER, st.floats(allow_nan=False), AMOUNT, st.booleans(), st.dates(date(1900, 1, 1)), TIME),
    *(st.lists(st.none() | TEXT, max_size=3), st.lists(st.none() | NUMBER, max_size=3)),
)
ROW = st.tuples(*(st.none() | value for value in VALUES))


@pytest.mark.spark
@settings(max_examples=25, phases=[Phase.generate], deadline=None)
@given(rows=st.lists(ROW, max_size=20))
def test_what_is_read_is_what_was_given(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    frame_df = literal_frame(spark, rows, SCHEMA)
    assert [f"{field.name} {field.dataType.simpleString()}" for field in frame_df.schema] == SCHEMA.split(", ")
    assert [tuple(map(in_utc, row)) for row in frame_df.collect()] == [tuple(map(in_utc, row)) for row in rows]


def in_utc(value: Any) -> Any:
    """Spark gives times of the machine's zone, without one."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


@pytest.mark.spark
def test_amounts_and_infinite_numbers_keep_all_that_they_say(spark: SparkSession) -> None:
    rows = [(Decimal("1E-6"), float("inf")), (Decimal("12345678901234567890123456789012.000001"), -0.0)]
    found = literal_frame(spark, rows, "amount decimal(38,6), part double").collect()
    assert [(row["amount"], f"{row['part']}") for row in found] == [(amount, f"{part}") for amount, part in rows]


@pytest.mark.spark
def test_no_process_of_python_copies_them(spark: SparkSession) -> None:
    plan = literal_frame(spark, [("a",)], "name string")._jdf.queryExecution().toString()
    assert "Generate inline" in plan
    assert "ExistingRDD" not in plan


@pytest.mark.spark
def test_a_row_of_another_width_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        literal_frame(spark, [(1,)], "one int, two int")


@pytest.mark.spark
def test_what_spark_cannot_read_again_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="bytes is no value of a literal row"):
        literal_frame(spark, [(b"a",)], "name string")


NUMBERS = st.lists(st.none() | st.integers(-3, 3), max_size=6)


@pytest.mark.spark
@settings(max_examples=15, phases=[Phase.generate], deadline=None)
@given(numbers=NUMBERS, most=st.integers(0, 6))
def test_rows_are_counted_and_given_when_they_are_few(
    spark: SparkSession, numbers: list[int | None], most: int
) -> None:
    rows_df = literal_frame(spark, [(number, "a") for number in numbers], "number bigint, text string").repartition(3)
    count, rows = counted_rows(rows_df, most)
    assert count == len(numbers)
    if len(numbers) > most:
        assert rows is None
    else:
        assert sorted(map(tuple, rows or ()), key=str) == sorted(((number, "a") for number in numbers), key=str)


@pytest.mark.spark
def test_few_rows_take_one_spark_job(spark: SparkSession) -> None:
    rows_df = literal_frame(spark, [(number,) for number in range(7)], "number bigint").repartition(3).cache()
    with counting_jobs(spark) as jobs:
        assert counted_rows(rows_df, 7)[0] == 7
        assert len(jobs.names()) == 1
    rows_df.unpersist()


@pytest.mark.spark
def test_queries_run_together_give_each_its_rows_in_one_job_that_computes_what_is_pinned_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Columns of one name have other types in each; rows of nulls alone are rows."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (tmp_path / uuid4().hex).touch()
        yield from batches

    numbers_df = spark.range(0, 60, 1, 3).mapInArrow(count, "id bigint")
    with pinned(spark, numbers_df, "numbers") as pinned_df, counting_jobs(spark) as jobs:
        queries = {
            "odd": pinned_df.groupBy((F.col("id") % 2 == 1).alias("id")).agg(F.count("*").alias("n")),
            "most": pinned_df.agg(F.max("id").alias("id"), F.lit(None).cast("timestamp").alias("at")),
            "nulls": pinned_df.agg(
                F.max(F.when(F.col("id") > 99, "a")).alias("n"), F.min(F.lit(None).cast("string")).alias("m")
            ),
            "none": pinned_df.where("id > 99").groupBy("id").agg(F.max("id").alias("n")),
        }
        rows = collect_together(queries)
        assert len(jobs.names()) == 1
    assert sorted(map(tuple, rows["odd"])) == [(False, 30), (True, 30)]
    assert [row.asDict() for row in rows["most"]] == [{"id": 59, "at": None}]
    assert [row.asDict() for row in rows["nulls"]] == [{"n": None, "m": None}]
    assert rows["none"] == []
    assert len([*tmp_path.iterdir()]) == 3, "once for each partition"


@pytest.mark.spark
@pytest.mark.parametrize("values", [(1,), ("a", None), (2**40, 1), (datetime(2026, 1, 2, tzinfo=UTC), None)], ids=str)
def test_values_in_a_query_start_no_spark_job(spark: SparkSession, values: tuple[Any, ...]) -> None:
    with counting_jobs(spark) as jobs:
        found_df = constant_column(spark, values, "at").select(F.col("at"), F.col("at").cast("string").alias("text"))
        assert [in_utc(row["at"]) for row in found_df.collect()] == [*values]
        assert jobs.names() == []


@pytest.mark.spark
def test_shuffles_of_a_block_are_cut_into_more_parts_and_never_into_fewer(spark: SparkSession):
    def parts() -> str | None:
        return spark.conf.get("spark.sql.shuffle.partitions")

    before = parts()
    with shuffled_into(spark, 7):
        assert parts() == "7"
        assert spark.range(100).selectExpr("id % 10 AS n").groupBy("n").count().rdd.getNumPartitions() == 7
        with shuffled_into(spark, 3):
            assert parts() == "7"
        with pytest.raises(KeyError), shuffled_into(spark, 9):
            raise KeyError
        assert parts() == "7"
    assert parts() == before
