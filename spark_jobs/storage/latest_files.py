"""The files with the rows of a copy-on-write table, or of some partitions of it, at a commit, without Hudi's reader.

Hudi lists the folders in a Spark job, after a relation was made. Which files are read is decided by the same facts: of
each file group the newest file of a completed commit, and none of a group that a commit replaced.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.instants import BEGINNING, END, Instant
from spark_jobs.storage.commit_files import is_pattern
from spark_jobs.storage.filesystem import FileEntry, Filesystem
from spark_jobs.storage.timeline import Timeline

_NAME = re.compile(r"^(?P<group>[^_./][^_/]*)_[^_/]+_(?P<time>\d{17})\.parquet$")
_TYPE, _HIVE_STYLE = "hoodie.table.type", "hoodie.datasource.write.hive_style_partitioning"
_PARTITIONED_BY = "hoodie.table.partition.fields"
_LOG = ".log."
_MOST_FOLDERS = 256
"""Of more the executors list the folders."""
_SIDE_BY_SIDE = 8

log = logging.getLogger(__name__)


def latest_files(
    timeline: Timeline, partitions: Sequence[str] | None = None, *, as_of: Instant = END
) -> Mapping[str, FileEntry] | None:
    """Each file by its path below the table's folder; None when it is not certain that they are all.

    Args:
        timeline: of the table, as it was listed; what is written meanwhile is left out.
        partitions: folders below the table's folder; one that is not there has no rows. None for all of the table.
        as_of: the rows are those of this commit, which was not cleaned; of the newest one by default.
    """
    if timeline.properties.get(_TYPE) != "COPY_ON_WRITE" or not timeline.writes:
        return None
    files = Filesystem(timeline.path)
    folders = _folders(timeline, files) if partitions is None else partitions
    is_hive_style = timeline.properties.get(_HIVE_STYLE) == "true" or (partitions is None and folders == [""])
    if folders is None or not is_hive_style or len(folders) > _MOST_FOLDERS:
        return None
    newest: dict[tuple[str, str], tuple[Instant, str, FileEntry]] = {}
    for partition, entries in zip(folders, _listed(files, folders), strict=True):
        for entry in entries:
            name = entry.path.removeprefix(files.root).strip("/").removeprefix(partition).lstrip("/")
            if name.startswith(".") and _LOG not in name:
                continue
            found = _NAME.match(name)
            group, time = (found["group"], Instant(found["time"])) if found else ("", BEGINNING)
            if time > as_of or time in timeline.pending:
                continue
            known, path = newest.get((partition, group)), f"{partition}/{name}".lstrip("/")
            is_certain = found and timeline.is_finished(time) and not (known and known[0] == time)
            if not is_certain or is_pattern(f"{timeline.path}/{path}"):
                log.info("%s: Hudi finds the rows of partition %s, because of %s", timeline.table, partition, name)
                return None
            if known is None or known[0] < time:
                newest[partition, group] = time, path, entry
    replaced = {group for group, time in timeline.replaced_groups.items() if time <= as_of}
    return {path: entry for group, (_, path, entry) in newest.items() if group not in replaced}


def _listed(files: Filesystem, folders: Sequence[str]) -> list[list[FileEntry]]:
    """The files of each folder, all below it: a value with a slash in it is a folder in a folder."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        return list(threads.map(lambda folder: files.list_files(folder, recursive=bool(folder)), folders))


def _folders(timeline: Timeline, files: Filesystem) -> list[str] | None:
    """The folders that have all of the table's files; None for a table with partitions in partitions."""
    columns = timeline.properties.get(_PARTITIONED_BY, "")
    found = [name for name in files.folders() if not name.startswith(".")]
    if "," in columns or (found and not columns):
        return None
    return found if columns else [""]


def read_files(spark: SparkSession, timeline: Timeline, paths: Sequence[str], columns: str) -> DataFrame:
    """The rows of files of a table, one or more; ``columns`` (DDL) are those of them to be read, with their types."""
    return spark.read.schema(columns).parquet(*(f"{timeline.path}/{path}" for path in paths))
