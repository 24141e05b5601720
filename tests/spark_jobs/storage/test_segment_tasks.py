"""Segments written, looked up and read by Spark's tasks; a file that is gone or damaged is named in Spark's error."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

from spark_jobs.storage import segment_tasks
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.segment_tasks import find_packed, read_packed, write_segments
from spark_jobs.storage.segments import Segment, every_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 3_000


def _packed(spark: SparkSession, first: int, last: int) -> DataFrame:
    return spark.range(first, last).selectExpr("xxhash64(id) AS key_hash", "concat('row ', id) AS packed")


def _texts(found_df: DataFrame) -> list[str]:
    return sorted(row["packed"] for row in found_df.collect())


@pytest.mark.spark
def test_rows_of_several_folders_are_found_by_their_hashes(spark: SparkSession, tmp_path: Path) -> None:
    small = write_segments(_packed(spark, 0, ROWS), str(tmp_path), "one", most=ROWS)
    spread = write_segments(_packed(spark, ROWS - 10, 2 * ROWS), str(tmp_path), "two", most=None)
    assert (len(small), len(spread)) == (1, 2), "a lookup opens every segment: few rows are in one"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*")} == {s.path for s in (*small, *spread)}
    wanted_df = _packed(spark, ROWS - 20, ROWS + 5).unionAll(_packed(spark, 9 * ROWS, 10 * ROWS))
    once, twice = range(ROWS - 20, ROWS + 5), range(ROWS - 10, ROWS)
    found = _texts(find_packed(wanted_df, str(tmp_path), [*small, *spread]))
    assert found == sorted(f"row {number}" for number in (*once, *twice))
    assert _texts(find_packed(wanted_df.where("false"), str(tmp_path), small)) == []
    assert read_packed(spark, str(tmp_path), [*small, *spread]).count() == 2 * ROWS + 10

    (tmp_path / small[0].path).unlink()
    with pytest.raises(PythonException, match=rf"index {small[0].path} is damaged"):
        find_packed(wanted_df, str(tmp_path), small).collect()


def test_a_segment_that_is_full_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_tasks, "SEGMENT_BYTES", 1_000)
    files = Filesystem(str(tmp_path))
    batch = pa.RecordBatch.from_pydict({"key_hash": list(range(ROWS)), "packed": [f"row {n}" for n in range(ROWS)]})
    segments: list[Segment] = list(segment_tasks._written(files, "folder", [batch]))
    assert len(segments) > 3
    assert all(one.last < other.first for one, other in pairwise(segments))
    read = [text for each in segments for text in every_text(files.open(f"{tmp_path}/{each.path}"), each)]
    assert read == [f"row {n}".encode() for n in range(ROWS)]
    assert list(segment_tasks._written(files, "folder", [])) == []
