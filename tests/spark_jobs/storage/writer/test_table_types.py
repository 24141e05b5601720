"""What a lake spec says of storage: the table type, with base files that hold every commit, and buckets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.job_errors import TablesFailedError
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import NARROW, Lake, SpecLake, assert_equals_oracle
from tests.support.mart_lakes import read_bare_spec

pytestmark = pytest.mark.hudi


def _spec(path: Path, *, buckets: int = 1, **types: str) -> Path:
    document = read_bare_spec(NARROW)
    del document["marts"]
    for table in document["tables"]:
        table["type"] = types.get(table["name"], "merge_on_read")
        table["buckets"] = buckets
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def _sale(sale_id: int, agent: str | None, position: int, op: str = "c") -> bytes:
    return line(sqlserver(op, {"SaleId": sale_id, "AgentId": 7, "AgentName": agent}, position))


def codecs(table: Path) -> set[str]:
    """By which the columns of its files are compressed."""
    files = (pq.ParquetFile(file).metadata for file in table.rglob("*.parquet"))
    groups = (file.row_group(n) for file in files for n in range(file.num_row_groups))
    return {group.column(n).compression for group in groups for n in range(group.num_columns)}


def test_base_files_of_a_copy_on_write_table_hold_every_commit(spark: SparkSession, tmp_path: Path) -> None:
    spec = _spec(tmp_path / "lake.yaml", agents="copy_on_write", sales="copy_on_write")
    lake = SpecLake(spark=spark, folder=tmp_path, spec=spec)
    batches = [
        [_sale(1, "Ann", 1), _sale(2, None, 2)],
        [_sale(2, "Bea", 3), _sale(1, None, 4, "d")],
        [_sale(3, "late", 2), _sale(3, None, 5)],
    ]
    for number, lines in enumerate(batches):
        if number == 2:  # so that one plan reads tables of both types
            shutil.rmtree(Path(lake.settings.base_path) / ".row_index")
        lake.land(f"{number}.jsonl", lines)
        lake.run("ingest")
        lake.run("split")
    assert_equals_oracle(lake, [text for lines in batches for text in lines])
    newest = max(Path(lake.path("agents")).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert pq.read_table(newest, columns=["agent_name"]).column(0).to_pylist() == ["Bea"]
    assert list(Path(lake.path("agents")).glob(".*log*")) == []
    assert {codec for table in ("agents", "sales_log") for codec in codecs(Path(lake.path(table)))} == {"ZSTD"}
    assert list(Path(lake.path("units")).glob("*")) == [], "a table without events"


def test_a_table_of_another_type_than_on_disk_is_blocked(lake: Lake, tmp_path: Path) -> None:
    lake.land("1.jsonl", [_sale(1, "Ann", 1)])
    lake.run("ingest")
    lake.run("split")
    other = SpecLake(spark=lake.spark, folder=lake.folder, spec=_spec(tmp_path / "lake.yaml", agents="copy_on_write"))
    with pytest.raises(
        TablesFailedError, match="agents: blocked, the rows stay as they were computed: agents: type ch"
    ):
        other.run("split")


@pytest.mark.slice(name="tables")
def test_another_number_of_buckets_is_for_tables_yet_to_be_made(spark: SparkSession, tmp_path: Path) -> None:
    lines: list[bytes] = []
    for number, buckets in enumerate((2, 3, 1)):
        lake = SpecLake(spark=spark, folder=tmp_path, spec=_spec(tmp_path / f"{buckets}.yaml", buckets=buckets))
        new = [_sale(sale_id, f"agent {number}", 100 * number + sale_id) for sale_id in range(1, 21)]
        lines += new
        lake.land(f"{number}.jsonl", new)
        lake.run("ingest")
        lake.run("split")
    assert_equals_oracle(lake, lines)
    buckets_used = {file.name.split("-")[0] for file in Path(lake.path("sales")).glob("0*.parquet")}
    assert buckets_used == {"00000000", "00000001"}
