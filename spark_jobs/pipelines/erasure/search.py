"""Where a person is named: what readers see before an erasure, and every file after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Self

from pyspark.sql import DataFrame

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import (
    ContractError,
    TransientError,
)
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.people import Person
from spark_jobs.lake_spec.table_spec import Deletes
from spark_jobs.pipelines.erasure.rows import condition_in, count_in_files, known_names, rows_about
from spark_jobs.sources.discovery import read_ledger
from spark_jobs.sources.erasure import (
    FileFinding,
    FilePart,
    find_in_files,
    parts_of,
    redact_quarantine,
)
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import list_landing
from spark_jobs.storage.consumers import ConsumerRegistry, own_consumers
from spark_jobs.storage.erasures import Erasures, Finding
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline

_LANDING = ("landing files", "records")
Places = dict[tuple[str, str], int]
"""How much names the person, by place and what it is."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """The search for one person in one lake."""

    context: AnyContext
    person: Person

    def look(self, landing: Sequence[FileFinding]) -> Places:
        """Where the person is named now, of what readers see, and the savepoints that hold it."""
        found: Places = {_LANDING: sum(file.records for file in landing)}
        with self.quarantined() as rows_df:
            found[self.context.spec.quarantine, "records"] = 0 if rows_df is None else int(rows_df.count())
        for table in self.touched:
            about_df = None if table == self.context.spec.quarantine else self._rows_about(table)
            if about_df is not None:
                found[table, "rows"] = int(about_df.count())
        kept = [
            record for record in SavepointRecords(self.context.settings).all() if set(record.tables) & set(self.touched)
        ]
        found["savepoints", "of tables that name them"] = len(kept) if any(found.values()) else 0
        found["an erasure", "that was cut off"] = int(Erasures(self.context.settings).pending() is not None)
        return found

    @property
    def is_named_in_ingested(self) -> bool:
        """True when the log or the quarantine names the person."""
        about_df = self._rows_about(self.context.spec.log)
        with self.quarantined() as rows_df:
            return any(df is not None and not df.isEmpty() for df in (about_df, rows_df))

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """Tables that may hold something of the person: those with a column for it, and the marts that read them."""
        person, spec = self.person.spec, self.context.spec
        columns, listed = {person.key, *person.columns} - {""}, {table for table, _ in person.tables}
        own = [table.name for table in spec.wide_tables if columns & {*table.key, *table.columns}]
        own += [table.name for table in spec.mirrors if table.name in listed]
        own += [load.name for load in spec.loads if load.name in listed]
        own += [table.history_name for table in spec.tables if table.history and table.name in own]
        marts = {mart.name for table in (spec.log, *own) for mart in spec.readers_of(table)}
        removes = any(table.deletes is Deletes.REMOVE for table in spec.tables if table.name in own)
        tombstones = spec.tombstones if removes else ()
        read = (m.name for m in spec.marts if m.name in marts)
        return (spec.log, spec.quarantine, *own, *tombstones, *read)

    def readers_behind(self) -> list[str]:
        """Registered readers outside the lake that have not read all of a table whose older states are to go."""
        own, behind = own_consumers(self.context.spec), []
        for name, state in ConsumerRegistry(self.context.settings.base_path).all().items():
            for table, place in state.checkpoints.items():
                if name not in own and table in self.touched and place < (self.timeline(table).last or ""):
                    behind.append(f"consumer {name} of {table}")
        return behind

    def with_names(self) -> Self:
        """The same with every name that the lake knows the person by."""
        names = {
            *self.person.names,
            *known_names(self.context.spark, self.context.spec, self.person, self.context.settings),
        }
        return replace(self, person=replace(self.person, names=tuple(sorted(names))))

    def outcomes(self, found: Places) -> tuple[TableOutcome, ...]:
        """Where the tables are now; ``rows`` are those that named the person."""
        timelines = [self.timeline(table) for table in self.touched]
        return tuple(
            TableOutcome(table=t.table, instant=t.last, rows=found.get((t.table, "rows"), 0), is_committed=True)
            for t in timelines
            if t.writes
        )

    def prove(self, found: Mapping[tuple[str, str], int]) -> list[Finding]:
        """Look again, in every file of every table whatever state it is of.

        Raises:
            TransientError: something still names the person; it says where.
        """
        findings = self.look_again(found)
        if problems := [f"{each.place}: {each.left} {each.what}" for each in findings if each.left]:
            raise TransientError(f"still named: {'; '.join(problems)}; correct that and run the erasure again")
        return findings

    def look_again(self, found: Mapping[tuple[str, str], int]) -> list[Finding]:
        """What was ``found`` before, and what is left of it in every file of every table whatever state it is of."""
        ledger = read_ledger(self.timeline(self.context.spec.log))
        left: Places = {_LANDING: sum(file.taken_in for file in self.search_landing(self.landing_parts(ledger)))}
        with self.quarantined() as rows_df:
            left[self.context.spec.quarantine, "records"] = 0 if rows_df is None else int(rows_df.count())
        for table in self.touched:
            spot = (table, "records" if table == self.context.spec.quarantine else "rows")
            if self.timeline(table).writes:
                condition = condition_in(self.person, self.context.spec, table)
                count = count_in_files(
                    self.context.spark, self.context.settings.table_path(table), self.person, condition
                )
                left[spot] = left.get(spot, 0) + count
        return [
            Finding(place=place, what=what, found=found.get((place, what), 0), left=left.get((place, what), 0))
            for place, what in {**found, **left}
        ]

    @contextmanager
    def quarantined(self) -> Iterator[DataFrame | None]:
        """The rejected records that name the person, as they are to be; None when there is no quarantine yet."""
        timeline = self.timeline(self.context.spec.quarantine)
        if not timeline.writes:
            yield None
            return
        rows_df = redact_quarantine(read_snapshot(self.context.spark, timeline.path), self.context.spec, self.person)
        with pinned(self.context.spark, rows_df, "quarantined") as pinned_df:
            yield pinned_df

    def landing_parts(self, ledger: Mapping[str, LedgerEntry]) -> list[FilePart]:
        """The landing files, and how far the ledger says that they were ingested."""
        files = Filesystem(self.context.settings.landing_path)
        entries, _ = list_landing(files, self.context.spec.source.topics)
        if files.unreadable:
            raise ContractError(
                f"names are not UTF-8, so they cannot be searched: {show_path(files.unreadable[0])}; rename it"
            )
        settled = self.context.clock - timedelta(seconds=self.context.settings.truncated_after_seconds)
        return parts_of(entries, ledger, settled_before_ns=int(settled.timestamp() * 1e9))

    def search_landing(self, parts: Sequence[FilePart]) -> list[FileFinding]:
        """What names them in the landing files."""
        return find_in_files(
            self.context.spark, self.context.spec, self.person, self.context.settings.landing_path, parts
        )

    def _rows_about(self, table: str) -> DataFrame | None:
        return rows_about(self.context.spark, self.context.spec, table, self.person, self.context.settings)

    def timeline(self, table: str) -> Timeline:
        """The timeline of a table, as it is now."""
        return Timeline(table=table, path=self.context.settings.table_path(table))
