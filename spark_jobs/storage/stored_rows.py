"""Stored rows of the keys a run touches, kept warm in a session that lives on.

Reading them from files costs as much as the table is large. So a long-lived session (Spark Connect) keeps the rows of a
table as of one instant, and over them, as layers, what each later run folded out of its events alone. Merging rows is
associative, so base and layers together say what the table says; the merge puts them together. The plan of a layer
holds nothing of what was stored before it, so plans do not grow into each other. The cache is believed only while the
table's last instant is the one it was brought to: after another writer's commit, or too many layers, it is read again.
"""

from __future__ import annotations

import hashlib
import logging

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.pinned import pin
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline

MAX_LAYERS = 16
"""Runs laid over one read of the table before it is read again."""
_LAYERS = "layers"

log = logging.getLogger(__name__)


def read_stored(spark: SparkSession, timeline: Timeline, settings: Settings, *, keys_df: DataFrame) -> DataFrame | None:
    """Stored rows whose key is in ``keys_df`` (its one column), as of ``timeline.last``; None when there is no commit.

    Several rows of one key count as their merge.
    """
    if timeline.last is None:
        return None
    key = keys_df.columns[0]
    if not _stays_warm(timeline, settings):
        return read_snapshot(spark, timeline.path).join(F.broadcast(keys_df), key, "left_semi")
    view = _current(timeline, timeline.last)
    if not spark.catalog.tableExists(view):
        _keep_whole_table(spark, timeline, key)
    return spark.table(view).join(F.broadcast(keys_df), key, "left_semi")


def keep_layer(spark: SparkSession, timeline: Timeline, settings: Settings, *, instant: str, layer: str) -> bool:
    """Lay the rows pinned as ``layer`` over what is kept as of ``timeline.last``; the whole is then as of ``instant``.

    Returns:
        False when nothing is kept of this table; then the layer is of no use.
    """
    before = _current(timeline, timeline.last or "")
    if not _stays_warm(timeline, settings) or not spark.catalog.tableExists(before):
        return False
    before_df = spark.table(before)
    key = before_df.columns[0]
    layers = int((before_df.schema[0].metadata or {}).get(_LAYERS, 0)) + 1
    if layers > MAX_LAYERS:
        _forget(spark, timeline)
        return False
    both_df = before_df.unionByName(spark.table(layer), allowMissingColumns=True)
    others = [name for name in both_df.columns if name != key]
    counted = F.col(key).alias(key, metadata={_LAYERS: layers})
    both_df.select(counted, *others).createOrReplaceGlobalTempView(_current(timeline, instant).split(".")[1])
    spark.catalog.dropGlobalTempView(before.split(".")[1])
    return True


def layer_name(timeline: Timeline) -> str:
    """What to pin a run's own rows as, so that they can become a layer over ``timeline.last``."""
    return f"{_prefix(timeline)}_after_{timeline.last}"


def _prefix(timeline: Timeline) -> str:
    return f"stored_{hashlib.sha256(timeline.path.encode()).hexdigest()[:16]}"


def _current(timeline: Timeline, instant: str) -> str:
    return f"global_temp.{_prefix(timeline)}_as_of_{instant}"


def _keep_whole_table(spark: SparkSession, timeline: Timeline, key: str) -> None:
    _forget(spark, timeline)
    log.info("%s: keeping its rows as of %s in the session", timeline.table, timeline.last)
    rows_df = read_snapshot(spark, timeline.path)
    key_first_df = rows_df.select(key, *(name for name in rows_df.columns if name != key))
    base = pin(spark, key_first_df, f"{_prefix(timeline)}_base")
    spark.table(base).createOrReplaceGlobalTempView(_current(timeline, timeline.last or "").split(".")[1])


def _forget(spark: SparkSession, timeline: Timeline) -> None:
    """Let go of everything kept of the table, but for the rows of the run that is at work."""
    for view in spark.catalog.listTables("global_temp", f"{_prefix(timeline)}_*"):
        if view.name.startswith(layer_name(timeline)):
            continue
        spark.catalog.uncacheTable(f"global_temp.{view.name}")
        spark.catalog.dropGlobalTempView(view.name)


def _stays_warm(timeline: Timeline, settings: Settings) -> bool:
    if settings.warm_tables == "off" or (settings.warm_tables == "auto" and not settings.spark_remote):
        return False
    size = sum(entry.size for entry in Filesystem(timeline.path).list_files(recursive=True))
    return size <= settings.warm_megabytes * 1024 * 1024
