"""The change feed by itself: reading a window of it, what is missing, and what is forgotten.

The table ``units`` has a timeline made by hand. Its commits are 1 to 9, written with 17 digits; the first has no feed,
as in life, the feed of commit n says what :data:`FEEDS` says. How ``split`` writes it: tests of that job.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import change_feed
from spark_jobs.storage.change_feed import (
    AFTER,
    BEFORE,
    CHANGES_KEY,
    FOLDER_COLUMN,
    columns_of_changes,
    drop_changes,
    folders_in,
    forget_changes,
    read_changes,
    read_folders,
    write_changes,
)
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.timeline import Timeline

HOUR_NS = 3600 * 10**9
NOW_NS = 500_000 * HOUR_NS
Change = tuple[Any, ...]
UNIT = "unit_id bigint, price decimal(18,4)"
UNIT_ROW = "struct<unit_id:bigint,price:decimal(18,4)>"
FEEDS: dict[int, list[tuple[tuple[int, Decimal] | None, tuple[int, Decimal] | None]]] = {
    2: [(None, (1, Decimal("1.5000"))), (None, (2, Decimal("2.0000")))],
    3: [((1, Decimal("1.5000")), (1, Decimal("7.0000")))],
    4: [((1, Decimal("7.0000")), None)],
}


def at(number: int) -> Instant:
    return Instant(f"{number:017d}")


def window(after: int, up_to: int) -> InstantRange:
    return InstantRange(after=at(after), up_to=at(up_to))


def commit(settings: Settings, number: int, feed: str | Mapping[str, str] | None, operation: str = "UPSERT") -> None:
    """Put a commit on the timeline that names this folder of the feed, with its columns or without, or none."""
    timeline = Path(settings.table_path("units"), ".hoodie")
    timeline.mkdir(parents=True, exist_ok=True)
    of_feed = {"changes": feed} if isinstance(feed, str) else feed or {}
    metadata = {f"lakehouse.{key}": text for key, text in of_feed.items()}
    content = {"operationType": operation, "extraMetadata": metadata}
    (timeline / f"{at(number)}.deltacommit").write_text(json.dumps(content))


def units(settings: Settings) -> Timeline:
    return Timeline(table="units", path=settings.table_path("units"))


def folders(settings: Settings) -> Path:
    return Path(settings.table_path(".changes"), "units")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(base_path=str(tmp_path))


@pytest.fixture
def fed(spark: SparkSession, settings: Settings) -> dict[int, str]:
    """Four commits of ``units``; gives the folders of their feeds."""
    names = {}
    commit(settings, 1, None)
    for number, changes in FEEDS.items():
        changes_df = spark.createDataFrame(changes, f"{BEFORE} struct<{UNIT}>, {AFTER} struct<{UNIT}>")
        metadata = write_changes(changes_df, "units", settings)
        names[number] = metadata[CHANGES_KEY]
        # The first is of a release that kept no columns: the windows have some or no commits that did, or all.
        commit(settings, number, names[number] if number == 2 else metadata)
    return names


def in_order(changes: Iterable[Change]) -> list[Change]:
    """The changes, plain and sorted."""
    plain = [tuple(side and tuple(side) for side in change) for change in changes]
    return sorted(plain, key=repr)


def read(spark: SparkSession, settings: Settings, after: int, up_to: int) -> list[Change] | None:
    """What the feed says of a window, sorted."""
    feed_df = read_changes(spark, units(settings), window(after, up_to), settings)
    return None if feed_df is None else in_order((row[BEFORE], row[AFTER]) for row in feed_df.collect())


@pytest.mark.spark
@pytest.mark.parametrize(("after", "up_to"), [(1, 2), (1, 3), (1, 4), (2, 4), (3, 4)])
def test_a_window_holds_the_changes_of_all_its_commits(spark, settings, fed, after, up_to):
    expected = [change for number, changes in FEEDS.items() if after < number <= up_to for change in changes]
    assert read(spark, settings, after, up_to) == in_order(expected)


@pytest.mark.spark
def test_changes_are_read_with_the_folder_that_they_are_from(spark, settings, fed):
    folders_ = folders_in(units(settings), window(1, 4), settings)
    assert folders_ == [fed[2], fed[3], fed[4]]
    columns = columns_of_changes(units(settings), units(settings).writes[-1])
    assert columns is not None
    rows_df = read_folders(spark, "units", folders_, columns, settings)
    found = {(row[FOLDER_COLUMN], row[AFTER] and tuple(row[AFTER])) for row in rows_df.collect()}
    assert found == {(fed[number], after) for number, changes in FEEDS.items() for _, after in changes}
    assert [folders_in(units(settings), window(after, 4), settings) for after in (4, 0)] == [[], None]


@pytest.mark.spark
def test_changes_telescope(spark, settings, fed):
    changes = read(spark, settings, 1, 4) or []
    came, left = (sum(change[side][1] for change in changes if change[side]) for side in (1, 0))
    assert came - left == Decimal(2)


@pytest.mark.spark
@pytest.mark.parametrize("operation", ["COMPACT", "LOG_COMPACT", "CLUSTER"])
def test_table_services_change_nothing_and_need_no_feed(spark, settings, fed, operation):
    commit(settings, 5, None, operation)
    assert len(read(spark, settings, 3, 5) or []) == 1
    assert read(spark, settings, 4, 5) is None
    assert units(settings).changes_in(window(4, 5)) == ()


@pytest.mark.spark
def test_what_is_missing_is_reported(spark, settings, fed):
    assert read(spark, settings, 0, 2) is None, "from the beginning, or from a commit that was archived"
    commit(settings, 5, None)
    assert read(spark, settings, 3, 5) is None, "written by a writer that keeps no feed"
    commit(settings, 5, "0" * 32)
    assert read(spark, settings, 3, 5) is None, "the folder is gone"
    assert len(read(spark, settings, 2, 4) or []) == 2
    (folders(settings) / fed[3] / "_SUCCESS").unlink()
    assert read(spark, settings, 2, 4) is None, "the folder was not written, or not removed, to the end"
    assert len(read(spark, settings, 3, 4) or []) == 1
    (Path(settings.table_path("units"), ".hoodie") / f"{at(3)}.deltacommit").unlink()
    assert read(spark, settings, 3, 4) is None, "the checkpoint was restored away"


@pytest.mark.spark
def test_the_columns_of_a_feed_are_in_its_commit_and_no_file_is_read_for_them(spark, settings, fed):
    """The files are gone: the schema is known all the same."""
    for file in folders(settings).rglob("*.parquet"):
        file.unlink()
    feed_df = read_changes(spark, units(settings), window(2, 4), settings)
    assert feed_df is not None
    assert feed_df.schema.simpleString() == f"struct<before:{UNIT_ROW},after:{UNIT_ROW}>"


@pytest.mark.spark
@pytest.mark.parametrize("has_columns", [True, False])
def test_a_column_declared_later_is_null_before(spark, settings, fed, has_columns):
    wider = f"struct<{UNIT}, view string>"
    changes_df = spark.createDataFrame(
        [((2, Decimal(2), None), (2, Decimal(2), "sea"))], f"{BEFORE} {wider}, {AFTER} {wider}"
    )
    metadata = write_changes(changes_df, "units", settings)
    commit(settings, 5, metadata if has_columns else metadata[CHANGES_KEY])
    feed_df = read_changes(spark, units(settings), window(2, 5), settings)
    assert feed_df is not None
    assert sorted(
        (row.view or "", row.unit_id) for row in feed_df.where("after is not null").select("after.*").collect()
    ) == [
        ("", 1),
        ("sea", 2),
    ]
    assert {row.view for row in feed_df.where("before is not null").select("before.*").collect()} == {None}


@pytest.mark.spark
@pytest.mark.parametrize("has_columns", [True, False])
def test_a_column_of_another_type_is_a_reason_to_recompute(spark, settings, fed, has_columns):
    other = "struct<unit_id string, price decimal(18,4)>"
    changes_df = spark.createDataFrame([(None, ("2", Decimal(2)))], f"{BEFORE} {other}, {AFTER} {other}")
    metadata = write_changes(changes_df, "units", settings)
    commit(settings, 5, metadata if has_columns else metadata[CHANGES_KEY])
    assert read(spark, settings, 3, 5) is None
    assert len(read(spark, settings, 4, 5) or []) == 1


@pytest.mark.spark
def test_a_feed_of_a_commit_without_visible_changes_is_empty_and_there(spark, settings, fed):
    empty_df = spark.createDataFrame([], f"{BEFORE} struct<{UNIT}>, {AFTER} struct<{UNIT}>")
    commit(settings, 5, write_changes(empty_df, "units", settings))
    assert read(spark, settings, 4, 5) == []


def put_folder(settings: Settings, name: str, *, age_ns: int) -> None:
    """A folder of the feed as Spark leaves it, last touched so long before the clock."""
    folder = folders(settings) / name
    folder.mkdir(parents=True)
    for file in ("part-0.parquet", "_SUCCESS"):
        (folder / file).write_bytes(b"")
        os.utime(folder / file, ns=(NOW_NS - age_ns, NOW_NS - age_ns))


def reader(up_to: int, table: str = "units") -> ConsumerState:
    return ConsumerState(checkpoints={table: at(up_to), "other": at(1)})


@pytest.fixture
def kept(settings: Settings) -> Settings:
    """Commits 1 to 6, the feeds of 2 to 6 two hours old; beside them what two dead writers and a live one left."""
    commit(settings, 1, None)
    for number in range(2, 7):
        put_folder(settings, f"feed{number}", age_ns=2 * HOUR_NS)
        commit(settings, number, f"feed{number}")
    put_folder(settings, "dead", age_ns=HOUR_NS + 1)
    (folders(settings) / "dead_at_once").mkdir()
    put_folder(settings, "alive", age_ns=HOUR_NS)
    return settings


@pytest.mark.parametrize(
    ("states", "served", "left"),
    [
        ({"a": reader(4), "b": reader(3)}, None, "456"),
        ({"a": reader(6)}, None, ""),
        ({"a": reader(9), "b": ConsumerState(), "c": reader(2, "agents")}, None, ""),
        ({"a": ConsumerState(checkpoints={"units": BEGINNING})}, None, "23456"),
        ({"c": reader(2, "agents")}, None, "23456"),
        ({}, None, "23456"),
        ({}, at(3), "456"),
        ({"a": reader(3)}, at(5), "456"),
    ],
)
def test_what_every_consumer_has_read_is_forgotten_and_what_dead_writers_left(
    kept: Settings, states: Mapping[str, ConsumerState], served: Instant | None, left: str
) -> None:
    expected = {"alive", *(f"feed{number}" for number in left)}
    removed = forget_changes(units(kept), states.values(), kept, now_ns=NOW_NS, served=served)
    assert {path.name for path in folders(kept).iterdir()} == expected
    assert removed == 8 - len(expected)
    assert forget_changes(units(kept), states.values(), kept, now_ns=NOW_NS, served=served) == 0


def test_the_newest_commits_alone_are_kept_for_one_who_never_reads(kept, monkeypatch):
    monkeypatch.setattr(change_feed, "MAX_KEPT", 2)
    forget_changes(units(kept), [reader(1)], kept, now_ns=NOW_NS)
    assert {path.name for path in folders(kept).iterdir()} == {"alive", "feed5", "feed6"}


def test_a_folder_just_written_stays_whoever_has_read_it(kept):
    put_folder(kept, "feed7", age_ns=HOUR_NS)
    commit(kept, 7, "feed7")
    forget_changes(units(kept), [reader(7)], kept, now_ns=NOW_NS)
    assert {path.name for path in folders(kept).iterdir()} == {"alive", "feed7"}


def test_a_removal_that_is_cut_off_leaves_a_folder_that_counts_as_gone(kept, monkeypatch):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spark_jobs.storage.filesystem.Filesystem.delete_tree", die)
    with pytest.raises(KeyboardInterrupt):
        forget_changes(units(kept), [reader(6)], kept, now_ns=NOW_NS)
    left = {path.name: sorted(file.name for file in path.iterdir()) for path in folders(kept).glob("*[d2]")}
    assert left == {"dead": ["part-0.parquet"], "feed2": ["_SUCCESS", "part-0.parquet"]}


def test_a_table_without_a_feed_has_nothing_to_forget(settings):
    commit(settings, 1, None)
    assert forget_changes(units(settings), [reader(1)], settings, now_ns=NOW_NS) == 0
    shutil.rmtree(settings.table_path("units"))
    assert forget_changes(units(settings), [], settings, now_ns=NOW_NS) == 0


def test_a_removal_of_the_feed_that_is_cut_off_leaves_no_folder_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def die(*_: object) -> None:
        raise OSError("cut off")

    folder = tmp_path / ".changes" / "units" / "a"
    folder.mkdir(parents=True)
    for name in ("_SUCCESS", "part-0.parquet"):
        (folder / name).write_bytes(b"")
    monkeypatch.setattr(Filesystem, "delete_tree", die)
    with pytest.raises(OSError, match="cut off"):
        drop_changes("units", Settings(base_path=str(tmp_path)))
    assert [file.name for file in folder.iterdir()] == ["part-0.parquet"]
