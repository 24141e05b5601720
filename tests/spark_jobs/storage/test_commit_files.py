"""Files that commits name, on made tables: when a window is read by them.

A log of which commit 10 was read; 20 and 30 add two files each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.storage.commit_columns import pack_columns
from spark_jobs.storage.commit_files import files_of_window
from spark_jobs.storage.reader import plan_pull
from tests.support.made_logs import MadeLog
from tests.support.made_tables import at

WINDOW = InstantRange(after=at(10), up_to=at(30))
LATER = StructType().add("id", StringType()).add("v", LongType()).add("later", StringType())


def says(*names: str, type_: Any = "long", stored: StructType | None = LATER, **content: Any) -> dict[str, Any]:
    """Content of a commit with these columns in the table, and others in its files."""
    fields = [{"name": name, "type": ["null", type_ if name == "v" else "string"]} for name in names]
    extra = {"schema": json.dumps({"type": "record", "name": "log", "fields": fields})}
    extra |= {"lakehouse.columns": pack_columns(stored)} if stored else {}
    return {"operationType": "BULK_INSERT", "extraMetadata": extra, **content}


def make(folder: Path, *, twenty: dict[str, Any], thirty: dict[str, Any]) -> MadeLog:
    log = MadeLog(folder / "log")
    log.commit(10, [40], **says("id", "v"))
    log.commit(20, [40, 40], **twenty)
    log.commit(30, [40, 40], **thirty)
    return log


@pytest.fixture
def log(tmp_path: Path) -> MadeLog:
    older = StructType().add("id", StringType()).add("v", LongType())
    return make(tmp_path, twenty=says("id", "v", stored=older), thirty=says("id", "v", "later"))


def test_the_files_of_a_window_with_the_columns_of_now(log: MadeLog) -> None:
    files = files_of_window(log.timeline, WINDOW)
    assert files is not None
    assert sorted(files.paths) == sorted(path for number, path in log.sizes if number > 10)
    assert files.columns == files.stored == LATER


def test_without_a_change_there_are_no_files(log: MadeLog) -> None:
    log.serve(40)
    for window in (InstantRange(after=at(30), up_to=at(40)), InstantRange(after=at(20), up_to=at(20))):
        files = files_of_window(log.timeline, window)
        assert files is not None
        assert files.paths == ()


def test_a_file_that_went_leaves_the_window_to_hudi(log: MadeLog) -> None:
    log.serve(40)
    (log.folder / list(log.sizes)[1][1]).unlink()
    assert files_of_window(log.timeline, WINDOW) is None
    assert files_of_window(log.timeline, InstantRange(after=at(20), up_to=at(40))) is not None


def test_files_with_a_column_of_another_type_are_left_to_hudi(tmp_path: Path) -> None:
    """Commits say the type that the table has: Hudi casts when it reads what was written as ``int``."""
    narrow = StructType().add("id", StringType()).add("v", IntegerType())
    log = make(tmp_path, twenty=says("id", "v", stored=narrow), thirty=says("id", "v"))
    assert files_of_window(log.timeline, WINDOW) is None
    assert files_of_window(log.timeline, InstantRange(after=at(20), up_to=at(30))) is not None


Change = Callable[[MadeLog], object]
PIECE = [{"path": f"day=1/3000_0-9-9_{at(40)}.parquet", "totalWriteBytes": 1}]


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.commit(30, [40, 40], **says("id", "v", stored=None)),
        lambda log: log.commit(30, [40, 40], **says("id", "v", operationType="UPSERT")),
        lambda log: log.commit(30, [40, 40], **says("id", "v", type_={"type": "long", "logicalType": "time-micros"})),
        lambda log: log.table.commits(40, action="commit", **says("id"), partitionToWriteStats={"day=1": PIECE}),
        lambda log: log.serve(40, operation="DELETE_PARTITION"),
        lambda log: (log.folder / ".hoodie/hoodie.properties").write_text("hoodie.table.type=MERGE_ON_READ\n"),
    ],
    ids=["an older release", "an upsert", "an unknown type", "a later upsert", "removed partitions", "log files"],
)
def test_what_is_not_certain_is_left_to_hudi(log: MadeLog, change: Change) -> None:
    change(log)
    assert files_of_window(log.timeline, WINDOW) is None


def test_a_path_that_spark_takes_for_a_pattern_is_left_to_hudi(log: MadeLog) -> None:
    stats = {"day=[1]": [{"path": f"day=[1]/4000_0-1-2_{at(40)}.parquet", "totalWriteBytes": 1}]}
    log.table.commits(40, action="commit", **says("id", "v"), partitionToWriteStats=stats)
    log.table.base("4000", 40, partition="day=[1]")
    assert files_of_window(log.timeline, InstantRange(after=at(30), up_to=at(40))) is None


def test_the_beginning_and_a_resync_are_read_from_the_whole_table(log: MadeLog) -> None:
    assert plan_pull(log.timeline, after=BEGINNING).files is None
    resync = plan_pull(log.timeline, after=at(15))
    assert resync.resync_reason
    assert resync.files is None
    assert plan_pull(log.timeline, after=at(10)).files is not None
