"""Every file below a table's folder is searched, of whatever state, column and kind it is; Parquet files by PyArrow."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.people import Person, PersonSpec
from spark_jobs.pipelines.erasure.rows import condition_in, count_in_files
from spark_jobs.spec_files.spec_file import load_lake_spec

pytestmark = pytest.mark.spark

LAKE = load_lake_spec(Settings().lake_spec)
SPEC = PersonSpec(role="agent", key="agent_id", columns=("agent_name", "agent_mail"))
HER = Person(spec=SPEC, id="17", names=("Ann", "Ann Quux"))
OTHERS: dict[str, list[object]] = {"agent_id": [18, None, 18], "agent_name": ["Ann", None, "Bob"]}
"""Beside another key her name is another person's."""


def put(folder: Path, name: str, **columns: list[object]) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    types = {name: pa.int64() if name.endswith("_id") else pa.string() for name in columns}
    pq.write_table(pa.table(columns, schema=pa.schema(types.items())), path)


def count(spark: SparkSession, folder: Path, person: Person = HER) -> int:
    return count_in_files(spark, str(folder), person, condition_in(person, LAKE, "agents"))


def test_every_version_partition_and_kind_of_file_counts(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    put(folder, "a_0-1-2_00000000000000003.parquet", **OTHERS)
    (folder / ".hoodie").mkdir()
    (folder / ".hoodie/00000000000000003.commit").write_text('{"extraMetadata": {"ledger": "AnnQuux+Ann/Ann="}}')
    assert count(spark, folder) == 0
    put(folder, "a_0-1-2_00000000000000001.parquet", agent_id=[17, 18], agent_name=[None, "Bob"])
    assert count(spark, folder) == 1, "an older version of the same file"
    put(
        folder, "day=2/b_0-1-2_00000000000000002.parquet", agent_id=[None, 0, None], agent_name=["Ann", "Ann Quux", "x"]
    )
    assert count(spark, folder) == 3, "without a key, or with the stand-in, a name is enough"
    put(folder, "day=3/c_0-1-2_00000000000000003.parquet", agent_id=[None], agent_mail=["Ann"])
    assert count(spark, folder) == 4, "a column that others have not"
    (folder / "day=3/.c_00000000000000003.log.1_0-1-2").write_bytes(b"\x00")
    assert count(spark, folder) == 5, "a log file cannot be searched"
    for number, text in enumerate(('{"min": "Ann"}', "Quux, Ann Quux; x", "AnnQuux", "ANN", "xAnn", "Ann_")):
        (folder / f".hoodie/{number}.inflight").write_text(text)
    assert count(spark, folder) == 7, "whole words in what is no data file"


def test_a_table_that_can_name_no_one_and_one_without_files(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "units", "a.parquet", unit_id=[17], unit_name=["Ann"])
    assert count(spark, tmp_path / "units") == 0
    (tmp_path / "empty").mkdir()
    assert count(spark, tmp_path / "empty") == 0
    nameless = Person(spec=SPEC, id="17")
    put(tmp_path / "agents", "a.parquet", agent_id=[17, 17, 0], agent_name=["Ann", None, "Ann"])
    assert count(spark, tmp_path / "agents", nameless) == 2
