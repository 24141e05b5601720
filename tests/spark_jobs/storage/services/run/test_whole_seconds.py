"""On storage that gives the times of files in whole seconds, rows that are written after a compaction are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.commit_times import find_early
from tests.support.numbered_tables import MERGED, NumberedTable

pytestmark = pytest.mark.hudi


def test_a_compaction_that_ended_in_the_second_in_which_it_was_begun_hides_no_later_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By the time of its file it ended before it was begun, and log files over it would belong to what was before."""
    table = NumberedTable(spark, MERGED, Settings(base_path=str(tmp_path), lease_wait_seconds=1))
    table.put_all(0, 3)
    assert table.run(Service.COMPACTION, is_forced=True).is_done
    file = max((Path(table.path) / ".hoodie").glob("2*.commit"))
    whole = int(moment_of(Instant(file.name.partition(".")[0])).timestamp())
    os.utime(file, (whole, whole))
    assert [write.file_name for write in find_early(table.timeline.writes)] == [file.name]
    table.put(4)
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(4)
    assert find_early(table.timeline.writes) == []
