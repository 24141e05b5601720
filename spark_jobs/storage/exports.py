"""Rows written as files for other programs: as a whole or not at all, and counted by what the files say.

Spark writes into a folder with a name of its own beside the target. Its files are counted there, get short names, and
take the target's name in one step; on an object store, which cannot rename a folder, they are moved one by one and
``_SUCCESS`` comes last. An export that dies leaves such a folder (``.export-…``) and the target as it was. Only one
that dies while it fills a folder of an object store leaves that without ``_SUCCESS``.
"""

from __future__ import annotations

import gzip
import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import ExportFormat, ExportTarget
from spark_jobs.contracts.names import show_path
from spark_jobs.storage.filesystem import FileEntry, Filesystem

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
_SUCCESS = "_SUCCESS"
_OF_EXPORT = re.compile(r"_SUCCESS|part-\d+\.(?:parquet|csv|csv\.gz)")
_CHUNK = 8 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCounts:
    """What was written: rows and bytes by the files themselves."""

    rows: int
    bytes: int
    files: int


def check_free(target: ExportTarget) -> None:
    """Raise ContractError when there is something at the target that may not be replaced."""
    _check_free(Filesystem(target.parent), target)


def write_export(spark: SparkSession, rows_df: DataFrame, target: ExportTarget, *, header: str = "") -> ExportCounts:
    """Write the rows to the target.

    Args:
        spark: the session.
        rows_df: the rows; for CSV their lines, one text column, of which the first in each partition has the header.
        target: where to, and in which form.
        header: the first line of a CSV without rows.

    Raises:
        ContractError: something is there that may not be replaced, or Spark wrote where this process cannot look.
    """
    files, staged = Filesystem(target.parent), f".export-{uuid.uuid4().hex}"
    _check_free(files, target)
    try:
        _write(spark, rows_df, target, f"{target.parent.rstrip('/')}/{staged}")
        done, names = _look_through(files, staged, target, header)
        _check_free(files, target)
        if not target.is_folder:
            _publish_file(files, f"{staged}/{next(iter(names))}", target.name)
        elif files.is_local:
            _publish_folder(files, staged, names, target)
        else:
            _publish_objects(files, staged, names, target)
    finally:
        _remove(files, staged)
    log.info("%s: %d rows, %d bytes in %d files", target.path, done.rows, done.bytes, done.files)
    return done


def _check_free(files: Filesystem, target: ExportTarget) -> None:
    shown = show_path(target.path)
    if files.changed_ns(target.name) is None:
        return
    if not target.overwrite:
        raise ContractError(f"{shown} is there already; give another name, or --overwrite")
    if target.is_folder is (files.find_file(target.name) is not None):
        kinds = ("file", "folder") if target.is_folder else ("folder", "file")
        raise ContractError(f"{shown} is a {kinds[0]} and would become a {kinds[1]}; remove it or give another name")
    if not target.is_folder:
        return
    inside = [entry.path.rpartition("/")[2] for entry in files.list_files(target.name)]
    others = [*(name for name in inside if not _OF_EXPORT.fullmatch(name)), *files.folders(target.name)]
    if others:
        raise ContractError(
            f"{shown} has files that are of no export ({show_path(others[0])}), which would be lost; give another name"
        )


def _write(spark: SparkSession, rows_df: DataFrame, target: ExportTarget, path: str) -> None:
    writer = rows_df.write.mode("error")
    if target.format is ExportFormat.CSV:
        writer.text(path, compression="gzip" if target.is_gzip else "none", lineSep="\n")
        return
    with _standard_timestamps(spark):
        writer.parquet(path)


@contextmanager
def _standard_timestamps(spark: SparkSession) -> Iterator[None]:
    """Timestamps as the format knows them, and not in Spark's old form INT96, which many readers refuse."""
    before = spark.conf.get(_TIMESTAMPS)
    spark.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(_TIMESTAMPS, str(before))


def _look_through(
    files: Filesystem, staged: str, target: ExportTarget, header: str
) -> tuple[ExportCounts, Mapping[str, str]]:
    """Count what Spark wrote; gives the names of the files to keep and their new ones, in the order of the rows."""
    entries = {entry.path.rpartition("/")[2]: entry for entry in files.list_files(staged)}
    if _SUCCESS not in entries:
        raise ContractError(
            f"what Spark wrote below {show_path(target.parent)} is not to be seen from here; export to a place that "
            f"Spark and the job both see, such as s3a://bucket/folder/name"
        )
    parts = sorted((name for name in entries if name.startswith("part-")), key=lambda name: int(name.split("-")[1]))
    rows = {name: _count(files, entries[name], target) for name in parts}
    if target.format is ExportFormat.CSV:
        parts = [name for name in parts if rows[name]]  # a partition without rows has no header
        if not parts:
            content = header.encode()
            parts = [f"part-0{target.ending}"]
            files.write(f"{staged}/{parts[0]}", gzip.compress(content, mtime=0) if target.is_gzip else content)
    sizes = {entry.path.rpartition("/")[2]: entry.size for entry in files.list_files(staged)}
    names = {name: f"part-{number:05d}{target.ending}" for number, name in enumerate(parts)}
    return ExportCounts(rows=sum(rows.values()), bytes=sum(sizes[name] for name in parts), files=len(parts)), names


def _count(files: Filesystem, entry: FileEntry, target: ExportTarget) -> int:
    with files.open(entry.path) as stream:
        if target.format is ExportFormat.CSV:
            return count_csv_rows(gzip.GzipFile(fileobj=stream, mode="rb") if target.is_gzip else stream)
        from pyarrow import parquet

        return int(parquet.ParquetFile(stream).metadata.num_rows)


def count_csv_rows(stream: Any) -> int:
    """Lines of a CSV but for its header; a line end within quotes is part of a value."""
    lines, is_quoted = 0, False
    while chunk := stream.read(_CHUNK):
        pieces = chunk.split(b'"')
        lines += sum(piece.count(b"\n") for piece in pieces[int(is_quoted) :: 2])
        is_quoted ^= len(pieces) % 2 == 0
    return max(lines - 1, 0)


def _publish_folder(files: Filesystem, staged: str, names: Mapping[str, str], target: ExportTarget) -> None:
    """Two renames when there is a folder to be replaced: between them there is none."""
    for entry in files.list_files(staged):
        name = entry.path.rpartition("/")[2]
        if name in names:
            files.move(f"{staged}/{name}", f"{staged}/{names[name]}")
        elif name != _SUCCESS:  # checksums of Hadoop's, and files without rows
            files.delete(f"{staged}/{name}")
    replaced = f"{staged}-replaced"
    is_there = files.changed_ns(target.name) is not None
    if is_there:
        files.move(target.name, replaced)
    files.move(staged, target.name)
    if is_there:
        files.delete_tree(replaced)


def _publish_objects(files: Filesystem, staged: str, names: Mapping[str, str], target: ExportTarget) -> None:
    files.delete(f"{target.name}/{_SUCCESS}")
    for entry in files.list_files(target.name):
        files.delete(f"{target.name}/{entry.path.rpartition('/')[2]}")
    for name, new in names.items():
        _make(files, f"{target.name}/{new}", partial(files.move, f"{staged}/{name}", f"{target.name}/{new}"))
    _make(files, f"{target.name}/{_SUCCESS}", partial(files.write, f"{target.name}/{_SUCCESS}", b""))


def _publish_file(files: Filesystem, staged: str, name: str) -> None:
    if files.changed_ns(name) is None:
        _make(files, name, partial(files.move, staged, name))
    else:
        files.move(staged, name)


def _make(files: Filesystem, path: str, write: Callable[[], None]) -> None:
    """Make an object that is not there, whole. An error is none when it is there then: a store's answer can get lost.

    To fail would be wrong: tried again, the export would be refused for what it wrote itself.
    """
    try:
        write()
    except OSError as error:
        if files.is_local or files.find_file(path) is None:
            raise
        log.warning("%s was written, though the store answered with an error (%s)", path, error)


def _remove(files: Filesystem, staged: str) -> None:
    try:
        files.delete_tree(staged)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("%s/%s could not be removed (%s); remove it by hand", files.root, staged, error)
