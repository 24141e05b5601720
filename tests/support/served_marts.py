"""A mart made by hand for the serving store: commits of small JSON, rows and change feed in this process, no engine.

Its rows are by key: a partition and a value. A commit that keeps its changes has a folder in the feed, with no files in
it but Spark's mark; what it changed is remembered here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import types as T

from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.pipelines.mart_rows import MartRows
from spark_jobs.storage.commit_columns import pack_columns
from spark_jobs.storage.serving.changes import FeedRow, RowChange, net_changes
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.serving.pulls import ServedPull
from spark_jobs.storage.serving.states import KeyedRow
from spark_jobs.storage.timeline import Timeline
from tests.support.serving import instant

Rows = Mapping[str, tuple[str, int]]
"""Partition and value by key."""
Feed = list[tuple[str, bool, tuple[str, int] | None]]
"""Key, whether it had a row, and its row then: two for a row that moves to another partition."""


def schema_of(*more: str) -> T.StructType:
    """The columns of the rows: more of them are null."""
    columns = {"part": T.StringType(), "amount": T.LongType(), **dict.fromkeys(more, T.LongType())}
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


def feed_of(before: Rows, after: Rows) -> Feed:
    """What a commit keeps, as :func:`spark_jobs.transforms.cells.difference` finds it: by key and partition."""
    found: Feed = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old and new and old[0] != new[0]:
            found += [(key, False, new), (key, True, None)]
        elif old != new:
            found.append((key, old is not None, new))
    return found


@dataclass
class MadeMart:
    """The mart ``name`` of a lake at ``settings``; ``states`` are its rows as of each commit on its timeline."""

    name: str
    settings: Settings
    states: dict[Instant, Rows] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    _feeds: dict[str, Feed] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self.hoodie.mkdir(parents=True)
        (self.hoodie / "hoodie.properties").write_text("hoodie.table.version=6\nhoodie.table.type=COPY_ON_WRITE\n")

    @property
    def hoodie(self) -> Path:
        return Path(self.settings.table_path(self.name), ".hoodie")

    @property
    def timeline(self) -> Timeline:
        return Timeline(table=self.name, path=self.settings.table_path(self.name))

    @property
    def rows(self) -> Rows:
        """As of its newest commit."""
        return self.states[max(self.states)] if self.states else {}

    def change(self, rows: Rows, *, is_fed: bool | None = None) -> None:
        """A commit of what differs, which keeps its changes when the mart's job would; none when nothing differs."""
        feed = feed_of(self.rows, rows)
        if not feed and self.states:
            return
        if is_fed is None:
            is_fed = bool(self.states) and ServedPlaces(self.settings).is_on(self.timeline)
        metadata = {}
        if is_fed:
            folder = f"{self._count:032x}"
            kept = Path(self.settings.table_path(".changes"), self.name, folder)
            kept.mkdir(parents=True)
            (kept / "_SUCCESS").touch()
            self._feeds[folder] = feed
            columns = T.StructType([T.StructField(CELL_ID, T.StringType()), *schema_of(*self.more).fields])
            metadata = {"lakehouse.changes": folder, "lakehouse.changes_columns": pack_columns(columns)}
        self.commit(rows, operation="UPSERT", metadata=metadata)

    def commit(
        self, rows: Rows, *, operation: str, action: str = "commit", metadata: Mapping[str, str] | None = None
    ) -> None:
        """A commit on the timeline, after which the mart has these rows."""
        self._count += 1
        at = instant(self._count)
        file = self.hoodie / f"{at}.{action}"
        file.write_text(json.dumps({"operationType": operation, "extraMetadata": dict(metadata or {})}))
        self._date(file, at)
        self.states[at] = dict(rows)

    def serve_table(self) -> None:
        """A table service, which changes no row."""
        if self.states:
            self.commit(self.rows, operation="CLUSTER", action="replacecommit")

    def rewrite(self, rows: Rows) -> None:
        """All rows in one commit that replaces the others."""
        self.commit(rows, operation="INSERT_OVERWRITE_TABLE", action="replacecommit")

    def restore(self, back: int) -> None:
        """So many commits are taken back, but never the first."""
        for at in sorted(self.states)[1:][-back:] if back else []:
            self._remove(at)

    def archive(self, kept: int) -> None:
        """All commits but the newest ones leave the timeline."""
        for at in sorted(self.states)[: -max(kept, 1)]:
            self._remove(at)

    def hidden_newest(self) -> Callable[[], None] | None:
        """Take the newest commit away; gives what puts it back. None when the first is all there is."""
        if len(self.states) < 2:
            return None
        at = max(self.states)
        rows, (file,) = self.states.pop(at), self.hoodie.glob(f"{at}.*")
        content = file.read_text()
        file.unlink()

        def put_back() -> None:
            file.write_text(content)
            self._date(file, at)
            self.states[at] = rows

        return put_back

    def read(self, timeline: Timeline, at: Instant) -> MartRows:
        """The rows as of an instant, as the serving reads them."""
        return MadeRows(mart=self, rows=self.states[at])

    def net(self, pull: ServedPull) -> Iterator[RowChange]:
        """What the feed has of these commits."""
        found = [
            FeedRow(key=key, commit=folder, was_there=was_there, values=row and self.wide(row))
            for folder in pull.folders
            for key, was_there, row in self._feeds[folder]
        ]
        found.reverse()  # those of a key may come in any order
        return net_changes(sorted(found, key=lambda row: row.key), pull.folders)

    def wide(self, row: tuple[str, int]) -> tuple[str | int | None, ...]:
        """A row with all its columns."""
        return (*row, *[None] * len(self.more))

    def _remove(self, at: Instant) -> None:
        for file in self.hoodie.glob(f"{at}.*"):
            file.unlink()
        del self.states[at]

    @staticmethod
    def _date(file: Path, at: Instant) -> None:
        seconds = moment_of(at).timestamp()
        os.utime(file, (seconds, seconds))


@dataclass(kw_only=True)
class MadeRows:
    """Its rows as of one instant; reading fails after ``fails_after`` rows or changes."""

    mart: MadeMart
    rows: Rows
    fails_after: int | None = None

    @property
    def schema(self) -> T.StructType:
        return schema_of(*self.mart.more)

    def all(self) -> Iterator[KeyedRow]:
        for count, (key, row) in enumerate(self.rows.items()):
            self._fail(count)
            yield key, self.mart.wide(row)
        self._fail(len(self.rows))

    def changed(self, pull: ServedPull) -> Iterator[RowChange]:
        count = 0
        for count, change in enumerate(self.mart.net(pull), 1):
            self._fail(count - 1)
            yield change
        self._fail(count)

    def _fail(self, count: int) -> None:
        if count == self.fails_after:
            raise OSError("a file of the lake is gone")
