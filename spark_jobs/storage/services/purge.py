"""A table left with its newest state alone: what was replaced or removed is gone from storage."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import END
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.heartbeats import Heartbeats
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.options import Operation, build_service_options
from spark_jobs.storage.procedures import call
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.recovery import settled_timeline, with_late_compactions
from spark_jobs.storage.services.compaction_plans import EVERY_GROUP
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout

_OPTIONS = build_service_options(EVERY_GROUP)

log = logging.getLogger(__name__)


def purge(spark: SparkSession, layout: TableLayout, settings: Settings, clock: datetime) -> int:
    """Remove every state of the table but the newest; gives how many files went.

    The caller holds the leases of the table and of its services, and has seen that no savepoint and no consumer needs
    an older state. The cleaner always spares the version before the oldest state it retains, so an empty commit comes
    first: as of it, everything else is old. It changes no row, and consumers stay where they are.

    Raises:
        TransientError: something of an older state is still there; run it again.
    """
    path = settings.table_path(layout.name)
    settled_timeline(spark, layout.name, settings)
    _merge_files(spark, layout, settings)
    before = TableState.look(layout, path)
    superseded = {file.path for file in before.superseded(END)}
    if superseded:
        _commit_nothing(spark, layout, Timeline(table=layout.name, path=path), settings, clock)
    elif not before.timeline.pending_cleans:  # of a run that died when it had removed all files
        return 0
    given: dict[str, str | int] = {"clean_policy": "KEEP_LATEST_COMMITS", "retain_commits": 1}
    call(spark, layout.name, path, "run_clean", given, options=build_service_options())
    left = {file.path for file in TableState.look(layout, path).superseded(END)}
    if left:
        raise TransientError(f"{layout.name}: {len(left)} files of older states could not be removed; run it again")
    log.info("%s: %d files of older states removed", layout.name, len(superseded))
    return len(superseded)


def finish_plans(spark: SparkSession, layout: TableLayout, settings: Settings) -> None:
    """Carry out the plans that wait, of services that died: what is written after a plan was made is not in it."""
    timeline = Timeline(table=layout.name, path=settings.table_path(layout.name))
    if timeline.pending_plans:
        Heartbeats(layout.name, timeline.path).wait_for_end(timeline.pending_plans)
        procedure, run = ("run_compaction", "run") if layout.is_merged else ("run_clustering", "execute")
        call(spark, layout.name, timeline.path, procedure, {"op": run}, options=_OPTIONS)
        with_late_compactions(Timeline(table=layout.name, path=timeline.path))


def _merge_files(spark: SparkSession, layout: TableLayout, settings: Settings) -> None:
    """Of a merge-on-read table, bring everything into base files."""
    finish_plans(spark, layout, settings)
    if layout.is_merged:
        path = settings.table_path(layout.name)
        call(spark, layout.name, path, "run_compaction", {"op": "schedule"}, options=_OPTIONS)
        finish_plans(spark, layout, settings)


def _commit_nothing(
    spark: SparkSession, layout: TableLayout, timeline: Timeline, settings: Settings, clock: datetime
) -> None:
    """A commit without rows. A consumer that is at the table's newest instant is moved to the new one.

    The lake's own readers that have read everything before it have read it too: it keeps no changes to be read.
    """
    nothing_df = read_stored(spark, timeline.path).limit(0)
    done = commit(nothing_df, fit_layout(layout, timeline), metadata={}, settings=settings, operation=Operation.UPSERT)
    registry = ConsumerRegistry(settings.base_path)
    for name, state in registry.all().items():
        tables, places = dict(state.tables), dict(state.checkpoints)
        if timeline.last and tables.get(layout.name) == timeline.last:
            tables[layout.name] = done.instant
        if timeline.last and tables and places.get(layout.name, "") >= timeline.last:
            places[layout.name] = done.instant
        registry.write(name, replace(state, tables=tables, checkpoints=places), clock)
