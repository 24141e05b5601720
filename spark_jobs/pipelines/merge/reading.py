"""Events of the log as they are merged: with what was kept of columns that were declared later, and what is not known.

Commits of earlier releases did not note which columns of an event did not travel. What is null in those events is not
known: they are read apart from the others where null is a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.frames import union
from spark_jobs.lake_spec.tables import ColumnSpec, Nulls
from spark_jobs.storage.lake_specs import read_kept
from spark_jobs.storage.reader import Pull, read_interval, read_pull, read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.folding import UNKNOWN, events_about, with_unknown_nulls
from spark_jobs.transforms.kept_columns import has_kept, kept_here, with_kept
from spark_jobs.transforms.keyed_rows import MergedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading:
    """The log of a lake for some tables, whose events it gives as ``folding.select_events`` does.

    ``has_times`` for histories.
    """

    context: AnyContext
    timeline: Timeline
    tables: Sequence[MergedTable]
    has_times: bool = False

    def events(self, *, pull: Pull | None, interval: Interval | None, columns: Sequence[ColumnSpec]) -> DataFrame:
        """Those of a pull; without one those with kept values of ``columns``, or those of an interval."""
        if pull is not None:
            return self.of_pull(pull)
        return self.of_interval(interval) if interval and not columns else self.of_kept(columns)

    def of_pull(self, pull: Pull) -> DataFrame:
        """The events of a window, or of a part of its commit."""
        parts = []
        for window, is_noted in apart(pull.window, self._without_notes(pull.window)):
            reason = pull.resync_reason
            if window.after != pull.window.after and pull.window.after == BEGINNING:
                reason = reason or "found in the whole log"
            part = replace(pull, window=window, resync_reason=reason)
            events_df = self._events(read_pull(self.context.spark, self._path, part, is_alone=True))
            parts.append(events_df if is_noted else with_unknown_nulls(events_df))
        return union(parts)

    def of_interval(self, interval: Interval) -> DataFrame:
        """Events of some days. Among old commits null says nothing in any of them: what it set was merged before."""
        events_df = self._events(read_interval(self.context.spark, self._path, interval))
        every = InstantRange(after=BEGINNING, up_to=self.timeline.last or BEGINNING)
        return with_unknown_nulls(events_df) if self._without_notes(every) else events_df

    def of_kept(self, columns: Sequence[ColumnSpec]) -> DataFrame:
        """Events that have one of these columns beside those that were declared when they were read."""
        return self._events(read_snapshot(self.context.spark, self._path).where(has_kept(columns)))

    @property
    def _path(self) -> str:
        return self.context.settings.table_path(self.context.spec.log)

    def _events(self, log_df: DataFrame) -> DataFrame:
        known = read_kept(self.timeline)
        filled_df = with_kept(log_df, kept_here(self.context.spec.source.columns, known), known)
        return events_about(filled_df, self.tables, has_times=self.has_times)

    def _without_notes(self, window: InstantRange) -> list[Instant]:
        """The commits in the window that did not note what did not travel; none where no table needs it."""
        wide = [table for table in self.tables if not table.spec.is_mirror]
        if not any(table.nulls_of(column) is Nulls.VALUE for table in wide for column in table.columns):
            return []
        writes = self.timeline.writes_in(window)
        return [write.time for write in writes if UNKNOWN not in self.timeline.metadata(write).get("schema", UNKNOWN)]


def apart(window: InstantRange, without: Iterable[Instant]) -> tuple[tuple[InstantRange, bool], ...]:
    """A window in one part or two, and of each whether its commits noted what did not travel.

    The log began to note it at some commit: up to the last one ``without`` notes they are incomplete.
    """
    last = max((instant for instant in without if window.after < instant <= window.up_to), default=BEGINNING)
    if last == BEGINNING:
        return ((window, True),)
    if last == window.up_to:
        return ((window, False),)
    return (
        (InstantRange(after=window.after, up_to=last), False),
        (InstantRange(after=last, up_to=window.up_to), True),
    )
