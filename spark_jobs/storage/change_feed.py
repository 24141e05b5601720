"""The change feed: for each commit of a table, the rows it changed as its readers saw them before and after.

Hudi's incremental pull says what a row is now. A mart that adds rows up must also know what a row was, to take it
away. So a writer puts both beside the table, as Parquet in a folder of its own below ``<base>/.changes/<table>``, and
then commits with the folder's name in the commit's metadata. There is no moment at which feed and table disagree: a
folder that no commit names never happened, a commit that is rolled back or restored away takes its folder with it.

A feed is never needed to be right, just to be quick: whoever finds a part of it missing computes from the table.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from spark_jobs.contracts.changes import AFTER, BEFORE
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.commit_columns import pack_columns, unpack_columns
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

__all__ = [
    "AFTER",
    "BEFORE",
    "CHANGES_KEY",
    "FOLDER_COLUMN",
    "columns_of_changes",
    "drop_changes",
    "folders_in",
    "forget_changes",
    "read_changes",
    "read_folders",
    "write_changes",
]

FOLDER = ".changes"
FOLDER_COLUMN = "folder"
"""Of rows that are read folder by folder: the one that a row is from."""
CHANGES_KEY, COLUMNS_KEY = "changes", "changes_columns"
"""Commit metadata keys (without prefix) of the name of the commit's folder, and of the columns in it."""
MAX_KEPT = 1000
"""Commits whose folders are kept at most, however far behind a consumer is."""
MIN_AGE_NS = 60 * 60 * 10**9
"""A folder is removed only when nothing in it was changed for so long: a writer may be about to commit it."""
_COMPLETE = "_SUCCESS"
"""Spark's mark in a folder that was written to its end."""

log = logging.getLogger(__name__)


def write_changes(changes_df: DataFrame, table: str, settings: Settings) -> dict[str, str]:
    """Write ``before`` and ``after`` of a commit that is about to be made; gives what its metadata has to name."""
    folder = uuid.uuid4().hex
    changes_df.select(BEFORE, AFTER).write.parquet(f"{_root(table, settings)}/{folder}")
    return {CHANGES_KEY: folder, COLUMNS_KEY: pack_columns(changes_df.schema[AFTER].dataType)}


def read_changes(spark: SparkSession, timeline: Timeline, window: InstantRange, settings: Settings) -> DataFrame | None:
    """What the commits in ``(after, up_to]`` changed: ``before`` and ``after``, one row for each key and commit.

    A key that several commits changed comes several times, in no order: what each took away the one before had added,
    so sums over ``after`` less sums over ``before`` are right. A column that was declared between two commits is null
    in the older one.

    What comes back is a scan of Parquet files. Hudi's incremental reader turns vectorized reading off for the session
    while a plan is being carried out; the project's sessions read structs without it, so the feed may be in one
    plan with anything. In a session that was configured elsewhere, pin and count it first.

    Returns:
        None when it cannot be known what changed, and the caller has to recompute: ``after`` is no write of the
        timeline, a commit names no folder or its folder is gone, a column changed its type between two commits. None
        too when no commit of the window changed rows (see :meth:`Timeline.changes_in`): there is nothing to read.
    """
    folders = folders_in(timeline, window, settings)
    if not folders:
        return None
    paths = [f"{_root(timeline.table, settings)}/{folder}" for folder in folders]
    columns = [columns_of_changes(timeline, commit) for commit in timeline.changes_in(window)]
    known = [each for each in columns if each is not None]
    feed_df = _read_known(spark, paths, known) if len(known) == len(columns) else _read_merged(spark, paths)
    if feed_df is None:
        log.info("table %s: a column changed its type between two commits of the change feed", timeline.table)
    else:
        described = feed_df.schema.simpleString()
        log.info("table %s: %d commits of the change feed, %s", timeline.table, len(paths), described)
    return feed_df


def folders_in(timeline: Timeline, window: InstantRange, settings: Settings) -> list[str] | None:
    """The folders of the commits in ``(after, up_to]`` that may have changed rows, oldest first.

    Returns:
        None when ``after`` is no write of the timeline, a commit names no folder or its folder is gone.
    """
    if not timeline.holds(window.after):
        return None
    files, folders = Filesystem(_root(timeline.table, settings)), list[str]()
    for commit in timeline.changes_in(window):
        folder = _folder_of(timeline, commit)
        if folder is None or files.read(f"{folder}/{_COMPLETE}") is None:
            log.info("table %s: no change feed of commit %s", timeline.table, commit.time)
            return None
        folders.append(folder)
    return folders


def read_folders(
    spark: SparkSession, table: str, folders: Iterable[str], columns: StructType, settings: Settings
) -> DataFrame:
    """What is in these folders, whose commits all have these columns: ``before``, ``after`` and ``folder``."""
    paths = [f"{_root(table, settings)}/{folder}" for folder in folders]
    schema = StructType().add(BEFORE, columns).add(AFTER, columns)
    folder = F.regexp_extract(F.col("_metadata.file_path"), r"([^/]+)/[^/]+$", 1)
    return spark.read.schema(schema).parquet(*paths).select(BEFORE, AFTER, folder.alias(FOLDER_COLUMN))


def forget_changes(
    timeline: Timeline,
    consumers: Iterable[ConsumerState],
    settings: Settings,
    *,
    now_ns: int,
    served: Instant | None = None,
) -> int:
    """Remove the folders that no consumer will read again, and that did not change for an hour; gives how many.

    Needed are those of commits beyond the smallest checkpoint that a consumer has on the table, among the newest
    ``MAX_KEPT``; with no consumer, of all of these. Everything else goes, also what a dead writer left. It needs no
    lease: a commit whose folder is gone is one that readers recompute.

    Args:
        timeline: the table, listed before the call.
        consumers: every registered consumer, also those that do not read the table.
        settings: where the lake is.
        now_ns: the clock, in nanoseconds since 1970, as file times are.
        served: of a mart, the instant that the serving store has; it reads on from there.
    """
    files = Filesystem(_root(timeline.table, settings))
    checkpoints = [state.checkpoints[timeline.table] for state in consumers if timeline.table in state.checkpoints]
    read_by_all = min([*checkpoints, *([served] if served else [])], default=BEGINNING)
    needed = {_folder_of(timeline, commit) for commit in timeline.writes[-MAX_KEPT:] if commit.time > read_by_all}
    removed = 0
    for folder in sorted(set(files.folders()) - needed):
        if now_ns - files.newest_change(folder) > MIN_AGE_NS:
            _remove(files, folder)
            removed += 1
    return removed


def drop_changes(table: str, settings: Settings) -> None:
    """Remove the whole feed of a table: readers that had not read it recompute."""
    files = Filesystem(_root(table, settings))
    for folder in files.folders():
        _remove(files, folder)
    with suppress(FileNotFoundError):
        files.delete_tree()


def _remove(files: Filesystem, folder: str) -> None:
    """Remove a folder, its mark first: a removal that is cut off leaves a folder that counts as gone."""
    files.delete(f"{folder}/{_COMPLETE}")
    with suppress(FileNotFoundError):
        files.delete_tree(folder)


def _root(table: str, settings: Settings) -> str:
    return f"{settings.table_path(FOLDER)}/{table}"


def _folder_of(timeline: Timeline, commit: CompletedWrite) -> str | None:
    return timeline.metadata(commit).get(METADATA_PREFIX + CHANGES_KEY)


def columns_of_changes(timeline: Timeline, commit: CompletedWrite) -> StructType | None:
    """The columns of the commit's feed; None for one of a release that did not keep them."""
    return unpack_columns(timeline.metadata(commit).get(METADATA_PREFIX + COLUMNS_KEY))


def _read_known(spark: SparkSession, paths: Sequence[str], rows: Iterable[StructType]) -> DataFrame | None:
    """The files by the columns that their commits name; None when one has two types.

    Without a schema Spark would start a job to read the footers of all files.
    """
    types: dict[str, DataType] = {}
    for field in (field for row in rows for field in row):
        if types.setdefault(field.name, field.dataType).simpleString() != field.dataType.simpleString():
            return None
    row = StructType([StructField(name, type_) for name, type_ in types.items()])
    return spark.read.schema(StructType().add(BEFORE, row).add(AFTER, row)).parquet(*paths)


def _read_merged(spark: SparkSession, paths: Sequence[str]) -> DataFrame | None:
    """The same by the files' own columns, for commits of releases that did not name them."""
    try:
        feed_df = spark.read.option("mergeSchema", "true").parquet(*paths)
        _ = feed_df.schema  # over Spark Connect the files are not looked at before
    except Exception as error:
        if "CANNOT_MERGE_SCHEMAS" in str(error):
            return None
        raise
    return feed_df
