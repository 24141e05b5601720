"""What is new in a source: of every commit after the mart's checkpoint the rows as they were and as they are.

The table ``units`` has a commit for each part of its change feed. A row in which only columns changed that the mart
does not read is no change; one whose project changed left the one and came to the other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake_spec.marts import ReadSpec
from spark_jobs.marts.sources import ChangesUnknownError, Source
from spark_jobs.marts.views import Views
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.layouts import history_layout, table_layout
from tests.support.made_tables import MadeTable, at
from tests.support.refreshes import MART, SPEC, settings_of

pytestmark = pytest.mark.spark

QUERY = analyse_mart(MART, SPEC)
ROW = "struct<unit_id:bigint,unit_name:string,project_id:bigint>"
Side = tuple[int, str | None, int | None] | None
FEEDS: dict[int, list[tuple[Side, Side]]] = {
    1: [(None, (1, "a", 10))],
    2: [((1, "a", 10), (1, "b", 10)), (None, (2, "a", 20))],
    3: [((2, "a", 20), (2, "a", 21)), ((1, "b", 10), None), (None, (3, None, None))],
    4: [((3, None, None), (3, None, 30)), ((4, "x", 40), (4, "x", None))],
}


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> MadeTable:
    settings = settings_of(tmp_path)
    table = MadeTable(table_layout(SPEC.table("units")), Path(settings.table_path("units")))
    for number, feed in FEEDS.items():
        of_feed = write_changes(spark.createDataFrame(feed, f"before {ROW}, after {ROW}"), "units", settings)
        metadata = {f"lakehouse.{key}": text for key, text in of_feed.items()}
        table.commits(number, extraMetadata=metadata, operationType="UPSERT")
    return table


def changes_after(spark: SparkSession, folder: Path, checkpoint: int, **options: Any) -> list[list[tuple[Any, ...]]]:
    """Rows that came and rows that left, with the columns that the mart reads."""
    source = Source.plan(
        ReadSpec(table="units", by="unit_id"), at(checkpoint), spec=SPEC, settings=settings_of(folder), **options
    )
    with Views(spark) as views:
        changes = source.changes(views, QUERY)
        assert changes.left_df is not None
        sides = (changes.came_df, changes.left_df)
        found = [[(row["unit_id"], row["project_id"]) for row in side.collect()] for side in sides]
        assert changes.both_df.count() == sum(map(len, found))
    return [sorted(side, key=repr) for side in found]


@pytest.mark.parametrize("checkpoint", [1, 2, 3])
def test_what_came_and_what_left_since_the_checkpoint(spark, tmp_path, made, checkpoint):
    pairs = [pair for number, feed in FEEDS.items() if number > checkpoint for pair in feed]
    read = [tuple(side and (side[0], side[2]) for side in pair) for pair in pairs]
    moved = [(before, after) for before, after in read if before != after]
    expected = [[after for _, after in moved if after], [before for before, _ in moved if before]]
    assert changes_after(spark, tmp_path, checkpoint) == [sorted(side, key=repr) for side in expected]


def test_a_commit_without_a_feed_means_that_it_is_not_known_what_changed(spark, tmp_path, made):
    made.commits(5, extraMetadata={}, operationType="UPSERT")
    with pytest.raises(ChangesUnknownError, match="units"):
        changes_after(spark, tmp_path, 3)


@pytest.mark.parametrize(
    ("operation", "metadata", "reason"),
    [
        ("DELETE", {}, "rows of agents_history were removed"),
        ("INSERT_OVERWRITE_TABLE", {"lakehouse.rebuilt": "plan"}, "agents_history was rebuilt by another definition"),
    ],
)
def test_rows_that_left_a_history_are_in_no_pull(spark, tmp_path, operation, metadata, reason):
    agents = replace(SPEC.table("agents"), history=True)
    spec = replace(SPEC, tables=(agents, *(table for table in SPEC.tables if table.name != "agents")))
    history = MadeTable(history_layout(agents), Path(settings_of(tmp_path).table_path("agents_history")))
    history.commits(1, 2, operationType="UPSERT").commits(3, operationType=operation, extraMetadata=metadata)
    read = ReadSpec(table="agents_versions", by="agent_id")
    source = Source.plan(read, at(1), spec=spec, settings=settings_of(tmp_path))
    assert (source.table, source.stored, source.up_to) == ("agents_versions", "agents_history", at(3))
    with Views(spark) as views, pytest.raises(ChangesUnknownError, match=reason):
        source.changes(views, QUERY)


def test_a_source_moves_with_its_commits_and_not_with_its_services(spark, tmp_path, made):
    def plan(checkpoint: int, *, is_held: bool = False) -> Source:
        read = ReadSpec(table="units", by="unit_id")
        return Source.plan(read, at(checkpoint), spec=SPEC, settings=settings_of(tmp_path), is_held=is_held)

    assert [plan(n).has_moved for n in (3, 4)] == [True, False]
    made.commits(5, action="replacecommit", extraMetadata={}, operationType="CLUSTER")
    assert (plan(4).has_moved, plan(4).up_to) == (False, at(5))
    assert (plan(3).has_moved, plan(3).is_new, plan(3).is_absent) == (True, False, False)
    assert (plan(3, is_held=True).has_moved, plan(3, is_held=True).up_to) == (False, at(3))
