"""Landing files before and after they are edited: whether they can be, and what is in them; on the executors."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.names import spell
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.file_blocks import CutOffError, DamagedError, is_gzip, iter_blocks
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.storage.filesystem import Filesystem

_SCHEMA = "path string, answer string"
_MOST_TASKS = 64


def find_unwritable(spark: SparkSession, root: str, paths: Sequence[str]) -> list[str]:
    """Those of the files that cannot be edited where they would be, each with the reason; none of them is changed."""
    answers = _on_executors(spark, root, paths, why_unwritable)
    return [f"{spell(path)}: {reason}" for path, reason in sorted(answers.items()) if reason]


def files_as_they_are(
    spark: SparkSession, root: str, ledger: Mapping[str, LedgerEntry], paths: Sequence[str]
) -> dict[str, LedgerEntry]:
    """The ledger with the digests of what these files are now, as far as they were consumed.

    A file that is shorter than that keeps its entry: the next ingest says that it was replaced.
    """
    consumed = {path: ledger[path].consumed for path in paths if path in ledger and ledger[path].consumed}

    def read(files: Filesystem, path: str) -> str:
        return digest_of(files, path, consumed[path])

    now = _on_executors(spark, root, sorted(consumed), read)
    return {**ledger, **{path: replace(ledger[path], digest=digest) for path, digest in now.items() if digest}}


def why_unwritable(files: Filesystem, path: str) -> str:
    """Why a file cannot be edited, or "". A plain local one is changed in place, all others are replaced."""
    relative = path.removeprefix(f"{files.root}/")
    try:
        with files.open(path) as file:
            is_packed = is_gzip(file)
        if files.is_local and not is_packed:
            with open(path, "r+b"):
                return ""
        beside = f"{relative.rpartition('/')[0]}/.{uuid.uuid4().hex}.tmp".lstrip("/")  # no ingest takes such a file
        files.write(beside, b"")
        files.delete(beside)
    except SettingsError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def digest_of(files: Filesystem, path: str, consumed: int) -> str:
    """The SHA-256 of the first bytes of a file, after decompression; "" when there are fewer."""
    digest, left = hashlib.sha256(), consumed
    try:
        with files.open(path) as file:
            for block in iter_blocks(file):
                digest.update(block[:left])
                left -= len(block[:left])
                if not left:
                    return digest.hexdigest()
    except (CutOffError, DamagedError, FileNotFoundError):
        return ""
    return ""


def _on_executors(
    spark: SparkSession, root: str, paths: Sequence[str], compute: Callable[[Filesystem, str], str]
) -> dict[str, str]:
    if not paths:
        return {}
    tasks = min(len(paths), _MOST_TASKS)

    def take(numbers: Iterable[int]) -> Batches:
        import pyarrow as pa

        files = Filesystem(root)
        for number in numbers:
            yield pa.RecordBatch.from_pylist([{"path": p, "answer": compute(files, p)} for p in paths[number::tasks]])

    return {row["path"]: row["answer"] for row in map_tasks(spark, tasks, take, _SCHEMA).collect()}
