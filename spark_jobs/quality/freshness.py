"""How fresh the tables are, read from their timelines and the landing folder alone: no Spark, even when nothing runs.

Of each table two things are measured. *Waiting since*: the moment of the oldest thing that has reached the lake and
that the table lacks: the time of a landing file's last change for the log, the first commit that the table has yet to
read for all others. *Newest event*: the event time up to which the table knows the business; the log's commits carry
it, and the other tables' checkpoints lead back to one of those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.checkpoints import instant_of
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange, moment_of
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.consumers import (
    SPLIT,
    ConsumerRegistry,
    ConsumerState,
    checkpoint_key,
    table_checkpoint,
)
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

NEWEST_EVENT_KEY = "newest_event_time"
"""In the log's commits: the latest event time that the log holds, as far as it is not later than the run's clock."""


def in_utc(moment: datetime) -> str:
    """A moment as messages have it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFreshness:
    """One table: None where nothing waits, where no event is known, or where it was never made."""

    table: str
    promise: FreshnessPromise
    newest_event: datetime | None
    waiting_since: datetime | None
    is_made: bool

    def is_behind(self, clock: datetime) -> bool:
        """True when something waits for longer than was promised."""
        limit = self.promise.behind_minutes
        return bool(limit and self.waiting_since and clock - self.waiting_since > timedelta(minutes=limit))

    def is_silent(self, clock: datetime) -> bool:
        """True when its newest event happened longer ago than was promised."""
        limit = self.promise.event_minutes
        return bool(limit and self.newest_event and clock - self.newest_event > timedelta(minutes=limit))

    def behind(self, clock: datetime, write: Callable[[datetime], str] = in_utc) -> str:
        """The same of :meth:`is_behind` in words, "" when it is not: wherever a table is shown they are these."""
        return (
            f"something waits since {write(self.waiting_since)}" if self.waiting_since and self.is_behind(clock) else ""
        )

    def silent(self, clock: datetime, write: Callable[[datetime], str] = in_utc) -> str:
        """The same of :meth:`is_silent`."""
        return (
            f"no event is newer than {write(self.newest_event)}" if self.newest_event and self.is_silent(clock) else ""
        )


@dataclass(frozen=True, kw_only=True)
class FreshnessOfLake:
    """Measures the tables of a lake; each timeline is listed once.

    ``waiting_since``: since when something was delivered that was not ingested, if there is something. ``timelines``
    and consumers' ``states`` are those that were read before.
    """

    spec: LakeSpec
    settings: Settings
    waiting_since: datetime | None
    timelines: dict[str, Timeline] = field(default_factory=dict)
    states: dict[str, ConsumerState] = field(default_factory=dict)

    def of(self, table: str) -> TableFreshness:
        """How fresh the log, an entity table or a mart is."""
        return TableFreshness(
            table=table,
            promise=self._promise(table),
            newest_event=self._newest_event(table),
            waiting_since=self._waiting_since(table),
            is_made=self.timeline(table).last is not None,
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """Those that promise something. A cache moves when its stitch mart wants it, the quarantine with the log."""
        marts = (mart.name for mart in self.spec.marts if mart.name not in self.spec.caches)
        return (self.spec.log, *(table.name for table in self.spec.tables), *marts)

    def timeline(self, table: str) -> Timeline:
        """The table's timeline, as it was when first read."""
        if table not in self.timelines:
            self.timelines[table] = Timeline(table=table, path=self.settings.table_path(table))
        return self.timelines[table]

    def _promise(self, table: str) -> FreshnessPromise:
        own = {mart.name: mart.freshness for mart in self.spec.marts}.get(table)
        return own or self.spec.freshness

    def _waiting_since(self, table: str) -> datetime | None:
        if table == self.spec.log:
            return self.waiting_since
        unread = (self.first_unread(table, source) for source in self.sources(table))
        return min((moment_of(instant) for instant in unread if instant), default=None)

    def first_unread(self, table: str, source: str) -> Instant | None:
        """The oldest commit of a source that the table lacks, or None."""
        timeline = self.timeline(source)
        window = InstantRange(after=self.checkpoint(table, source), up_to=timeline.readable_up_to)
        changes = timeline.changes_in(window)
        return changes[0].time if changes else None

    def checkpoint(self, table: str, source: str) -> Instant:
        """The instant of a source up to which the table holds everything."""
        consumer = table if table in self.spec.mart_names else SPLIT
        if consumer not in self.states:
            self.states[consumer] = ConsumerRegistry(self.settings.base_path).read(consumer)
        return instant_of(table_checkpoint(self.states[consumer], self.timeline(table), source))

    def sources(self, table: str) -> tuple[str, ...]:
        """What a table other than the log is made of."""
        if table not in self.spec.mart_names:
            return (self.spec.log,)
        mart = self.spec.mart(table)
        return self.spec.sources_of(self.spec.mart(mart.cache) if mart.cache else mart)

    def _newest_event(self, table: str) -> datetime | None:
        """Up to which event time the table, as it is now, knows the business."""
        if table == self.spec.log:
            return _moment(self.timeline(table).newest_metadata(METADATA_PREFIX + NEWEST_EVENT_KEY))
        found = (
            self._event_as_of(source, self.checkpoint(table, source))
            if self.first_unread(table, source)
            else self._newest_event(source)
            for source in self.sources(table)
            if self.checkpoint(table, source) != BEGINNING
        )
        return max(filter(None, found), default=None)

    def _event_as_of(self, table: str, instant: Instant) -> datetime | None:
        """The same, of the table as it was at an instant: what its commits say of how far it had read."""
        timeline = self.timeline(table)
        if table == self.spec.log:
            return _moment(timeline.newest_metadata(METADATA_PREFIX + NEWEST_EVENT_KEY, up_to=instant))
        keys = {source: METADATA_PREFIX + checkpoint_key(source) for source in self.sources(table)}
        places = {source: timeline.newest_metadata(key, up_to=instant) for source, key in keys.items()}
        found = (self._event_as_of(source, instant_of(place)) for source, place in places.items() if place)
        return max(filter(None, found), default=None)


def _moment(text: str | None) -> datetime | None:
    return parse_clock(text) if text else None
