"""The files of a load: which they are, what they hold, and the fingerprint by which the same load is known again."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.names import plain, show, show_all, show_path, spell
from spark_jobs.lake_spec.loads import FileFormat, LoadOperation, LoadSpec
from spark_jobs.sources.file_blocks import BLOCK_BYTES, CutOffError, DamagedError, is_gzip, iter_blocks
from spark_jobs.sources.kept_bytes import GrowingHash, TooLarge
from spark_jobs.sources.records import MAX_RECORD_BYTES
from spark_jobs.storage.filesystem import FileEntry, Filesystem

_ENDINGS = {
    ".csv": FileFormat.CSV,
    ".json": FileFormat.JSON,
    ".jsonl": FileFormat.JSON,
    ".ndjson": FileFormat.JSON,
    ".parquet": FileFormat.PARQUET,
}
_MOST_REASON = 200
_LINE_ENDS = ("\n", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFiles:
    """Files to be loaded, in the order of their names: of rows with the same key the last one counts.

    ``fingerprint`` is of their names, sizes and contents, and of what is to be done with them.
    """

    root: str
    entries: tuple[FileEntry, ...]
    format: FileFormat
    delimiter: str
    fingerprint: str
    messages: tuple[str, ...] = ()

    def check_still(self) -> None:
        """Raise TransientError when a file is another than it was when it was looked at."""
        files = Filesystem(self.root)
        for entry in self.entries:
            if files.find_file(_name_of(entry)) != entry:
                raise TransientError(f"{spell(entry.path)} changed while it was read; run the load again")


def find_files(
    path: str, load: LoadSpec, operation: LoadOperation, *, format_: FileFormat | None, delimiter: str
) -> LoadFiles:
    """Look at the file, or the files directly in the folder, that ``path`` names, and read them once.

    Names that begin with ``.`` or ``_`` or end in ``.tmp`` are left alone as unfinished.

    Raises:
        ContractError: there is none, or one is not what it should be: nothing of the load is taken then.
    """
    root, entries, messages = _list(path)
    kind = format_ or _format_of(entries, path)
    digest = hashlib.sha256(json.dumps([operation, kind, delimiter]).encode())
    files = Filesystem(root)
    for entry in entries:
        content, columns = hashlib.sha256(), None
        try:
            with files.open(entry.path) as file:
                while block := file.read(BLOCK_BYTES):
                    content.update(block)
            with files.open(entry.path) as file:
                columns = _columns_in(file, kind, delimiter)
        except (OSError, ValueError, csv.Error, CutOffError, DamagedError) as error:
            reason = plain(str(error) or "it ends in the middle")[:_MOST_REASON]
            raise ContractError(
                f"{show_path(entry.path)} cannot be read as {kind.value} ({reason}); nothing was loaded: correct it"
            ) from error
        messages += _check_columns(entry, load, operation, columns)
        digest.update(json.dumps([_name_of(entry), entry.size, content.hexdigest()]).encode())
    return LoadFiles(
        root=root,
        entries=entries,
        format=kind,
        delimiter=delimiter,
        fingerprint=digest.hexdigest()[:32],
        messages=tuple(messages),
    )


def open_text(file: Any) -> io.TextIOWrapper:
    """The text of a plain or gzip file in UTF-8; bytes that are none become characters that no text has."""
    return io.TextIOWrapper(open_bytes(file), encoding="utf-8-sig", errors="surrogateescape", newline="")


def open_bytes(file: Any) -> io.BufferedReader:
    """The bytes of a file after decompression."""
    import gzip

    # Both give bytes and say where they are; the types do not know it of what pyarrow opens.
    source: Any = gzip.GzipFile(fileobj=file) if is_gzip(file) else file
    return io.BufferedReader(source)


def iter_texts(file: Any) -> Iterator[tuple[str, TooLarge | None]]:
    """The lines of a file with their ends; of one that is too long its beginning, and how large it is."""
    source = open_text(file)
    while line := source.readline(MAX_RECORD_BYTES + 1):
        if len(line) <= MAX_RECORD_BYTES or line.endswith(_LINE_ENDS):
            yield line, None
            continue
        whole, rest = GrowingHash(), line
        while rest:
            whole.update(rest.encode("utf-8", "surrogateescape"))
            rest = "" if rest.endswith(_LINE_ENDS) else source.readline(MAX_RECORD_BYTES)
        yield line, whole.close()


def _list(path: str) -> tuple[str, tuple[FileEntry, ...], list[str]]:
    place = (path if "://" in path else os.path.abspath(path)).rstrip("/")
    parent, _, name = place.rpartition("/")
    is_bucket = parent.endswith(":/")
    if not is_bucket and (entry := Filesystem(parent or "/").find_file(name)):
        return parent or "/", (entry,), []
    files = Filesystem(place)
    entries = tuple(entry for entry in files.list_files() if not _is_unfinished(_name_of(entry)))
    messages = [f"{path} is not read: its name is not UTF-8; rename it" for path in files.unreadable]
    if not entries:
        raise ContractError(f"there is no file to load at {show_path(path)}; give a file, or the folder that has them")
    return place, entries, messages


def _format_of(entries: Iterable[FileEntry], path: str) -> FileFormat:
    found = {_ENDINGS.get(os.path.splitext(_name_of(entry).removesuffix(".gz"))[1].lower()) for entry in entries}
    kind = found.pop()
    if found or kind is None:
        raise ContractError(f"the names of the files at {show_path(path)} do not give one format; give --format")
    return kind


def _columns_in(file: Any, kind: FileFormat, delimiter: str) -> list[str] | None:
    """The columns that the file says it has; None where each row says it. A gzip file is read to its end."""
    if kind is FileFormat.PARQUET:
        import pyarrow.parquet as pq

        return list(pq.ParquetFile(file).schema_arrow.names)
    if is_gzip(file):
        for _ in iter_blocks(file):
            continue
        file.seek(0)
    if kind is FileFormat.JSON:
        return None
    return next(csv.reader(_header_lines(file), delimiter=delimiter, strict=True), [])


def _header_lines(file: Any) -> Iterator[str]:
    for line, large in iter_texts(file):
        if large:
            raise ValueError(f"its header has a line of {large.size:,} bytes")
        yield line


def _check_columns(entry: FileEntry, load: LoadSpec, operation: LoadOperation, columns: list[str] | None) -> list[str]:
    """Raise ContractError when a column is not there, or twice; says which others are left out."""
    if columns is None:
        return []
    wanted = needed_columns(load, operation)
    name = show_path(entry.path)
    if missing := [each for each in wanted if each not in columns]:
        raise ContractError(f"{name} has no columns {show_all(missing)}; it has {show_all(columns)}")
    if twice := sorted({each for each in wanted if columns.count(each) > 1}):
        raise ContractError(f"{name} has columns {show_all(twice)} twice; rename one")
    others = sorted({each for each in columns if each not in {column.source for column in load.columns}})
    return [f"{name}: columns {show_all(others)} are not declared and were left out"] if others else []


def needed_columns(load: LoadSpec, operation: LoadOperation) -> tuple[str, ...]:
    """What the files call the columns that have to be there: all, but of keys to delete the key's alone."""
    is_key = operation is LoadOperation.DELETE
    return tuple(column.source for column in load.columns if not is_key or column.name in load.key)


def check_delimiter(text: str) -> None:
    """Raise ContractError unless it can separate the values of CSV."""
    if len(text) != 1 or text in '"\r\n' or not text.isascii() or text.isalnum():
        raise ContractError(f"--delimiter {show(text)} is not one character; give one character, such as ';'")


def _name_of(entry: FileEntry) -> str:
    return entry.path.rpartition("/")[2]


def _is_unfinished(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(".tmp")
