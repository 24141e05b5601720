"""Taking a person out of what was delivered: the landing files, and the records kept in quarantine.

Every edit leaves a record as long as it was (see :mod:`spark_jobs.sources.redaction`). So a plain file is changed in
place, while others may append to it, and the places of all its records stay.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.names import spell
from spark_jobs.lake_spec.people import Person
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.python_tasks import Batches, map_batches, map_tasks
from spark_jobs.sources.content_hash import ContentHash
from spark_jobs.sources.file_blocks import (
    GZIP_MAGIC,
    CutOffError,
    DamagedError,
    is_gzip,
    iter_blocks,
    iter_readable,
)
from spark_jobs.sources.file_scan import LedgerEntry, is_whole_object
from spark_jobs.sources.kept_bytes import MAX_KEPT_BYTES
from spark_jobs.sources.redaction import Redactor
from spark_jobs.storage.filesystem import FileEntry, Filesystem

if TYPE_CHECKING:
    pass

_SCHEMA = "path string, records bigint, taken_in bigint, digest string, problem string"
_MOST_TASKS = 64
_MOST_NAME = 64 * 1024
"""Bytes that a name or a key of a person may have, however it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A landing file and what is known of it, in bytes after decompression.

    Whole lines up to ``consumed`` were ingested, and so was every record that begins before ``read_to``. A last line
    without its end belongs to a record that is still being delivered, unless the file ``is_settled``.
    """

    path: str
    is_settled: bool
    consumed: int
    read_to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFinding:
    """What names a person in one landing file: ``records`` in all, and those of them that were ``taken_in``.

    ``digest`` is the hash of the bytes that were consumed, as they are without them; ``problem`` says why a part of
    the file could not be looked at, or is empty.
    """

    path: str
    records: int
    taken_in: int
    digest: str
    problem: str


def parts_of(
    entries: Iterable[FileEntry], ledger: Mapping[str, LedgerEntry], *, settled_before_ns: int
) -> list[FilePart]:
    """The files with what the ledger says was ingested of them; settled are those unchanged since that time (1970).

    With the end of a file that ingest has given up, because it was cut off long ago.
    """
    parts = []
    for entry in entries:
        known = ledger.get(entry.path)
        consumed = known.consumed if known else 0
        read_to = consumed + (known.size == entry.size) if known else 0
        is_settled = entry.modified_ns < settled_before_ns
        parts.append(FilePart(path=entry.path, is_settled=is_settled, consumed=consumed, read_to=read_to))
    return parts


def find_in_files(
    spark: SparkSession, spec: LakeSpec, person: Person, root: str, parts: Sequence[FilePart]
) -> list[FileFinding]:
    """Look through landing files, on the executors; gives those with something to edit or to report."""
    return _on_executors(spark, spec, person, root, parts, find_in_file)


def edit_files(
    spark: SparkSession, spec: LakeSpec, person: Person, root: str, parts: Sequence[FilePart]
) -> list[FileFinding]:
    """Take the person out of what was ingested of the files, on the executors; gives what was edited.

    A record that comes to be ingested later is left: it would have another identity. Done again, it changes nothing;
    cut off in the middle, the rest is found again. A file with a ``problem`` was not changed.
    """
    return _on_executors(spark, spec, person, root, parts, edit_file)


def problems_of(found: Iterable[FileFinding]) -> list[str]:
    """The files that could not be looked through, and why."""
    return [f"{spell(file.path)} {file.problem}" for file in found if file.problem]


def edited_ledger(ledger: Mapping[str, LedgerEntry], found: Iterable[FileFinding]) -> dict[str, LedgerEntry]:
    """The ledger once the files are edited: hashes of the bytes that were consumed, as they will be.

    A packed file is written as one member.
    """
    changed = dict(ledger)
    for file in found:
        if file.taken_in and (entry := ledger.get(file.path)) and entry.consumed:
            changed[file.path] = replace(entry, digest=file.digest, stored=0, start=0)
    return changed


def redact_quarantine(rows_df: DataFrame, spec: LakeSpec, person: Person) -> DataFrame:
    """The rejected records that name the person, without them: redacted, or gone where that cannot be.

    ``raw`` is redacted; ``detail``, and words in the history, are gone where they name them. The key of such a row
    stays the hash of what was delivered, so that it is not ingested again.
    """
    return map_batches(rows_df, _build_redaction(spec, person), rows_df.schema)


Step = Callable[[Filesystem, FilePart, Redactor], FileFinding]


def _on_executors(
    spark: SparkSession, spec: LakeSpec, person: Person, root: str, parts: Sequence[FilePart], step: Step
) -> list[FileFinding]:
    if not parts:
        return []
    tasks = min(len(parts), _MOST_TASKS)

    def take(numbers: Iterable[int]) -> Batches:
        import pyarrow as pa

        files, redactor = Filesystem(root), Redactor.build(spec, person)
        for number in numbers:
            found = [step(files, part, redactor) for part in parts[number::tasks]]
            rows = [asdict(finding) for finding in found if finding.records or finding.problem]
            if rows:
                yield pa.RecordBatch.from_pylist(rows)

    rows = map_tasks(spark, tasks, take, _SCHEMA).collect()
    return sorted((FileFinding(**row.asDict()) for row in rows), key=lambda finding: finding.path)


def find_in_file(files: Filesystem, part: FilePart, redactor: Redactor) -> FileFinding:
    """Look through one file; what cannot be read of it is the finding's ``problem``."""
    digest, records, taken_in, problem = ContentHash(), 0, 0, ""
    try:
        for at, stored, wanted in _pieces(files, part, redactor):
            digest.update(wanted[: max(part.consumed - at, 0)])
            if wanted != stored:
                records += 1
                taken_in += at < part.read_to
    except CutOffError:
        problem = "is still being written, or ends too early"
    except DamagedError:
        problem = "is damaged, and what comes after the damage cannot be read"
    return FileFinding(path=part.path, records=records, taken_in=taken_in, digest=digest.text, problem=problem)


def edit_file(files: Filesystem, part: FilePart, redactor: Redactor) -> FileFinding:
    """Edit what was ingested of one file: a plain one in place, while others may append to it."""
    found = find_in_file(files, part, redactor)
    if found.problem or not found.taken_in:
        return found
    relative = part.path.removeprefix(f"{files.root}/")
    changed_ns = files.changed_ns(relative)
    with files.open(part.path) as file:
        is_packed = is_gzip(file)
    pieces = (
        (at, stored, wanted if at < part.read_to else stored) for at, stored, wanted in _pieces(files, part, redactor)
    )
    if files.is_local and not is_packed:
        with open(part.path, "r+b") as plain:
            for at, stored, wanted in pieces:
                if wanted != stored:
                    plain.seek(at)
                    plain.write(wanted)
            plain.flush()
            os.fsync(plain.fileno())
        # The same size and time as before: the next ingest need not read it again to see that nothing came.
        with suppress(PermissionError):  # a file of another owner, which we may write
            os.utime(part.path, ns=(changed_ns or 0, changed_ns or 0))
        return found
    content = b"".join(wanted for _, _, wanted in pieces)
    if files.changed_ns(relative) != changed_ns:
        return replace(found, problem="changed meanwhile")
    files.write(relative, gzip.compress(content, mtime=0) if is_packed else content)
    return found


def _pieces(files: Filesystem, part: FilePart, redactor: Redactor) -> Iterator[tuple[int, bytes, bytes]]:
    """The file in its order: place, bytes as they are and as they should be; a piece that changes is one record.

    Raises:
        CutOffError: after the last piece, when the file ends too early.
        DamagedError: after the last piece before damage.
    """
    held, size, start = list[bytes](), 0, 0
    problem: CutOffError | DamagedError | None = None
    with files.open(part.path) as file:
        try:
            for block in iter_blocks(file):
                if end := block.rfind(b"\n") + 1:
                    content = b"".join((*held, block[:end]))
                    yield from _lines(content, start, redactor)
                    held, size, start = [], 0, start + len(content)
                held.append(block[end:])
                size += len(block) - end
                if size > MAX_KEPT_BYTES:
                    content = b"".join(held)
                    piece = _piece_of_large(content, redactor)
                    yield start, content[: len(piece)], piece
                    held, size, start = [content[len(piece) :]], len(content) - len(piece), start + len(piece)
        except (CutOffError, DamagedError) as error:
            problem = error
    if rest := b"".join(held):  # to blank another would break the record that it is going to be
        is_record = part.is_settled or is_whole_object(rest)
        yield start, rest, redactor.redact(rest) if is_record else rest
    if problem:
        raise problem


def _piece_of_large(content: bytes, redactor: Redactor) -> bytes:
    """Of a line that is too large, the bytes that are done with, as they should be: blank when the person is named.

    Otherwise the last ones are not among them: a name may have begun there.
    """
    if redactor.hint.search(content):
        return b" " * len(content)
    return content[: max(len(content) - _MOST_NAME, 1)]


def _lines(content: bytes, start: int, redactor: Redactor) -> Iterator[tuple[int, bytes, bytes]]:
    if not redactor.hint.search(content):  # at once, which is nearly always
        yield start, content, content
        return
    at = start
    for line in content.split(b"\n")[:-1]:
        yield at, line + b"\n", redactor.redact(line) + b"\n"
        at += len(line) + 1


def _redact_raw(raw: bytes, redactor: Redactor) -> bytes:
    """A rejected record; of one that is compressed (a damaged gzip file) nothing stays if it names them."""
    if not raw.startswith(GZIP_MAGIC):
        return redactor.redact(raw)
    seen, tail = False, b""
    for block in iter_readable(raw):
        if redactor.hint.search(tail + block):
            return b""
        seen, tail = True, (tail + block)[-_MOST_NAME:]
    return raw if seen else b""


def _redact_history(text: str, redactor: Redactor) -> str:
    """What was tried with a record, without the words of people that name the person."""
    attempts = json.loads(text)
    if not any(redactor.mentions(words) for attempt in attempts for words in attempt.values()):
        return text
    hushed = [{k: "" if redactor.mentions(words) else words for k, words in each.items()} for each in attempts]
    return json.dumps(hushed, separators=(",", ":"), ensure_ascii=False)


def _build_redaction(spec: LakeSpec, person: Person) -> Callable[[Batches], Batches]:
    def redact(batches: Batches) -> Batches:
        import pyarrow as pa

        redactor = Redactor.build(spec, person)
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for row in batch.to_pylist():
                wanted = {**row, "raw": _redact_raw(row["raw"] or b"", redactor)}
                if redactor.mentions(row["detail"] or ""):
                    wanted["detail"] = ""
                if row.get("history"):
                    wanted["history"] = _redact_history(row["history"], redactor)
                if wanted != {**row, "raw": row["raw"] or b""}:
                    rows.append(wanted)
            yield pa.RecordBatch.from_pylist(rows, schema=batch.schema)

    return redact
