"""Events of the log as they are merged: with what was kept of columns that were declared later, and what is not known.

Commits of earlier releases did not note which columns of an event did not travel. What is null in those events is not
known: they are read apart from the others where null is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnSpec, Nulls
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

    spark: SparkSession
    spec: LakeSpec
    settings: Settings
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
        window, since = pull.window, self._unknown_since(pull.window)
        if since == BEGINNING:
            return self._events(read_pull(self.spark, self._path, pull))
        if since >= window.up_to:
            return with_unknown_nulls(self._events(read_pull(self.spark, self._path, pull)))
        early = replace(pull, window=InstantRange(after=window.after, up_to=since))
        reason = pull.resync_reason or ("found in the whole log" if window.after == BEGINNING else "")
        later = replace(pull, window=InstantRange(after=since, up_to=window.up_to), resync_reason=reason)
        early_df, later_df = (self._events(read_pull(self.spark, self._path, each)) for each in (early, later))
        return with_unknown_nulls(early_df).unionByName(later_df)

    def of_interval(self, interval: Interval) -> DataFrame:
        """Events of some days. Among old commits null says nothing in any of them: what it set was merged before."""
        events_df = self._events(read_interval(self.spark, self._path, interval))
        every = InstantRange(after=BEGINNING, up_to=self.timeline.last or BEGINNING)
        return events_df if self._unknown_since(every) == BEGINNING else with_unknown_nulls(events_df)

    def of_kept(self, columns: Sequence[ColumnSpec]) -> DataFrame:
        """Events that have one of these columns beside those that were declared when they were read."""
        return self._events(read_snapshot(self.spark, self._path).where(has_kept(columns)))

    @property
    def _path(self) -> str:
        return self.settings.table_path(self.spec.log)

    def _events(self, log_df: DataFrame) -> DataFrame:
        known = read_kept(self.timeline)
        filled_df = with_kept(log_df, kept_here(self.spec.source.columns, known), known)
        return events_about(filled_df, self.tables, has_times=self.has_times)

    def _unknown_since(self, window: InstantRange) -> str:
        """The last commit in the window that did not note what did not travel; ``BEGINNING`` where nobody asks."""
        wide = [table for table in self.tables if not table.spec.is_mirror]
        if not any(table.nulls_of(column) is Nulls.VALUE for table in wide for column in table.columns):
            return BEGINNING
        writes = self.timeline.writes if window.after == BEGINNING else self.timeline.writes_in(window)
        without = (
            write.time
            for write in writes
            if write.time <= window.up_to and UNKNOWN not in self.timeline.metadata(write).get("schema", UNKNOWN)
        )
        return max(without, default=BEGINNING)
