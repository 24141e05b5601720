"""Files that commits name: rows of an append-only table's window, or of a part of a commit, without Hudi's relation.

A commit file names the files that the commit wrote. In a copy-on-write table these files never change, so their rows
are those of the commit for as long as they are there and no later commit took some away or wrote them again. Clustering
moves rows into other files and leaves the old ones to the cleaner: both have the same rows, until the cleaner comes, or
something changes the new ones.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from spark_jobs.contracts.instants import Instant, InstantRange
from spark_jobs.storage.commit_columns import has_types_of, table_columns, written_columns
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.timeline import Timeline

_PATTERN = re.compile(r"[*?{}\[\]\\]")
"""What Spark takes for a pattern in the path of a file."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """Files by their paths below the table's folder; none when nothing changed.

    ``stored`` are the columns in them, ``columns`` those of the table as they are now; None when no commit says them.
    """

    paths: tuple[str, ...]
    stored: StructType | None
    columns: StructType | None


def files_of_window(timeline: Timeline, window: InstantRange) -> NamedFiles | None:
    """The files with all rows that were written in the window; None when that is not certain.

    It is when a copy-on-write table knows where the window begins, every commit in the window added files that are
    still there, with columns of the types that the table has now, and no later commit changed their rows.
    """
    if not timeline.holds(window.after) or timeline.properties.get("hoodie.table.type") != "COPY_ON_WRITE":
        return None
    changes, columns = timeline.changes_in(window), table_columns(timeline)
    if columns is None or not all(_is_readable(timeline, write, columns) for write in changes):
        return None
    paths = tuple(path for write in changes for path in base_files(timeline, write))
    if is_rewritten_after(timeline, window.after) or is_updated_after(timeline, window.after, paths):
        return None
    if missing := missing_files(timeline, paths):
        log.info("%s: %d files of the window are no longer there: Hudi finds its rows", timeline.table, len(missing))
        return None
    return NamedFiles(paths=paths, stored=columns, columns=columns)


def files_of_commit(timeline: Timeline, write: CompletedWrite, paths: Sequence[str]) -> NamedFiles:
    """Some files of a commit that its caller knows to be readable."""
    return NamedFiles(paths=tuple(paths), stored=written_columns(timeline, write), columns=table_columns(timeline))


def _is_readable(timeline: Timeline, write: CompletedWrite, columns: StructType) -> bool:
    """True for a commit that only added files, with columns of these types as far as there are such."""
    written = written_columns(timeline, write) if timeline.is_append(write) else None
    is_whole = len(base_files(timeline, write)) == len(timeline.files_written(write))
    return is_whole and written is not None and has_types_of(written, columns)


def base_files(timeline: Timeline, write: CompletedWrite) -> Mapping[str, int]:
    """Bytes of the commit's files by path, in the order of the paths.

    Empty when some are no base files, or have a path that Spark would take for a pattern.
    """
    found = timeline.files_written(write)
    is_readable = all(path.endswith(".parquet") and not is_pattern(path) for path in found)
    return dict(sorted(found.items())) if is_readable else {}


def is_pattern(path: str) -> bool:
    """True for a path that Spark would take for a pattern of several."""
    return _PATTERN.search(path) is not None


def missing_files(timeline: Timeline, paths: Collection[str]) -> list[str]:
    """Those of the paths below the table's folder at which there is no file."""
    files = Filesystem(timeline.path)
    folders = {path.rpartition("/")[0] for path in paths}
    entries = [entry for folder in folders for entry in files.list_files(folder)]
    return sorted(set(paths) - {entry.path.removeprefix(files.root).strip("/") for entry in entries})


def is_rewritten_after(timeline: Timeline, instant: Instant) -> bool:
    """True when a later commit may have taken rows away with their files: it rewrote the table or partitions."""
    later = (write for write in timeline.writes if write.time > instant)
    return any(write.action == "replacecommit" and not timeline.is_service(write) for write in later)


def is_updated_after(timeline: Timeline, instant: Instant, paths: Collection[str]) -> bool:
    """True when a later commit wrote into the file groups of these files, as an upsert does: they have older rows.

    Or into groups into which a service moved their rows.
    """
    known = set(paths)
    groups = set(map(_group_of, known))
    for write in timeline.writes:
        if write.time <= instant:
            continue
        written = {_group_of(path) for path in timeline.files_written(write) if path not in known}
        if not timeline.is_service(write):
            if not groups.isdisjoint(written):
                return True
        elif not groups.isdisjoint(timeline.groups_replaced(write)):
            groups |= written
    return False


def _group_of(path: str) -> tuple[str, str]:
    """Partition and id of a file's group."""
    partition, _, name = path.rpartition("/")
    return partition, name.lstrip(".").split("_")[0]
