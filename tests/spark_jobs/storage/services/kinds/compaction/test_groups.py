"""Compaction of single file groups, on a real table: two buckets, of which one grows.

Number 0 makes the base files of keys 0 to 9, number 1 a log file over each; numbers 2 to 4 are of one bucket's keys
alone. So one file group has four log files and the other one. No commit follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.sizing.hashing import bucket_of
from spark_jobs.storage.options import build_service_options
from spark_jobs.storage.procedures import call
from spark_jobs.storage.services.compaction_plans import _by_bytes, _by_number, _by_partition
from spark_jobs.storage.services.purge import purge
from spark_jobs.storage.services.state import TableState
from tests.support.numbered_tables import MERGED, NumberedTable

pytestmark = pytest.mark.hudi

KEYS = [f"{n:05d}" for n in range(10)]
GROWN = frozenset(key for key in KEYS if bucket_of(key, 2) == bucket_of(KEYS[0], 2))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> NumberedTable:
    made = NumberedTable(spark, MERGED, Settings(base_path=str(tmp_path), lease_wait_seconds=1))
    made.put_all(0, 1)
    for number in (2, 3, 4):
        made.put(number, keys=GROWN)
    return made


def log_files(table: NumberedTable) -> list[int]:
    """Of each file group that has some, by the number of slices with a base file that it has."""
    state = TableState.look(table.layout, table.path)
    return sorted(len(group.logs) for group in state.unmerged_groups)


def base_files(table: NumberedTable) -> list[int]:
    groups = TableState.look(table.layout, table.path).groups
    return sorted(sum(1 for each in group.slices if each.base) for group in groups)


def assert_rows(table: NumberedTable) -> None:
    expected = sorted((key, 4 if key in GROWN else 1) for key in KEYS)
    assert table.rows_by_spark() == table.rows_by_rust() == expected


def merge_by_age(table: NumberedTable) -> None:
    assert table.run(Service.COMPACTION, compact_log_files=4, compact_minutes=60).is_done


def merge_all(table: NumberedTable) -> None:
    assert table.run(Service.COMPACTION, is_forced=True, compact_log_files=4).is_done


def merge_by_purge(table: NumberedTable) -> None:
    assert purge(table.spark, table.layout, table.settings, datetime.now(UTC) + timedelta(days=2)) > 0


LATER = pytest.mark.slice(name="tables")


@pytest.mark.parametrize(
    "rest", [merge_by_age, pytest.param(merge_all, marks=LATER), pytest.param(merge_by_purge, marks=LATER)]
)
def test_the_group_that_has_grown_is_compacted_alone_and_the_other_when_it_is_late(
    table: NumberedTable, rest: Callable[[NumberedTable], None]
):
    """Hudi plans nothing by itself where no commit came after the last compaction, which was of other groups."""
    last = table.timeline.last
    assert (log_files(table), base_files(table)) == ([1, 4], [1, 1])
    assert_rows(table)
    assert table.run(Service.COMPACTION, compact_log_files=4).is_done
    assert (log_files(table), base_files(table)) == ([1], [1, 2])
    assert_rows(table)
    assert not table.run(Service.COMPACTION, compact_log_files=4).is_done
    assert table.timeline.last == last
    rest(table)
    assert log_files(table) == []
    assert_rows(table)
    table.put(5)
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(5)


@LATER
def test_hudi_takes_the_groups_that_a_plan_is_to_have(spark: SparkSession, tmp_path: Path):
    """Two partitions of one bucket each: day-0 of the even keys, day-1 of the odd ones, which two more commits have."""
    layout, grown = replace(MERGED, partition="day", buckets=1), "day=day-1"
    table = NumberedTable(spark, layout, Settings(base_path=str(tmp_path), lease_wait_seconds=1))
    table.put(0)
    for first, plan in enumerate(
        (
            lambda group: _by_bytes(group.log_bytes),
            lambda group: _by_number(len(group.logs)),
            lambda group: _by_partition([group.partition]),
        )
    ):
        for number in (1, 2):
            table.put(3 * first + number, keys=KEYS[1::2])
        table.put(3 * first + 3) if first == 0 else None
        before = {group.partition: group for group in TableState.look(layout, table.path).unmerged_groups}
        options = build_service_options(plan(before[grown]))
        for operation in ("schedule", "run"):
            call(spark, table.name, table.path, "run_compaction", {"op": operation}, options=options)
        after = {group.partition: group for group in TableState.look(layout, table.path).unmerged_groups}
        assert [*before, *after] == ["day=day-0", grown, "day=day-0"]
        assert after["day=day-0"] == before["day=day-0"]
        last = 3 * first + 2 if first else 3
        assert (
            table.rows_by_spark()
            == table.rows_by_rust()
            == sorted((key, last if key in KEYS[1::2] else 3) for key in KEYS)
        )
