"""Tables of a lake read without a JVM, by Hudi's Rust reader: those of which it is certain that Spark reads the same.

Certain is a table on this machine's file system, of few enough bytes, with no instant on its timeline that is not
completed, whose columns are those of its newest commit, and that nobody wrote while it was read.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_jobs.storage.rust_reader import rust_table
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow

_OWN = "_hoodie_"


class NotReadLocallyError(Exception):
    """The table is Spark's to read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTable:
    """One table, as its timeline was when it was opened."""

    timeline: Timeline
    schema: pyarrow.Schema
    """Its columns without Hudi's own, in the order that Spark has them in."""

    def read(self) -> pyarrow.Table:
        """All rows, tombstones too, without Hudi's own columns.

        Raises:
            NotReadLocallyError: they are not of these columns, or the table was written meanwhile.
        """
        import pyarrow as pa

        try:
            batches = rust_table(self.timeline.path).read()
            read = pa.Table.from_batches(
                [pa.record_batch(each) for each in batches] or [], schema=None if batches else self.schema
            )
        except Exception as error:  # the reader's own, of many kinds
            raise NotReadLocallyError(f"{self.timeline.table} cannot be read without Spark") from error
        read = read.select([name for name in read.column_names if not name.startswith(_OWN)])
        if read.schema.names != self.schema.names or read.schema.types != self.schema.types:
            raise NotReadLocallyError(f"{self.timeline.table} has files of other columns")
        if _state(Timeline(table=self.timeline.table, path=self.timeline.path)) != _state(self.timeline):
            raise NotReadLocallyError(f"{self.timeline.table} was written while it was read")
        return read


def open_locally(timeline: Timeline, *, most_bytes: int) -> LocalTable:
    """A table that can be read here.

    Raises:
        NotReadLocallyError: it cannot, or that is not certain.
    """
    table = timeline.table
    if not timeline.is_local:
        raise NotReadLocallyError(f"{table} is on an object store")
    if timeline.last is None:
        raise NotReadLocallyError(f"{table} has no commit")
    if timeline.pending or timeline.misdated:
        raise NotReadLocallyError(f"{table} has an instant that is not completed")
    if bytes_of(timeline.path) > most_bytes:
        raise NotReadLocallyError(f"{table} is larger than LAKEHOUSE_LOCAL_QUERY_MB")
    try:
        stored = rust_table(timeline.path).get_schema()
    except Exception as error:  # the reader's own, of many kinds
        raise NotReadLocallyError(f"{table} cannot be opened without Spark") from error
    import pyarrow as pa

    schema = pa.schema([field for field in pa.schema(stored) if not field.name.startswith(_OWN)])
    if schema.names != _committed_columns(timeline):
        raise NotReadLocallyError(f"{table} has other columns than its newest commit")
    return LocalTable(timeline=timeline, schema=schema)


def bytes_of(path: str) -> int:
    """Bytes of all files of a table, older versions too: no less than what is read of it."""
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        if f"{os.sep}.hoodie" not in folder
        for name in names
    )


def _committed_columns(timeline: Timeline) -> list[str]:
    """Columns of the newest commit that says them, without Hudi's own."""
    text = timeline.newest_metadata("schema")
    fields = json.loads(text)["fields"] if text else []
    return [field["name"] for field in fields if not field["name"].startswith(_OWN)]


def _state(timeline: Timeline) -> tuple[object, ...]:
    return (timeline.writes, timeline.pending, timeline.has_cleans)
