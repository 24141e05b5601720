"""A table's rows as of its newest commit, kept warm in a long-lived session.

A micro-batch needs the stored rows of the keys it touches. Reading them from files costs as much as the table is large,
so a session that lives on (Spark Connect) keeps them cached, as long as the table's last instant is the one they were
read at. After a commit the changed rows are laid over what is cached. Another writer's commit, or too many layers, and
they are read again: the cache is never the truth.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline

MAX_LAYERS = 32
"""Commits laid over one read of the table before it is read again; each makes the plan a little longer."""

log = logging.getLogger(__name__)


def read_stored(
    spark: SparkSession, timeline: Timeline, settings: Settings, *, key: str, keys_df: DataFrame | None = None
) -> DataFrame | None:
    """Rows of the table as of ``timeline.last``, with a key in ``keys_df`` or all; None when it has no commit."""
    if timeline.last is None:
        return None
    if not _stays_warm(timeline, settings):
        return _with_keys(read_snapshot(spark, timeline.path), keys_df, key)
    kept = _find_kept(spark, timeline)
    if kept is None:
        kept = _keep_whole_table(spark, timeline)
    base_df = _with_keys(spark.table(kept.base), keys_df, key)
    if kept.layers == 0:
        return base_df
    newer_df = _with_keys(spark.table(kept.newer), keys_df, key)
    return base_df.join(F.broadcast(newer_df.select(key)), key, "left_anti").unionByName(
        newer_df, allowMissingColumns=True
    )


def keep_changed(
    spark: SparkSession, timeline: Timeline, settings: Settings, *, key: str, instant: str, changed_df: DataFrame
) -> bool:
    """Lay ``changed_df`` (whole rows, persisted by the caller) over the rows kept at ``timeline.last``.

    Returns:
        True when the table is now kept as of ``instant``; then ``changed_df`` has to stay persisted.
    """
    kept = _find_kept(spark, timeline) if _stays_warm(timeline, settings) else None
    if kept is None or kept.layers >= MAX_LAYERS:
        _forget(spark, timeline)
        return False
    newer_df = changed_df
    if kept.layers:
        older_df = spark.table(kept.newer).join(F.broadcast(changed_df.select(key)), key, "left_anti")
        newer_df = older_df.unionByName(changed_df, allowMissingColumns=True).persist()
    newer_df.createOrReplaceGlobalTempView(f"{_prefix(timeline)}_{instant}_{kept.layers + 1}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Names of the two views that together are the table, and how many commits the newer one holds."""

    base: str
    newer: str
    layers: int


def _find_kept(spark: SparkSession, timeline: Timeline) -> _Kept | None:
    prefix = _prefix(timeline)
    for view in spark.catalog.listTables("global_temp", f"{prefix}_{timeline.last}_*"):
        layers = int(view.name.rsplit("_", 1)[-1])
        return _Kept(base=f"global_temp.{prefix}_base", newer=f"global_temp.{view.name}", layers=layers)
    return None


def _keep_whole_table(spark: SparkSession, timeline: Timeline) -> _Kept:
    _forget(spark, timeline)
    prefix = _prefix(timeline)
    log.info("%s: keeping its rows as of %s in the session", timeline.table, timeline.last)
    rows_df = read_snapshot(spark, timeline.path).persist()
    rows_df.createOrReplaceGlobalTempView(f"{prefix}_base")
    rows_df.createOrReplaceGlobalTempView(f"{prefix}_{timeline.last}_0")
    return _Kept(base=f"global_temp.{prefix}_base", newer=f"global_temp.{prefix}_{timeline.last}_0", layers=0)


def _forget(spark: SparkSession, timeline: Timeline) -> None:
    for view in spark.catalog.listTables("global_temp", f"{_prefix(timeline)}_*"):
        spark.catalog.uncacheTable(f"global_temp.{view.name}")
        spark.catalog.dropGlobalTempView(view.name)


def _prefix(timeline: Timeline) -> str:
    return f"stored_{hashlib.sha256(timeline.path.encode()).hexdigest()[:16]}"


def _with_keys(rows_df: DataFrame, keys_df: DataFrame | None, key: str) -> DataFrame:
    return rows_df if keys_df is None else rows_df.join(F.broadcast(keys_df), key, "left_semi")


def _stays_warm(timeline: Timeline, settings: Settings) -> bool:
    if settings.warm_tables == "off" or (settings.warm_tables == "auto" and not settings.spark_remote):
        return False
    size = sum(entry.size for entry in Filesystem(timeline.path).list_files(recursive=True))
    return size <= settings.warm_megabytes * 1024 * 1024
