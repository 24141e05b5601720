"""Exports as files, read back by pyarrow, which shares nothing with Spark.

Ten rows in three partitions: their number, a text with a line end in it, and a moment with microseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import ExportFormat, csv_header, parse_target
from spark_jobs.storage.exports import ExportCounts, write_export
from spark_jobs.transforms.csv_lines import to_csv_lines

pytestmark = pytest.mark.spark

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ROWS = [{"n": n, "text": f'{n}\n"', "moment": MOMENT + timedelta(microseconds=n)} for n in range(10)]


def rows_df(spark: SparkSession, count: int = 10) -> DataFrame:
    micros = int(MOMENT.timestamp()) * 1_000_000 + MOMENT.microsecond
    return (
        spark.range(0, 10, 1, 3)
        .where(F.col("id") < count)
        .select(
            F.col("id").alias("n"),
            F.concat(F.col("id").cast("string"), F.lit('\n"')).alias("text"),
            F.timestamp_micros(F.col("id") + F.lit(micros)).alias("moment"),
        )
    )


def export(spark: SparkSession, frame_df: DataFrame, path: str, **options: Any) -> ExportCounts:
    target, header = parse_target(path, **options), csv_header(frame_df.columns)
    if target.format is ExportFormat.CSV:
        frame_df = to_csv_lines(frame_df if target.is_folder else frame_df.coalesce(1))
    return write_export(spark, frame_df, target, header=header)


def read_csv(path: Path) -> list[dict[str, Any]]:
    types = {"n": pa.int64(), "text": pa.string(), "moment": pa.timestamp("us", tz="UTC")}
    parsing, converting = csv.ParseOptions(newlines_in_values=True), csv.ConvertOptions(column_types=types)
    rows: list[dict[str, Any]] = csv.read_csv(path, parse_options=parsing, convert_options=converting).to_pylist()
    return rows


def test_parquet_has_every_row_and_moments_as_the_format_knows_them(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    done = export(spark, rows_df(spark), f"{tmp_path}/a.parquet")
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before
    files = sorted(file.name for file in (tmp_path / "a.parquet").iterdir())
    assert files == ["_SUCCESS", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.to_pylist() == ROWS
    assert table.schema.field("moment").type == pa.timestamp("us", tz="UTC")
    sizes = [file.stat().st_size for file in (tmp_path / "a.parquet").glob("part-*")]
    assert done == ExportCounts(rows=10, bytes=sum(sizes), files=3)
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_is_one_file(spark: SparkSession, tmp_path: Path, name: str) -> None:
    done = export(spark, rows_df(spark), f"{tmp_path}/{name}")
    assert read_csv(tmp_path / name) == ROWS
    assert done == ExportCounts(rows=10, bytes=(tmp_path / name).stat().st_size, files=1)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_in_a_folder_has_a_header_in_each_file(spark: SparkSession, tmp_path: Path, name: str) -> None:
    done = export(spark, rows_df(spark), f"{tmp_path}/{name}/")
    files = sorted((tmp_path / name).glob("part-*"))
    assert [file.name for file in files] == [f"part-0000{number}{name[1:]}" for number in range(3)]
    assert [row for file in files for row in read_csv(file)] == ROWS
    assert (done.rows, done.files) == (10, 3)
    assert (tmp_path / name / "_SUCCESS").exists()


def test_sorted_rows_stay_sorted(spark: SparkSession, tmp_path: Path) -> None:
    export(spark, rows_df(spark).orderBy(F.col("n").desc()), f"{tmp_path}/a.csv")
    assert read_csv(tmp_path / "a.csv") == ROWS[::-1]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv/", "a.parquet"])
def test_without_rows_there_are_columns(spark: SparkSession, tmp_path: Path, name: str) -> None:
    done = export(spark, rows_df(spark, 0), f"{tmp_path}/{name}")
    assert (done.rows, done.files) == (0, 1)
    path = tmp_path / name
    files = sorted(path.glob("part-*")) if path.is_dir() else [path]
    read = parquet.read_table if name.endswith("parquet") else csv.read_csv
    assert [read(file).column_names for file in files] == [["n", "text", "moment"]]


@pytest.mark.parametrize("name", ["a.csv", "a.csv/", "a.parquet"])
def test_one_that_fails_leaves_the_one_before_and_nothing_beside_it(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    export(spark, rows_df(spark), f"{tmp_path}/{name}")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    broken_df = rows_df(spark).withColumn(
        "n", F.when(F.col("n") == 9, F.raise_error(F.lit("planted"))).otherwise(F.col("n"))
    )
    with pytest.raises(Exception, match=r"planted|TASK_WRITE_FAILED|Job aborted"):
        export(spark, broken_df, f"{tmp_path}/{name}", overwrite=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.csv/", "a.parquet"])
def test_a_second_one_takes_its_place_only_when_that_is_wanted(spark: SparkSession, tmp_path: Path, name: str) -> None:
    export(spark, rows_df(spark), f"{tmp_path}/{name}")
    with pytest.raises(ContractError, match=r"is there already"):
        export(spark, rows_df(spark, 2), f"{tmp_path}/{name}")
    done = export(spark, rows_df(spark, 2), f"{tmp_path}/{name}", overwrite=True)
    assert done.rows == 2
    path = tmp_path / name
    found = [row for file in sorted(path.glob("part-*")) for row in _read(file)] if path.is_dir() else _read(path)
    assert found == ROWS[:2]
    assert len(list(tmp_path.iterdir())) == 1


def _read(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".parquet":
        rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
        return rows
    return read_csv(file)
