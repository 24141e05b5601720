"""Histories beside the tables that have one: the events of a merge, one commit for each history that got rows."""

from __future__ import annotations

import logging
import operator
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.versions import HISTORY_KEY
from spark_jobs.pipelines.column_forms import column_forms, write_again
from spark_jobs.pipelines.definitions import declared_form
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.storage.layouts import history_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.folding import event_versions
from spark_jobs.transforms.histories import to_history
from spark_jobs.transforms.keyed_rows import TABLE, MergedTable, width_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """The histories of a merge, whose leases the caller holds.

    A run that dies between the commits of a table and of its history leaves the history behind; its own checkpoint says
    so, and the next run reads the rest of the log for it. What is written twice is upserted by the event's order.
    """

    context: AnyContext
    timelines: Mapping[str, Timeline]
    merged: MergeOutcome

    def write(self, events_df: DataFrame, tables: Sequence[MergedTable], metadata: Mapping[str, str]) -> None:
        """Add these events to the histories of these tables; one that fails is reported, and stops no other.

        Without ``metadata`` the events may have been read before: rows that are there just so are left out.
        """
        versions_df = event_versions(events_df, tables, width_of(tables))
        with pinned(self.context.spark, versions_df.sortWithinPartitions(TABLE), "history") as pinned_df:
            named = {row[TABLE] for row in pinned_df.select(TABLE).distinct().collect()}

            def write_one(table: MergedTable) -> None:
                self._write(pinned_df, table, metadata)

            with ThreadPoolExecutor(self.context.settings.write_threads) as threads:
                list(threads.map(write_one, [table for table in tables if table.name in named]))

    def _write(self, versions_df: DataFrame, table: MergedTable, metadata: Mapping[str, str]) -> None:
        name = table.spec.history_name
        timeline = self.timelines[name]
        layout = fit_layout(history_layout(table.spec), timeline)
        try:
            rows_df = to_history(versions_df, table)
            if not metadata and timeline.last:
                rows_df = _unlike(rows_df, read_snapshot(self.context.spark, timeline.path))
                if rows_df.isEmpty():
                    return
            of_columns = column_forms(table) if table.spec.is_mirror else {}
            if table.spec.is_mirror:
                write_again(self.context.spark, table, timeline, layout, self.context.settings)
            metadata = {**metadata, **of_columns, **declared_form(table.spec, self.context.spec)}
            done = commit(
                rows_df, layout, metadata=metadata, settings=self.context.settings, is_first=timeline.last is None
            )
        except Exception as error:
            log.exception("%s: was not written", name)
            self.merged.failed[name] = error
            return
        self.merged.add(TableOutcome(table=name, instant=done.instant, rows=done.rows, is_committed=True))


def _unlike(rows_df: DataFrame, stored_df: DataFrame) -> DataFrame:
    """Rows that are not stored, or otherwise."""
    renamed_df = stored_df.select(*(F.col(name).alias(f"{name}__stored") for name in stored_df.columns))
    there = [name for name in rows_df.columns if name in stored_df.columns]
    same = [F.col(name).eqNullSafe(F.col(f"{name}__stored")) for name in there if name != HISTORY_KEY]
    is_same = reduce(operator.and_, same, F.col(HISTORY_KEY) == F.col(f"{HISTORY_KEY}__stored"))
    return rows_df.join(renamed_df, is_same, "left_anti")
