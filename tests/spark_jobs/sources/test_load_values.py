"""Typed values of files: what fits its column as it is, and what does not; the table is that of budgets."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake_spec.loads import LoadOperation
from spark_jobs.sources import load_values
from spark_jobs.sources.load_files import find_files
from spark_jobs.sources.load_values import AT, DETAIL, FILE, RAW, READ_FROM, REASON, decode_files
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.in_process import Session, rows_of
from tests.support.lakes import in_utc
from tests.support.loading_lakes import lake_document, write_json

BUDGETS = parse_lake_spec(lake_document()).load("budgets")
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def decode(spark: SparkSession, path: Path, operation: LoadOperation = LoadOperation.UPSERT) -> list[tuple[Any, ...]]:
    """Of each row its values, and why it cannot be used."""
    files = find_files(str(path), BUDGETS, operation, format_=None, delimiter=",")
    rows = decode_files(spark, BUDGETS, files, operation, keeps_raw=False).orderBy("__at").collect()
    names = [column.name for column in BUDGETS.columns]
    return [(*(in_utc(row[name]) for name in names), row[REASON] and f"{row[REASON]}: {row[DETAIL]}") for row in rows]


@pytest.mark.spark
def test_values_of_parquet_keep_their_types(spark: SparkSession, tmp_path: Path) -> None:
    columns = {
        "team": pa.array([1, 2], pa.int32()),
        "month": pa.array([date(2026, 3, 1)] * 2),
        "amount": pa.array([Decimal("1.5"), None], pa.decimal128(5, 1)),
        "Final?": pa.array([True, None]),
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    assert decode(spark, path) == [(1, MARCH, Decimal("1.50"), True, None), (2, MARCH, None, None, None)]
    assert decode(spark, path, LoadOperation.DELETE)[0] == (1, MARCH, None, None, None)
    columns |= {"amount": pa.array([0.1, None]), "team": pa.array([None, 2])}
    columns["month"] = pa.array([MARCH] * 2, pa.timestamp("ms", tz="Europe/Berlin"))
    pq.write_table(pa.table(columns), path)
    rejected, second = decode(spark, path)
    assert rejected[-1] == "bad_decimal: amount is not a decimal"
    assert second[:2] == (2, MARCH), "the same moment, whatever the zone it is given in"


def test_every_row_is_placed_in_its_own_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files of rows, good and bad, in batches of two; without an engine."""
    monkeypatch.setattr(load_values, "_BATCH_ROWS", 2)
    session: Any = Session()
    for name in "abc":
        write_json(
            tmp_path / f"{name}.jsonl", [{"team": f"{name}" if n % 2 else n, "month": "2026-03-01"} for n in range(5)]
        )
    files = find_files(str(tmp_path), BUDGETS, LoadOperation.UPSERT, format_=None, delimiter=",")
    frame: Any = decode_files(session, BUDGETS, files, LoadOperation.UPSERT, keeps_raw=True)
    found = [
        (row[READ_FROM], row[FILE], row[AT], row[REASON], json.loads(json.loads(row[RAW])["line"])["team"])
        for row in rows_of(frame)
    ]
    assert sorted(found, key=lambda row: row[:3]) == [
        (str(tmp_path / f"{name}.jsonl"), number, n + 1, "bad_integer" if n % 2 else None, name if n % 2 else n)
        for number, name in enumerate("abc")
        for n in range(5)
    ]


@pytest.mark.spark
def test_values_of_json(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"team": 1, "month": "2026-03-01", "amount": 1.25, "Final?": False, "more": [1]},
        {"team": "2", "month": 1_772_323_200_000},
        {"team": 3, "month": "2026-03-01", "amount": "1e3"},
        {"team": 4, "month": "2026-03-01", "Final?": "true"},
        {"team": 5.0, "month": "2026-03-01"},
        {"team": 6, "month": None},
        {"team": True, "month": "2026-03-01"},
    ]
    found = decode(spark, write_json(tmp_path / "a.jsonl", rows))
    assert found[:3] == [
        (1, MARCH, Decimal("1.25"), False, None),
        (2, MARCH, None, None, None),
        (3, MARCH, Decimal("1000.00"), None, None),
    ]
    assert [row[-1].split(":")[0] for row in found[3:]] == ["bad_boolean", "bad_integer", "missing_key", "bad_integer"]


def test_a_partition_whose_name_engines_would_take_for_something_else_is_refused(tmp_path: Path) -> None:
    """A path, a pattern, a hidden folder, more than a hundred characters; without an engine."""
    session: Any = Session()
    columns = [{"name": "id", "type": "bigint"}, {"name": "region", "type": "string"}]
    load = {"name": "notes", "key": ["id", "region"], "partition": "region", "columns": columns}
    notes = parse_lake_spec(lake_document([load])).load("notes")
    good, bad = ("north", "a.b-c_1", "x" * 100), ("a/b", "..", ".x", "a=b", "a*", "a b", "Zoë", "x" * 101)
    rows = [{"id": number, "region": region} for number, region in enumerate((*good, *bad))]
    write_json(tmp_path / "a.jsonl", rows)
    files = find_files(str(tmp_path), notes, LoadOperation.UPSERT, format_=None, delimiter=",")
    frame: Any = decode_files(session, notes, files, LoadOperation.UPSERT, keeps_raw=False)
    found = sorted(rows_of(frame), key=lambda row: row[AT])
    assert [row["region"] for row in found] == [*good, *[None] * len(bad)]
    assert [row[REASON] for row in found] == [*[None] * len(good), *["bad_text"] * len(bad)]
    assert found[-1][DETAIL].startswith("region is no name of a partition (letters, digits,")
