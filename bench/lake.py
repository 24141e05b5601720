"""A lake on local files that has a history: how it is made, how events come in, how its marts are refreshed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.contexts import split_context
from bench.history import History
from bench.log_rows import UNITS as UNIT_COUNT
from bench.race import say
from bench.workload import in_buckets
from spark_jobs.context import JobContext
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import load_job
from spark_jobs.frames import shuffled_into
from spark_jobs.job_options.registry import options_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.tables import merged_tables
from spark_jobs.storage.consumers import checkpoint_key
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import EVENT_DATE, log_layout, table_layout
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.writer import commit
from spark_jobs.transforms.visible import visible_rows

SALES, UNITS = "sales", "units"
_ROWS_A_LOG_TASK = 400_000


@dataclass(frozen=True, kw_only=True)
class HistoryLake:
    """The tables of a history below ``settings.base_path``."""

    spark: SparkSession
    history: History
    settings: Settings

    @cached_property
    def spec(self) -> LakeSpec:
        """The lake with the two tables that are kept here, in as many buckets as rescale would make."""
        declared = self.history.spec
        rows = {UNITS: UNIT_COUNT, SALES: self.history.sales}
        tables = tuple(in_buckets(declared.table(name), count, declared) for name, count in rows.items())
        return replace(declared, tables=tables)

    def make(self, *, with_tables: bool, with_log: bool = True) -> None:
        """Write the log (one event of it, when it is not wanted) and, if wanted, the tables that split would make."""
        rows_df = self.history.log_rows(self.spark)
        rows_df = rows_df if with_log else rows_df.limit(1)
        parts = max(2, self.history.events // _ROWS_A_LOG_TASK)
        with stage("writing the log"), wide(self.spark, self.history):
            # One task a day of events: many writers open at once take more memory than there is.
            instant = self._commit_log(rows_df.repartition(parts, EVENT_DATE))
        if not with_tables:
            return
        rows = {UNITS: self.history.units_rows(self.spark), SALES: self.history.sales_rows(self.spark)}
        with stage(f"writing the table of {self.history.sales:,} sales"):
            for table in self.spec.tables:
                metadata = {checkpoint_key(self.spec.log): instant}
                layout = table_layout(table)
                commit(rows[table.name], layout, metadata=metadata, settings=self.settings, is_first=True)

    def log_events(self, events_df: DataFrame) -> Instant:
        """Add events to the log; gives the commit's instant."""
        return self._commit_log(events_df)

    def fold(self, events_df: DataFrame, log_instant: Instant) -> None:
        """Fold events that are in memory into the tables, as split does."""
        context, count = split_context(self.spark, self.spec, self.settings), events_df.count()
        merge = Merge(context=context, chosen=self.spec.tables)
        tables = merged_tables(self.spec, {})
        merge.merge_events(events_df, tables, tables, checkpoint=log_instant, count=count)
        merge.merged.raise_failed()

    def refresh(self, layer: str, clock: datetime, **options: Any) -> JobResult:
        """Run the job ``mart`` for a layer."""
        return run_job(self.spark, self.settings, "mart", clock, layer=layer, **options)

    def copy(self, folder: str, *tables: str) -> HistoryLake:
        """A lake with marts of its own that has these tables in common with this one."""
        os.makedirs(folder)
        for table in tables:
            os.symlink(self.settings.table_path(table), f"{folder}/{table}")
        return HistoryLake(spark=self.spark, history=self.history, settings=replace(self.settings, base_path=folder))

    def rows(self, table: str) -> DataFrame:
        """A table's rows as its readers see them."""
        return visible_rows(read_snapshot(self.spark, self.settings.table_path(table)), table, self.history.spec)

    def _commit_log(self, rows_df: DataFrame) -> Instant:
        return commit(rows_df, log_layout(self.spec), metadata={}, settings=self.settings).instant


def run_job(spark: SparkSession | None, settings: Settings, job: str, clock: datetime, **options: Any) -> JobResult:
    """Run a job in this process, as the entrypoint does."""
    found, spec = options_of(job).from_values(options), read_lake_spec(settings)
    return load_job(job).run(
        JobContext(job=job, clock=clock, options=found, settings=settings, lake=spec, session=spark)
    )


@contextmanager
def wide(spark: SparkSession, history: History) -> Iterator[None]:
    """Shuffles of the block are cut for work over all of the history, not for a micro-batch."""
    with shuffled_into(spark, history.tasks):
        yield


@contextmanager
def stage(what: str) -> Iterator[Mapping[str, float]]:
    """Say that something begins and how long it took; the mapping has its ``seconds`` afterwards."""
    say(f"{what} …")
    taken: dict[str, float] = {}
    started = time.perf_counter()
    yield taken
    taken["seconds"] = time.perf_counter() - started
    say(f"{what}: {taken['seconds']:.1f} s")
