"""Bringing a table to rest before a job writes to it: what a dead writer left is rolled back."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import TableBusyError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import build_settle_options
from spark_jobs.storage.timeline import Timeline

_KEEP_ALL_COMMITS = 1_000_000
_POLL_SECONDS = 1.0

log = logging.getLogger(__name__)


def settled_timeline(spark: SparkSession, table: str, settings: Settings) -> Timeline:
    """The timeline of ``table`` once nothing on it is unfinished. The caller holds the table's lease.

    A pending instant is either of a writer whose process is gone while the engine still works for it (it will
    complete) or of a dead one (its heartbeat ends, then it is rolled back). Both are waited for.

    Raises:
        TableVersionError: the table on disk is of another version.
        TableBusyError: something is still unfinished after ``settings.lease_wait_seconds``.
    """
    path = settings.table_path(table)
    begun = time.monotonic()
    while True:
        timeline = Timeline(table=table, path=path)
        timeline.check_version()
        if timeline.writes or not timeline.has_begun:
            if not timeline.unfinished:
                return timeline
            _roll_back_dead_writes(spark, table, path)
            timeline = Timeline(table=table, path=path)
            if not timeline.unfinished:
                return timeline
        elif _is_quiet(path):
            # Nothing was ever committed, so everything in the folder is of a writer that died creating the table.
            log.warning("%s: removing a table whose creation was cut off", table)
            Filesystem(path).delete_tree()
            continue
        waited = time.monotonic() - begun
        if waited > settings.lease_wait_seconds:
            raise TableBusyError(table=table, holder=f"pending {', '.join(timeline.unfinished)}", waited_seconds=waited)
        log.info("%s: waiting for unfinished %s", table, ", ".join(timeline.unfinished) or "creation")
        time.sleep(_POLL_SECONDS)


def settled_timelines(spark: SparkSession, tables: Iterable[str], settings: Settings) -> list[Timeline]:
    """:func:`settled_timeline` of every table, side by side, in their order."""
    with ThreadPoolExecutor(settings.write_threads) as threads:
        return list(threads.map(lambda table: settled_timeline(spark, table, settings), tables))


def register_table(spark: SparkSession, table: str, path: str) -> str:
    """Make the table known to Spark SQL under a name of its own and return it: procedures want names, not paths."""
    name = f"lakehouse_{hashlib.sha256(path.encode()).hexdigest()[:12]}_{table}"
    location = path.replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{location}'")
    return name


def _roll_back_dead_writes(spark: SparkSession, table: str, path: str) -> None:
    name = register_table(spark, table, path)
    spark.sql(
        f"CALL run_clean(table => '{name}', clean_policy => 'KEEP_LATEST_COMMITS', "
        f"retain_commits => {_KEEP_ALL_COMMITS}, options => '{build_settle_options()}')"
    ).collect()


def _is_quiet(path: str, seconds: float = 20.0) -> bool:
    changes = [entry.modified_ns for entry in Filesystem(path).list_files(recursive=True)]
    return time.time() - max(changes, default=0) / 1e9 > seconds
