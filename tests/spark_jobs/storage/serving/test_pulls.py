"""From which instant to which changes are certain, by timelines made by hand; the rest is in tests of the serving.

The mart's commits are 1, 2, …; the store has commit 2. To one of mode append rows are only added.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.commit_columns import pack_columns
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.serving.changes import ChangesUncertainError
from spark_jobs.storage.serving.pulls import ServedPull, newest_state, plan_changes
from spark_jobs.storage.serving.tables import ServedMart
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

KINDS: dict[str, T.DataType] = {
    "string": T.StringType(),
    "smallint": T.ShortType(),
    "int": T.IntegerType(),
    "bigint": T.LongType(),
}
SCHEMA = T.StructType().add("day", KINDS["string"]).add("deals", KINDS["int"])
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def served(number: int = 2, **types: str) -> ServedMart:
    facts: dict[str, Any] = {"mart": "totals", "instant": at(number), "true_at": NOW, "clock": NOW, "served_at": NOW}
    return ServedMart(**facts, row_count=0, column_types=types or {"day": "string", "deals": "int", "old": "date"})


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    layout = TableLayout(name="totals", record_key="cell_id", form=StorageForm.KEYED)
    return MadeTable(layout, tmp_path / "totals").commits(1, 2, action="commit", operationType="UPSERT")


def feed(table: MadeTable, number: int, *columns: tuple[str, str]) -> None:
    """A commit with a folder in the feed whose rows have these columns."""
    folder = table.folder.parent / ".changes/totals" / f"feed{number}"
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    schema = T.StructType()
    for name, kind in columns or (("cell_id", "string"), ("deals", "smallint"), ("day", "string")):
        schema.add(name, KINDS[kind])
    metadata = {"lakehouse.changes": folder.name, "lakehouse.changes_columns": pack_columns(schema)}
    table.commits(number, action="commit", operationType="UPSERT", extraMetadata=metadata)


def plan(table: MadeTable, of: ServedMart | None = None, *, is_appended: bool = False, up_to: int = 9) -> ServedPull:
    timeline, settings = Timeline(table="totals", path=str(table.folder)), Settings(base_path=str(table.folder.parent))
    return plan_changes(timeline, of or served(), SCHEMA, at(up_to), is_appended=is_appended, settings=settings)


def test_the_folders_of_all_commits_in_their_order_whatever_services_did(table: MadeTable):
    for number in (3, 5, 6):
        feed(table, number)
    table.commits(4, action="replacecommit", operationType="CLUSTER").commits(
        7, action="commit", operationType="COMPACT"
    )
    assert plan(table).folders == ("feed3", "feed5", "feed6")
    assert plan(table, up_to=5).folders == ("feed3", "feed5")
    assert (plan(table).after, plan(table).pull) == (at(2), None)


def test_a_column_that_the_store_has_and_the_mart_has_no_more_changes_nothing(table: MadeTable):
    feed(table, 3)
    assert plan(table, served(2, day="string", deals="int")).folders == ("feed3",)


@pytest.mark.parametrize(
    ("columns", "types", "words"),
    [
        ([("cell_id", "string"), ("day", "string")], {}, "its columns changed"),
        ([("day", "string"), ("deals", "int")], {}, "its columns changed"),
        ([("cell_id", "string"), ("day", "string"), ("deals", "bigint")], {}, "its columns changed"),
        ([("cell_id", "string"), ("day", "string"), ("deals", "int"), ("more", "int")], {}, "its columns changed"),
        ([], {"day": "string"}, "its columns changed"),
        ([], {"day": "string", "deals": "bigint"}, "its columns changed"),
    ],
    ids=["one less", "no key", "another type", "one more", "not served", "served as another type"],
)
def test_other_columns_in_the_feed_or_in_the_store(table: MadeTable, columns, types, words):
    feed(table, 3, *columns)
    with pytest.raises(ChangesUncertainError, match=words):
        plan(table, served(2, **types))


def test_a_feed_that_does_not_say_its_columns(table: MadeTable):
    feed(table, 3)
    table.commits(3, action="commit", operationType="UPSERT", extraMetadata={"lakehouse.changes": "feed3"})
    with pytest.raises(ChangesUncertainError, match="its columns changed"):
        plan(table)


def test_rows_that_are_only_added_are_pulled(table: MadeTable):
    table.commits(3, action="commit", operationType="BULK_INSERT")
    pull = plan(table, is_appended=True).pull
    assert pull is not None
    assert (pull.window.after, pull.window.up_to) == (at(2), at(3))
    table.commits(4, action="commit", operationType="UPSERT")
    with pytest.raises(ChangesUncertainError, match=f"commit {at(4)} did not only add rows"):
        plan(table, is_appended=True)


@pytest.mark.parametrize(("number", "up_to"), [(0, 9), (8, 9), (2, 1)], ids=["archived", "restored", "later"])
def test_an_instant_that_is_not_on_the_timeline_or_after_the_newest(table: MadeTable, number: int, up_to: int):
    feed(table, 3)
    with pytest.raises(ChangesUncertainError, match="is not on its timeline any more"):
        plan(table, served(number), up_to=up_to)


def test_the_newest_state_is_a_change_with_no_writer_before_it(table: MadeTable):
    def newest() -> Instant | None:
        return newest_state(Timeline(table="totals", path=str(table.folder)))

    table.commits(4, action="replacecommit", operationType="CLUSTER")
    assert newest() == at(2)
    table.commits(6, action="commit", operationType="UPSERT")
    assert newest() == at(6)
    table.pending(5, "commit")
    assert newest() == at(2)
    assert newest_state(Timeline(table="none", path=str(table.folder / "none"))) is None
