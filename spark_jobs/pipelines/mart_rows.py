"""The rows of a mart or a table as the serving store takes them: all of one instant, or those that changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.context import AnyContext
from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.visible import shown_columns
from spark_jobs.storage.change_feed import AFTER, BEFORE, FOLDER_COLUMN, read_folders
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.reader import Pull, read_pull
from spark_jobs.storage.serving.changes import ChangesUncertainError, FeedRow, RowChange, net_changes
from spark_jobs.storage.serving.pulls import ServedPull
from spark_jobs.storage.serving.states import KeyedRow
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import live_rows, visible_rows

_WAS_THERE, _IS_THERE, _KEY = "__was_there", "__is_there", "__key"


class MartRows(Protocol):
    """The rows of one mart, or of a table, as of one instant."""

    @property
    def schema(self) -> StructType:
        """The columns that readers see."""

    def all(self) -> Iterator[KeyedRow]:
        """Every row."""

    def changed(self, pull: ServedPull) -> Iterator[RowChange]:
        """The rows that differ from those of an earlier instant; ChangesUncertainError when that is not certain."""


@dataclass(frozen=True)
class StoredRows:
    """The same, read from the lake by Spark, a partition at a time."""

    context: AnyContext
    timeline: Timeline
    instant: Instant

    @cached_property
    def _stored_df(self) -> DataFrame:
        return read_table(self.context.spark, self.timeline, self.instant)

    @cached_property
    def schema(self) -> StructType:
        """The columns that readers see."""
        return visible_rows(self._stored_df, self.timeline.table, self.context.spec).schema

    def all(self) -> Iterator[KeyedRow]:
        """Every row."""
        for row in self._stored_df.select(CELL_ID, *self.schema.names).toLocalIterator():
            yield row[0], row[1:]

    def changed(self, pull: ServedPull) -> Iterator[RowChange]:
        """The rows that were added to an append-only mart, else what its change feed has, one change for each key."""
        return self._added(pull.pull) if pull.pull else net_changes(self._fed(pull), pull.folders)

    def _added(self, pull: Pull) -> Iterator[RowChange]:
        rows_df = read_pull(self.context.spark, self.timeline.path, pull, is_alone=True)
        for row in rows_df.select(CELL_ID, *self.schema.names).toLocalIterator():
            yield RowChange(key=row[0], was_there=False, values=row[1:])

    def _fed(self, pull: ServedPull) -> Iterator[FeedRow]:
        """What each commit did to each key, all of a key together."""
        columns = pull.columns or StructType()
        feed_df = read_folders(self.context.spark, self.timeline.table, pull.folders, columns, self.context.settings)
        rows_df = feed_df.select(
            F.coalesce(F.col(f"{AFTER}.{CELL_ID}"), F.col(f"{BEFORE}.{CELL_ID}")).alias(CELL_ID),
            FOLDER_COLUMN,
            F.col(BEFORE).isNotNull().alias(_WAS_THERE),
            F.col(AFTER).isNotNull().alias(_IS_THERE),
            *(F.col(f"{AFTER}.{name}").alias(f"__{name}") for name in self.schema.names),
        )
        for row in rows_df.repartition(CELL_ID).sortWithinPartitions(CELL_ID).toLocalIterator():
            key, folder, was_there, is_there, *values = row
            yield FeedRow(key=key, commit=folder, was_there=was_there, values=values if is_there else None)


@dataclass(frozen=True)
class TableRows:
    """The live rows of a table that is served, without the columns that name people: these stay in the lake."""

    context: AnyContext
    table: TableSpec
    timeline: Timeline
    instant: Instant

    @cached_property
    def _live_df(self) -> DataFrame:
        stored_df = read_table(self.context.spark, self.timeline, self.instant)
        return live_rows(stored_df, self.table.name, self.context.spec)

    @cached_property
    def schema(self) -> StructType:
        """The columns that readers see."""
        spec, name = self.context.spec, self.table.name
        people = columns_of_people(spec, name)
        shown = (column for column in shown_columns(name, self._live_df.columns, spec) if column not in people)
        return self._live_df.select(*shown).schema

    def all(self) -> Iterator[KeyedRow]:
        """Every row."""
        key = F.col(table_layout(self.table).record_key).cast("string").alias(_KEY)
        for row in self._live_df.select(key, *self.schema.names).toLocalIterator():
            yield row[0], row[1:]

    def changed(self, pull: ServedPull) -> Iterator[RowChange]:
        """Tables are served whole: their change feeds are for marts alone."""
        raise ChangesUncertainError(f"it is a table, whose changes after {pull.after} are not pulled")
