"""Taking somebody out of what was delivered: the landing files, and the records kept in quarantine.

Every edit leaves a record as long as it was (see :mod:`spark_jobs.sources.redaction`). So a plain file is changed where
it stands, while others may append to it, and the places of all its records stay.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.people import Person
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.sources.file_blocks import (
    GZIP_MAGIC,
    CutOffError,
    DamagedError,
    decompress_readable,
    is_gzip,
    iter_blocks,
    iter_lines,
)
from spark_jobs.sources.file_scan import LedgerEntry, is_whole_object
from spark_jobs.sources.redaction import Redactor
from spark_jobs.storage.filesystem import FileEntry, Filesystem

if TYPE_CHECKING:
    import pyarrow

_SCHEMA = "path string, offset bigint, content binary, problem string"
_MOST_TASKS = 64

Batches = Iterable["pyarrow.RecordBatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdits:
    """What has to change in one landing file: new bytes by their place, after decompression.

    ``size`` is that of the file as it is stored, when it was listed; ``problem`` says why a part of it could not be
    looked at, or is empty.
    """

    path: str
    size: int
    edits: Mapping[int, bytes] = field(default_factory=dict)
    problem: str = ""


def find_in_files(
    spark: SparkSession,
    spec: LakeSpec,
    person: Person,
    root: str,
    entries: Sequence[FileEntry],
    *,
    settled_before_ns: int,
) -> list[FileEdits]:
    """Look through every landing file, on the executors; gives the files in which something is to be done or said.

    A last line without its end belongs to a record that is still being delivered, unless the file has not changed since
    ``settled_before_ns`` (nanoseconds since 1970).
    """
    if not entries:
        return []
    tasks = min(len(entries), _MOST_TASKS)
    paths = [(entry.path, entry.modified_ns < settled_before_ns) for entry in entries]
    search = _build_search(spec, person, root, paths, tasks)
    found: dict[str, dict[int, bytes]] = {}
    problems: dict[str, str] = {}
    for row in spark.range(0, tasks, 1, tasks).mapInArrow(search, _SCHEMA).toLocalIterator():
        found.setdefault(row["path"], {})
        if row["problem"]:
            problems[row["path"]] = row["problem"]
        else:
            found[row["path"]][row["offset"]] = bytes(row["content"])
    sizes = {entry.path: entry.size for entry in entries}
    return [
        FileEdits(path=path, size=sizes[path], edits=dict(sorted(edits.items())), problem=problems.get(path, ""))
        for path, edits in sorted(found.items())
    ]


def apply_edits(files: Filesystem, entry: FileEntry, edits: Mapping[int, bytes], redactor: Redactor) -> None:
    """Change the file. Done again, it changes nothing; cut off in the middle, the rest is found again.

    Raises:
        TransientError: the file is another one by now; nothing of it was changed where it differs.
    """
    with files.open(entry.path) as file:
        is_packed = is_gzip(file)
        content = bytearray(b"".join(iter_blocks(file))) if is_packed or not files.is_local else None
    if content is None:
        with open(entry.path, "r+b") as plain:
            for offset, text in edits.items():
                plain.seek(offset)
                _check_same(plain.read(len(text)), text, redactor, entry.path)
                plain.seek(offset)
                plain.write(text)
            plain.flush()
            os.fsync(plain.fileno())
        # The same size and time as before: the next ingest need not read it again to see that nothing came.
        os.utime(entry.path, ns=(entry.modified_ns, entry.modified_ns))
        return
    for offset, text in edits.items():
        _check_same(bytes(content[offset : offset + len(text)]), text, redactor, entry.path)
    _overlay(content, 0, edits)
    written = gzip.compress(bytes(content), mtime=0) if is_packed else bytes(content)
    relative = entry.path.removeprefix(f"{files.root}/")
    if files.changed_ns(relative) != entry.modified_ns:
        raise TransientError(f"{entry.path} changed meanwhile; run the erasure again")
    files.write(relative, written)


def read_part(file: FileEdits, ledger: Mapping[str, LedgerEntry]) -> FileEdits:
    """The edits in what was taken in of a file: an edited record has another identity, and must not be taken in later.

    With the end of a file that ingest has given up, because it was cut off long ago.
    """
    entry = ledger.get(file.path)
    if entry is None:
        return replace(file, edits={})
    read_to = entry.consumed + (entry.size == file.size)
    return replace(file, edits={at: text for at, text in file.edits.items() if at < read_to})


def edited_ledger(
    files: Filesystem, ledger: Mapping[str, LedgerEntry], found: Iterable[FileEdits]
) -> dict[str, LedgerEntry]:
    """The ledger once these edits are made: hashes of the bytes that were read, as they will be."""
    changed = dict(ledger)
    for file in found:
        if file.edits and (entry := ledger.get(file.path)) and entry.consumed:
            changed[file.path] = replace(entry, digest=_digest(files, file, entry.consumed))
    return changed


def redact_quarantine(rows_df: DataFrame, spec: LakeSpec, person: Person) -> DataFrame:
    """The rejected records that name the person, without them: ``raw`` redacted, ``detail`` gone where it names them.

    The key of such a row stays the hash of what was delivered, so that it is not taken in again.
    """
    return rows_df.mapInArrow(_build_redaction(spec, person), rows_df.schema)


def _build_search(
    spec: LakeSpec, person: Person, root: str, paths: Sequence[tuple[str, bool]], tasks: int
) -> Callable[[Batches], Batches]:
    def search(batches: Batches) -> Batches:
        import pyarrow as pa

        files, redactor = Filesystem(root), Redactor.build(spec, person)
        schema = pa.schema(
            [("path", pa.string()), ("offset", pa.int64()), ("content", pa.binary()), ("problem", pa.string())]
        )
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for path, is_settled in paths[task::tasks]:
                    rows = [
                        {"path": path, "offset": at, "content": text, "problem": problem}
                        for at, text, problem in _search_file(files, path, redactor, is_settled=is_settled)
                    ]
                    yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return search


def _search_file(
    files: Filesystem, path: str, redactor: Redactor, *, is_settled: bool
) -> Iterator[tuple[int | None, bytes | None, str]]:
    """Place and new bytes of every record to be changed, or what could not be looked at."""
    rest, start, problem = b"", 0, ""
    with files.open(path) as file:
        try:
            for block in iter_blocks(file):
                content = rest + block
                end = content.rfind(b"\n") + 1
                yield from _changed(iter_lines(content[:end], start), redactor)
                rest, start = content[end:], start + end
        except CutOffError:
            problem = "is still being written, or ends too early"
        except DamagedError:
            problem = "is damaged, and what comes after the damage cannot be read"
    if rest and (is_settled or is_whole_object(rest)):  # to blank another would break the record that it is going to be
        yield from _changed([(start, rest)], redactor)
    if problem:
        yield None, None, problem


def _changed(lines: Iterable[tuple[int, bytes]], redactor: Redactor) -> Iterator[tuple[int | None, bytes | None, str]]:
    for at, line in lines:
        redacted = redactor.redact(line)
        if redacted != line:
            yield at, redacted, ""


def _digest(files: Filesystem, found: FileEdits, consumed: int) -> str:
    digest, position = hashlib.sha256(), 0
    with files.open(found.path) as file:
        for block in iter_blocks(file):
            content = bytearray(block[: consumed - position])
            _overlay(content, position, found.edits)
            digest.update(content)
            position += len(content)
            if position >= consumed:
                break
    return digest.hexdigest()


def _overlay(content: bytearray, start: int, edits: Mapping[int, bytes]) -> None:
    """Put the edits into a part of a file that begins at ``start``, as far as they lie in it."""
    for at, text in edits.items():
        first, last = max(at, start), min(at + len(text), start + len(content))
        if first < last:
            content[first - start : last - start] = text[first - at : last - at]


def _check_same(current: bytes, text: bytes, redactor: Redactor, path: str) -> None:
    if current != text and redactor.redact(current) != text:
        raise TransientError(f"{path} changed meanwhile; run the erasure again")


def _redact_raw(raw: bytes, redactor: Redactor) -> bytes:
    """A rejected record; of one that is compressed (a damaged gzip file) nothing stays if it names them."""
    if not raw.startswith(GZIP_MAGIC):
        return redactor.redact(raw)
    readable = decompress_readable(raw)
    return b"" if redactor.hint.search(readable) or not readable else raw


def _build_redaction(spec: LakeSpec, person: Person) -> Callable[[Batches], Batches]:
    def redact(batches: Batches) -> Batches:
        import pyarrow as pa

        redactor = Redactor.build(spec, person)
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for row in batch.to_pylist():
                raw = _redact_raw(row["raw"] or b"", redactor)
                is_named = redactor.mentions(row["detail"] or "")
                if raw != (row["raw"] or b"") or is_named:
                    rows.append({**row, "raw": raw, "detail": "" if is_named else row["detail"]})
            yield pa.RecordBatch.from_pylist(rows, schema=batch.schema)

    return redact
