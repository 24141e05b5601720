"""What a commit puts on storage."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError, LeaseLostError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage import lease
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit
from tests.support.hudi_logs import hudi_log

pytestmark = pytest.mark.hudi

LAYOUTS = (
    TableLayout(name="log", record_key="id", partition="day", form=StorageForm.APPENDED),
    TableLayout(name="replaced", record_key="id", partition="day", form=StorageForm.REPLACED),
    TableLayout(name="merged", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ),
    TableLayout(name="copied", record_key="id", form=StorageForm.KEYED, type=TableType.COPY_ON_WRITE),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
def test_files_hold_rows_and_no_footers_made_for_sixty_thousand_keys(
    spark: SparkSession, tmp_path: Path, layout: TableLayout
):
    """A base file with the bloom filter that Hudi writes by default has 435 KB, however few rows."""
    rows_df = spark.createDataFrame([("1", "2026-01-01", 1), ("2", "2026-01-01", 2)], "id string, day string, v int")
    settings = Settings(base_path=str(tmp_path))
    for number in range(2):
        is_first = number == 0 and layout.form is StorageForm.KEYED
        commit(rows_df, layout, metadata={}, settings=settings, is_first=is_first)
    sizes = [file.stat().st_size for file in tmp_path.rglob("*.parquet")]
    assert sizes
    assert max(sizes) < 10_000


@pytest.mark.parametrize(("server_buckets", "listings"), [(0, 6 + 2), (6, 1)], ids=["alone", "shared"])
def test_with_the_timeline_server_a_commit_lists_the_files_once_whatever_the_buckets(
    spark: SparkSession, tmp_path: Path, server_buckets: int, listings: int
):
    """Without it the task of each bucket lists all of them, and the driver twice.

    Other tests write in the same JVM: what is counted is about a partition that no other table has.
    """
    layout = TableLayout(
        name="wide", record_key="id", partition="p", form=StorageForm.KEYED, buckets=6, type=TableType.MERGE_ON_READ
    )
    settings, partition = Settings(base_path=str(tmp_path), timeline_server_buckets=server_buckets), uuid4().hex
    for number in range(3):
        rows_df = spark.range(60).selectExpr("cast(id as string) as id", f"'{partition}' as p", f"{number} as v")
        with hudi_log(spark, "common.table.view.AbstractTableFileSystemView") as lines:
            done = commit(rows_df, layout, metadata={}, settings=settings, is_first=number == 0)
        assert done.rows == 60
        if number:
            listed = [line for line in lines if "Building file system view" in line and partition in line]
            assert len(listed) == listings
    rows = spark.read.format("hudi").load(settings.table_path(layout.name)).groupBy("v").count().collect()
    assert [tuple(row) for row in rows] == [(2, 60)]


@pytest.mark.parametrize("looks_held", [0, 1], ids=["before it writes", "while it writes"])
def test_who_lost_the_lease_does_not_report_a_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_held: int
):
    answers = [True] * looks_held + [False]
    settings, layout = Settings(base_path=str(tmp_path)), LAYOUTS[0]
    monkeypatch.setitem(lease._HELD, (settings.base_path, layout.name), lambda: answers.pop(0))
    rows_df = spark.createDataFrame([("1", "2026-01-01", 1)], "id string, day string, v int")
    with pytest.raises(LeaseLostError, match="log: the lease was lost while the table was written; run the job again"):
        commit(rows_df, layout, metadata={}, settings=settings)
    assert len(Timeline(table=layout.name, path=settings.table_path(layout.name)).writes) == looks_held


def test_a_folder_that_a_writer_left_half_made_is_to_be_tried_again(spark: SparkSession, tmp_path: Path):
    """Hudi takes an empty ``.hoodie`` for a table: a heartbeat of a writer that is not dead makes one."""
    settings, layout = Settings(base_path=str(tmp_path)), LAYOUTS[0]
    rows_df = spark.createDataFrame([("1", "2026-01-01", 1)], "id string, day string, v int")
    (tmp_path / layout.name / ".hoodie" / ".heartbeat").mkdir(parents=True)
    with pytest.raises(TransientError, match=r"log: a writer that was creating the table is not dead; run the job aga"):
        commit(rows_df, layout, metadata={}, settings=settings)


@pytest.mark.parametrize("value", ["../../outside", "a/b", "a\\b", "a\nb", "x" * 300])
def test_a_partition_is_a_folder_of_the_table_or_nothing_is_written(spark: SparkSession, tmp_path: Path, value: str):
    settings, layout = Settings(base_path=str(tmp_path / "deep" / "lake")), LAYOUTS[0]
    rows_df = spark.createDataFrame([("1", value, 1), ("2", None, 2), ("3", "..", 3)], "id string, day string, v int")
    with pytest.raises(ContractError, match="log: a value of the partition column cannot be a folder"):
        commit(rows_df, layout, metadata={}, settings=settings)
    commit(rows_df.where("id > 1"), layout, metadata={}, settings=settings)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet")]
    assert {str(path.parent) for path in files} == {
        f"deep/lake/log/day={n}" for n in ("..", "__HIVE_DEFAULT_PARTITION__")
    }
