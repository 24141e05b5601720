"""Functions on the executors, and what their processes keep of the archives in which Python looks for modules."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipimport import zipimporter

import pyarrow as pa
import pytest

from spark_jobs.python_tasks import forget_archives, map_batches, map_tasks
from tests.support.in_process import Frame, Session, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "rows bigint, process bigint, archives array<string>"
MOST_TASKS = 50


def archives(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [path for path, finder in sys.path_importer_cache.items() if isinstance(finder, zipimporter)]
        columns = {
            "rows": pa.array([batch.num_rows]),
            "process": pa.array([os.getpid()]),
            "archives": pa.array([found], pa.list_(pa.string())),
        }
        yield pa.RecordBatch.from_pydict(columns)


@pytest.mark.spark
def test_a_process_that_works_again_reads_no_archive_of_spark(spark: SparkSession) -> None:
    processes = set[int]()
    for _ in range(MOST_TASKS):
        (row,) = map_batches(spark.range(0, 10, 1, 1), archives, SCHEMA).collect()
        assert row["rows"] == 10
        if row["process"] in processes:
            assert row["archives"] == []
            return
        processes.add(row["process"])
    pytest.fail(f"{MOST_TASKS} tasks in as many processes")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_task_gets_its_number(count: int) -> None:
    def squares(numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
        kept = [*numbers]
        assert len(kept) <= 1
        yield pa.RecordBatch.from_pydict({"square": pa.array([number**2 for number in kept], pa.int64())})

    session: Any = Session()
    rows = rows_of(map_tasks(session, count, squares, "square bigint"))
    assert rows == [{"square": number**2} for number in range(count)]


@pytest.fixture
def finders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, zipimporter]:
    """Python's finders, of four archives and of a package in one of them."""
    names = ("pyspark.zip", "py4j-0.10.9.7-src.zip", "spark-core_2.12-3.5.7.jar", "code.zip")
    for name in names:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("package/__init__.py", "")
    kept = {f"{tmp_path / name}": zipimporter(f"{tmp_path / name}") for name in names}
    kept[f"{tmp_path}/pyspark.zip/package"] = zipimporter(f"{tmp_path}/pyspark.zip/package")
    monkeypatch.setattr(sys, "path_importer_cache", kept)
    return kept


def archives_of(finders: dict[str, zipimporter]) -> list[str]:
    """Other imports may add finders of folders meanwhile."""
    return [Path(path).name for path, finder in finders.items() if isinstance(finder, zipimporter)]


def test_archives_of_spark_alone_are_forgotten(finders: dict[str, zipimporter]) -> None:
    for _ in range(2):
        forget_archives()
        assert archives_of(finders) == ["code.zip"]


def test_they_are_forgotten_after_a_function_that_fails_too(finders: dict[str, zipimporter]) -> None:
    def fails(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        raise ValueError("a task that fails")

    rows: Any = Frame.of([{"id": 1}], schema=pa.schema({"id": pa.int64()}))
    with pytest.raises(ValueError, match="a task that fails"):
        map_batches(rows, fails, "id bigint")
    assert archives_of(finders) == ["code.zip"]
