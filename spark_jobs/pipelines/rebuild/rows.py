"""The rows that a table would have if all that the log holds had come to it by the definition of the files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.merge.reading import LogReading
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.storage.lake_specs import read_book
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.folding import event_versions, fold_events
from spark_jobs.transforms.keyed_rows import TABLE, MergedTable, merge_rows, width_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRows:
    """A table's keyed rows, made of the events of the log in ``pull``, all of them from the first one on.

    Merging does not depend on the order in which events came, so these are the rows that runs one after another would
    have made. What an erasure took out of the log is not among them.
    """

    context: AnyContext
    every: tuple[MergedTable, ...]
    table: MergedTable
    pull: Pull

    @classmethod
    def of(cls, context: AnyContext, *, name: str, pull: Pull) -> LogRows:
        """Those of the table called ``name``, with the columns that it has by what the log knows now."""
        every = merged_tables(context.spec, read_book(log_timeline(context.spec, context.settings)))
        table = next(table for table in every if table.name == name)
        return cls(context=context, every=every, table=table, pull=pull)

    @contextmanager
    def keyed(self) -> Iterator[DataFrame]:
        """One keyed row for each key that was ever seen, deleted ones too, pinned; nothing was stored before."""
        table = self.table
        kept = [table.name] if table.spec.removes_rows else []
        folded_df = fold_events(self._events(), [table], width_of([table]))
        merged_df = merge_rows(folded_df, None, keep_stored=kept)
        with pinned(self.context.spark, merged_df.sortWithinPartitions(TABLE), "rebuilt") as keyed_df:
            yield keyed_df

    @contextmanager
    def history(self) -> Iterator[DataFrame]:
        """The events about each row, for the table's history, pinned."""
        versions_df = event_versions(self._events(has_times=True), [self.table], width_of([self.table]))
        with pinned(self.context.spark, versions_df, "history") as pinned_df:
            yield pinned_df

    def _events(self, *, has_times: bool = False) -> DataFrame:
        reading = LogReading(
            context=self.context,
            timeline=log_timeline(self.context.spec, self.context.settings),
            tables=[self.table],
            has_times=has_times,
        )
        return reading.of_pull(self.pull)


def log_timeline(spec: LakeSpec, settings: Settings) -> Timeline:
    """The timeline of the log; ContractError when it has no commit, for then there is nothing to make a table of."""
    timeline = Timeline(table=spec.log, path=settings.table_path(spec.log))
    timeline.check_readable()
    if not timeline.writes:
        raise ContractError(f"{spec.log} has no commit, so no table can be made of it; run ingest first")
    return timeline
