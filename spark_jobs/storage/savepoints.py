"""Savepoints: states of tables that no cleaning removes, and the records that name them.

A record names states of several tables that belong together: those before a rewrite, for the way back from it, or those
of the whole lake at one moment, with how far each consumer was. Hudi's own savepoints keep the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant, parse_instant
from spark_jobs.contracts.names import show
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.procedures import call
from spark_jobs.storage.timeline import Timeline

FOLDER = ".savepoints"
SAVEPOINT_JOB = "savepoint"
"""What made the records of the whole lake; others are made before a rewrite, by the job that rewrites."""


def record_id(label: str, clock: datetime) -> str:
    """The name of a record: what it is of, and when, such as ``day-20260131T000000``."""
    return f"{label}-{clock.astimezone(UTC):%Y%m%dT%H%M%S}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """States that belong together: the instant of each table, and what made it.

    ``consumers`` is what each consumer remembered then, of a record of the whole lake; others have none. ``keys`` are
    the record keys of tables that are about to get another.
    """

    id: str
    made_at: str
    what: str
    tables: Mapping[str, Instant]
    made_by: str
    consumers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


class SavepointRecords:
    """The records below ``<base>/.savepoints``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = Filesystem(settings.base_path)

    def write(self, record: Record) -> None:
        """Keep a record; one of the same id is replaced."""
        self._files.write(f"{FOLDER}/{record.id}.json", json.dumps(asdict(record), indent=1).encode())

    def read(self, id_: str, *, made_by: str | None = None) -> Record:
        """The record; ContractError when there is none, or none made by that job."""
        known = [record for record in self.all() if made_by in (None, record.made_by)]
        for record in known:
            if record.id == id_:
                return record
        kind = f" made by {made_by}" if made_by else ""
        raise ContractError(
            f"no savepoint{kind} is called {show(id_)}; known are {[each.id for each in known] or 'none'}"
        )

    def find(self, id_: str) -> Record | None:
        """The record, or None when there is none."""
        return next((record for record in self.all() if record.id == id_), None)

    def all(self) -> list[Record]:
        """All records, oldest first."""
        files = [entry.path.rsplit("/", 1)[-1] for entry in self._files.list_files(FOLDER)]
        contents = (self._files.read(f"{FOLDER}/{file}") for file in files if file.endswith(".json"))
        return sorted((Record(**json.loads(each)) for each in contents if each), key=lambda each: each.made_at)

    def keep(self, spark: SparkSession, record: Record) -> None:
        """Have Hudi keep every state of a record, and write it down. Run again, it does what is still to do.

        The caller holds the leases of the tables, so that no clean is under way.
        """
        self.write(record)  # first: a savepoint that no record names would silently hold cleaning
        for table, instant in record.tables.items():
            timeline = Timeline(table=table, path=self._settings.table_path(table))
            if instant not in timeline.savepoints:
                call(spark, table, timeline.path, "create_savepoint", {"commit_time": parse_instant(instant)})

    def release(self, spark: SparkSession, record: Record) -> None:
        """Let the states of a record go that no other record names, and forget it."""
        named = {state for each in self.all() if each.id != record.id for state in each.tables.items()}
        for table, instant in record.tables.items():
            timeline = Timeline(table=table, path=self._settings.table_path(table))
            if instant in timeline.savepoints and (table, instant) not in named:
                call(spark, table, timeline.path, "delete_savepoint", {"instant_time": parse_instant(instant)})
        self._files.delete(f"{FOLDER}/{record.id}.json")
