"""snapshot: the first load of a table through Spark JDBC, in parts, as events over which every later change wins."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta

from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.connectors.source_table import SourceTable, check_server_name
from spark_jobs.connectors.values import ColumnKind, JdbcColumn
from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.names import show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, TableOutcome
from spark_jobs.contracts.snapshots import Snapshot, Snapshots
from spark_jobs.job_options.snapshot import SnapshotOptions
from spark_jobs.pipelines.ingestion.run import IngestOutcome, ingest_delivery
from spark_jobs.sources.discovery import read_snapshots
from spark_jobs.sources.jdbc.database import JdbcDatabase
from spark_jobs.sources.jdbc.delivery import JdbcDelivery
from spark_jobs.sources.jdbc.envelopes import EnvelopeBuilder
from spark_jobs.sources.jdbc.parts import cut
from spark_jobs.sources.jdbc.start import begin
from spark_jobs.sources.jdbc.targets import SnapshotTarget
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import check_nothing_unfinished

PACKED_DECIMALS, TEXT_DECIMALS = "precise", "string"
_PAUSE_SECONDS = 1.5
"""Between two commits, when the leases are free: longer than those who wait for one take to look again."""

log = logging.getLogger(__name__)


def check(context: JobContext[SnapshotOptions]) -> None:
    """Raise SettingsError or ContractError when the table, the server's name or the database's URL is wrong."""
    settings = context.settings
    SourceTable.parse(context.options.table)
    check_server_name(context.options.server_name)
    if not settings.jdbc_url:
        raise SettingsError(
            "LAKEHOUSE_JDBC_URL is not set; name the database that the table is in, such as "
            "jdbc:postgresql://host:5432/erp"
        )
    JdbcAddress.parse(settings.jdbc_url)


def run(context: JobContext[SnapshotOptions]) -> JobResult:
    """Read the parts that are left and commit some at a time, until none is left or as many as the run may read.

    The leases of log and quarantine are held for each commit alone: while the database is queried, `ingest` goes
    on, however long that takes.

    Raises:
        ContractError: there is no such table, or the lake cannot take it.
        SettingsError: the database does not let us in, or has no position.
        TransientError: the database does not answer.
    """
    reading = Reading(context=context)
    while reading.goes_on:
        reading.step()
        if reading.goes_on:
            time.sleep(_PAUSE_SECONDS)
    return reading.result()


@dataclass(kw_only=True)
class Reading:
    """One run: what it has read so far, and whether there is more to do."""

    context: JobContext[SnapshotOptions]
    goes_on: bool = True
    outcomes: dict[str, TableOutcome] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    messages: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    snapshot: Snapshot | None = None
    _columns: list[JdbcColumn] = field(default_factory=list)
    _parts_read: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.table = SourceTable.parse(self.context.options.table)
        self.origin = f"{self.context.options.server_name}.{self.table}"
        self.database = JdbcDatabase.of(self.context.spark, self.context.settings)
        self._target = SnapshotTarget(
            spec=self.context.spec,
            database=self.database,
            table=self.table,
            server_name=self.context.options.server_name,
        )
        self._is_again = self.context.options.again

    def step(self) -> None:
        """Read some parts, then take the leases and commit them, unless what they were read by is no longer so."""
        check_nothing_unfinished(self.context.settings, self._tables)
        erased = Erasures(self.context.settings).state()
        timelines = [Timeline(table=name, path=self.context.settings.table_path(name)) for name in self._tables]
        for timeline in timelines:
            timeline.check_readable()
            nothing = TableOutcome(table=timeline.table, instant=timeline.last, rows=0, is_committed=False)
            self.outcomes.setdefault(timeline.table, nothing)
        name = self._name_among(known := read_snapshots(timelines[0]))
        snapshot = before = known.get(name)
        if snapshot and snapshot.is_finished and not self._is_again:
            self._end(snapshot)
            return
        if not self._columns:
            self._columns = self._find_columns()
        if snapshot is None or self._is_again:
            snapshot = self._begin(snapshot)
            if snapshot.is_finished:
                self._end(snapshot)
                return
        after, predicates = self._next_parts(snapshot)
        builder = EnvelopeBuilder(self._columns, snapshot.source, key=self._target.found_key)
        rows_df = self.database.read(self.table, self._columns, key=snapshot.column, predicates=predicates)
        with self.database.querying(), pinned(self.context.spark, rows_df, "snapshot") as pinned_df:
            records = int(pinned_df.count())  # from here on the database is not queried
            after = replace(after, read=snapshot.read + records)
            delivery = JdbcDelivery(
                rows_df=pinned_df,
                builder=builder,
                origin=self.origin,
                first=snapshot.done,
                records=records,
                snapshots={},
                has_more=not after.is_finished,
                may_be_known=not self._parts_read,
            )
            taken = self._commit(delivery, name, before, after, erased)
        if taken:
            self._is_again = False
            self._count(taken, after, parts=after.done - snapshot.done)

    @property
    def _tables(self) -> tuple[str, str]:
        return self.context.spec.log, self.context.spec.quarantine

    def _commit(
        self,
        delivery: JdbcDelivery,
        name: str,
        before: Snapshot | None,
        after: Snapshot,
        erased: tuple[tuple[str, int], ...],
    ) -> IngestOutcome | None:
        """Commit what was read; None when it is to be read again, since something came between.

        That is another run's commit of this snapshot, a restore, or an erasure: rows that were read before it may name
        the person.
        """
        with hold_tables(self._tables, job=self.context.job, settings=self.context.settings):
            check_nothing_unfinished(self.context.settings, self._tables)
            timelines = [settled_timeline(self.context.spark, name, self.context.settings) for name in self._tables]
            known = read_snapshots(timelines[0])
            if known.get(name) != before or Erasures(self.context.settings).state() != erased:
                log.info("%s: the lake has changed while parts were read; they are read again", self.origin)
                return None
            current = replace(delivery, snapshots={**known, name: after})
            return ingest_delivery(self.context, current, timelines)

    def _name_among(self, known: Snapshots) -> str:
        """What its snapshot is called: that of a table of the same name in another database has the shorter name."""
        first = known.get(self.origin)
        if first and first.source.get("db", database := self._target.database_name) != database:
            return f"{self.origin}@{database}"
        return self.origin

    def result(self) -> JobResult:
        """What the run came to."""
        assert self.snapshot is not None
        counters = {**self.counters, "parts": self.snapshot.parts, "parts_done": self.snapshot.done}
        return self.context.result(
            DONE if self._parts_read else NOTHING_TO_DO,
            tables=tuple(self.outcomes.values()),
            counters={**counters, "has_more": int(not self.snapshot.is_finished)},
            messages=tuple(self.messages),
            alerts=tuple(self.alerts),
        )

    def _begin(self, last: Snapshot | None) -> Snapshot:
        """A new snapshot; the last one where the database has not moved since: its events would be the same."""
        new = begin(self.database, self.table, self._columns, self.context.options, clock=self.context.clock)
        if last and {**last.source, "ts_ms": 0} == {**new.source, "ts_ms": 0}:
            self.messages.append(f"{self.origin}: the database is where it was when its snapshot began, which goes on")
            return last
        return new

    def _find_columns(self) -> list[JdbcColumn]:
        has_text_decimals = self.context.options.decimals == TEXT_DECIMALS
        columns, left_out = self._target.columns(has_text_decimals=has_text_decimals)
        if left_out:
            self.messages.append(f"{self.origin}: columns {show_all(left_out)} are of types that are not read")
        return columns

    def _next_parts(self, snapshot: Snapshot) -> tuple[Snapshot, list[str]]:
        """How far the snapshot is after the next commit, and the parts of that as conditions."""
        options = self.context.options
        most_rows = options.max_rows or self.context.settings.max_events
        count = max(1, most_rows * snapshot.parts // max(1, snapshot.expected))
        if most := options.max_parts:
            count = min(count, most - self._parts_read)
        after = replace(snapshot, done=min(snapshot.parts, snapshot.done + count))
        parts = list(cut(snapshot.low, snapshot.high, snapshot.parts))[snapshot.done : after.done]
        kind = ColumnKind(snapshot.kind)
        return after, [part.predicate(self.database.part_key(), kind) for part in parts]

    def _count(self, taken: IngestOutcome, after: Snapshot, *, parts: int) -> None:
        self._parts_read += parts
        self.counters.update({name: n for name, n in taken.counters.items() if name != "has_more"})
        self.messages += [message for message in taken.messages if message not in self.messages]
        self.alerts += [alert for alert in taken.alerts if alert not in self.alerts]
        for new in taken.outcomes:
            old = self.outcomes[new.table]
            rows, is_committed = old.rows + new.rows, old.is_committed or new.is_committed
            self.outcomes[new.table] = replace(new, rows=rows, is_committed=is_committed)
        seconds = time.monotonic() - self._begun
        log.info(
            "%s: %s",
            self.origin,
            describe_progress(after, read=self.counters["rows_read"], parts=self._parts_read, seconds=seconds),
        )
        most_parts = self.context.options.max_parts
        if after.is_finished or (most_parts and self._parts_read >= most_parts):
            self._end(after)

    def _end(self, snapshot: Snapshot) -> None:
        self.snapshot, self.goes_on = snapshot, False
        if not self._parts_read:
            self.messages.append(
                f"the snapshot of {self.origin} is finished, {snapshot.read:,} rows; --again begins another one"
            )


def describe_progress(snapshot: Snapshot, *, read: int, parts: int, seconds: float) -> str:
    """How far a snapshot is, from what this run has read of it so far."""
    left = timedelta(seconds=round(seconds / max(1, parts) * (snapshot.parts - snapshot.done)))
    done = f"{snapshot.done:,} of {snapshot.parts:,} parts, {snapshot.read:,} of about {snapshot.expected:,} rows"
    return f"{done}, {read / max(seconds, 0.001):,.0f} rows/s, " + (f"about {left} left" if left else "finished")


JOB = Job(options=SnapshotOptions, run=run, check=check)
