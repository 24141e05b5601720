"""What the refresh of every mart shares: its clock, its checkpoints, and writing it only when it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, parse_clock
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec, MartSpec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, checkpoint_key
from spark_jobs.storage.layouts import mart_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit

_CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class MartRefresh:
    """One refresh of one mart, under its lease. ``state`` is what its consumer file remembers."""

    spark: SparkSession
    spec: LakeSpec
    settings: Settings
    arguments: JobArguments
    timeline: Timeline
    state: ConsumerState

    @property
    def is_state_current(self) -> bool:
        """True when the consumer file was written for the mart as it is now."""
        return bool(self.state.tables) and self.state.tables.get(self.timeline.table) == self.timeline.last

    @property
    def previous_clock(self) -> datetime | None:
        """The clock the mart was last brought to."""
        text = self.state.notes.get(_CLOCK) if self.is_state_current else None
        text = text or self.timeline.newest_metadata(METADATA_PREFIX + _CLOCK)
        return parse_clock(text) if text else None

    @property
    def clock(self) -> datetime:
        """The run's clock, or the mart's own when that is later: a mart's clock never goes back."""
        return max(self.arguments.clock, self.previous_clock or self.arguments.clock)

    def source(self, table: str) -> Timeline:
        """The timeline of a table the mart is made from."""
        timeline = Timeline(table=table, path=self.settings.table_path(table))
        timeline.check_version()
        return timeline

    def read_stored(self) -> DataFrame | None:
        """The mart as it is, or None before its first commit."""
        return read_snapshot(self.spark, self.timeline.path) if self.timeline.last else None

    def unchanged(self, checkpoints: Mapping[str, str]) -> TableOutcome:
        """Remember that the mart is right up to ``checkpoints`` and was not written."""
        self._remember(checkpoints, self.timeline.last)
        return TableOutcome(table=self.timeline.table, instant=self.timeline.last, rows=0, is_committed=False)

    def replace(self, mart: MartSpec, cells_df: DataFrame, checkpoints: Mapping[str, str]) -> TableOutcome:
        """Write the whole mart, unless it is what is stored already (or both are empty)."""
        stored_df = self.read_stored()
        with pinned(self.spark, cells_df.coalesce(1), "cells") as cells_df:
            is_same = cells_df.isEmpty() if stored_df is None else _have_same_rows(cells_df, stored_df)
            if is_same:
                return self.unchanged(checkpoints)
            metadata = {_CLOCK: format_clock(self.clock)}
            metadata |= {checkpoint_key(source): instant for source, instant in checkpoints.items()}
            done = commit(cells_df, mart_layout(mart), metadata=metadata, settings=self.settings)
            self._remember(checkpoints, done.instant)
            return TableOutcome(table=mart.name, instant=done.instant, rows=done.rows, is_committed=True)

    def _remember(self, checkpoints: Mapping[str, str], instant: str | None) -> None:
        table = self.timeline.table
        state = ConsumerState(
            checkpoints=checkpoints, tables={table: instant}, notes={_CLOCK: format_clock(self.clock)}
        )
        ConsumerRegistry(self.settings.base_path).write(table, state)


def _have_same_rows(left_df: DataFrame, right_df: DataFrame) -> bool:
    columns = left_df.columns
    right_df = right_df.select(*columns)
    return left_df.exceptAll(right_df).isEmpty() and right_df.exceptAll(left_df).isEmpty()
