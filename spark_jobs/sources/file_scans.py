"""Landing files looked through on the executors, when there is so much that one process would take long."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.file_blocks import Member
from spark_jobs.sources.file_scan import Chunk, FileScan, ScanOrder, scan_file, scan_here
from spark_jobs.sources.landing import Scan
from spark_jobs.storage.filesystem import Filesystem

HERE_BYTES = 16 * 1024 * 1024
"""Files of so many bytes together, as stored, are looked through sooner than tasks begin."""
_MOST_TASKS = 64
_SCHEMA = "number bigint, found string, refused string"


def scan_with(spark: SparkSession, root: str) -> Scan:
    """Look files below ``root`` through: a few small ones here, others on the executors."""

    def scan(files: Filesystem, orders: Sequence[ScanOrder]) -> list[FileScan]:
        if sum(order.weight for order in orders) <= HERE_BYTES:
            return scan_here(files, orders)
        return scan_on_executors(spark, root, orders)

    return scan


def scan_on_executors(spark: SparkSession, root: str, orders: Sequence[ScanOrder]) -> list[FileScan]:
    """What :func:`scan_file` finds in each file, in their order.

    Raises:
        SettingsError: a file may not be read.
    """
    tasks = min(len(orders), _MOST_TASKS)

    def take(numbers: Iterable[int]) -> Batches:
        import pyarrow as pa

        files = Filesystem(root)
        for number in numbers:
            for place in range(number, len(orders), tasks):
                found, refused = "", ""
                try:
                    found = to_text(scan_file(files, orders[place]))
                except SettingsError as error:
                    refused = str(error)
                yield pa.RecordBatch.from_pylist([{"number": place, "found": found, "refused": refused}])

    rows = map_tasks(spark, tasks, take, _SCHEMA).collect()
    if refused := next((row["refused"] for row in rows if row["refused"]), ""):
        raise SettingsError(refused)
    found = {row["number"]: from_text(row["found"]) for row in rows}
    return [found[place] for place in range(len(orders))]


def to_text(scan: FileScan) -> str:
    """A scan as a task gives it back."""
    return json.dumps(asdict(scan))


def from_text(text: str) -> FileScan:
    """What :func:`to_text` wrote."""
    fields: dict[str, Any] = json.loads(text)
    chunks = [{**chunk, "member": Member(**chunk["member"])} for chunk in fields["chunks"]]
    fields |= {"chunks": tuple(Chunk(**chunk) for chunk in chunks), "member": Member(**fields["member"])}
    return FileScan(**fields)
