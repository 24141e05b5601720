"""The files with the rows of some partitions as they are now, of a copy-on-write table, without Hudi's reader.

Hudi lists the folders in a Spark job, after a relation was made that a lookup of two columns needs nothing of. Which
files are read is decided by the same facts: of each file group the newest file of a completed commit, and none of a
group that a commit replaced.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.storage.commit_files import is_pattern
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.timeline import Timeline

_NAME = re.compile(r"^(?P<group>[^_.][^_]*)_[^_]+_(?P<time>\d{17})\.parquet$")
_FORM = {"hoodie.table.type": "COPY_ON_WRITE", "hoodie.datasource.write.hive_style_partitioning": "true"}
_LOG = ".log."
_MOST_FOLDERS = 20
"""Of more the executors list the folders."""

log = logging.getLogger(__name__)


def latest_files(timeline: Timeline, partitions: Sequence[str]) -> Mapping[str, int] | None:
    """Bytes of each file, by its path below the table's folder; None when it is not certain that they are all.

    Args:
        timeline: of the table, settled, whose lease the caller holds.
        partitions: folders below the table's folder; one that is not there has no rows.
    """
    has_form = all(timeline.properties.get(name) == value for name, value in _FORM.items())
    if not has_form or not timeline.writes or len(partitions) > _MOST_FOLDERS:
        return None
    files = Filesystem(timeline.path)
    newest: dict[tuple[str, str], tuple[Instant, str, int]] = {}
    for partition in partitions:
        for entry in files.list_files(partition):
            name = entry.path.rpartition("/")[2]
            if name.startswith(".") and _LOG not in name:
                continue
            found = _NAME.match(name)
            group, time = (found["group"], Instant(found["time"])) if found else ("", BEGINNING)
            if time in timeline.pending:
                continue
            known, path = newest.get((partition, group)), f"{partition}/{name}"
            is_certain = found and timeline.is_finished(time) and not (known and known[0] == time)
            if not is_certain or is_pattern(f"{timeline.path}/{path}"):
                log.info("%s: Hudi finds the rows of partition %s, because of %s", timeline.table, partition, name)
                return None
            if known is None or known[0] < time:
                newest[partition, group] = time, path, entry.size
    there = newest.keys() - timeline.replaced_groups.keys()
    return {path: size for group, (_, path, size) in newest.items() if group in there}


def read_files(spark: SparkSession, timeline: Timeline, paths: Sequence[str], columns: str) -> DataFrame:
    """The rows of files of a table, one or more; ``columns`` (DDL) are those of them to be read, with their types."""
    return spark.read.schema(columns).parquet(*(f"{timeline.path}/{path}" for path in paths))
