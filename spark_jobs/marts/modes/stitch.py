"""Mode stitch: a rolling window over cached cells, plus what came after the cache's cut.

The cache is an aggregate mart; the *cut* is its checkpoint on its source. The cells of the window are read from it, and
what changed after the cut is added and taken away, and the stitch mart's SQL runs over that. So the
answer at any moment is the one that recomputing everything would give, wherever the cut is.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.frames import constant_column
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.marts.computing import compute_full
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.aggregate import Aggregate, cell_changes, changed_cells
from spark_jobs.marts.modes.cache import fingerprint_of_files, folders_of, is_intact, move_cut, rebuild
from spark_jobs.marts.modes.mode import Mode
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.sources import ChangesUnknownError
from spark_jobs.marts.windows import TimeRange, window_range
from spark_jobs.sql_analysis.mart_sql import expression_sql
from spark_jobs.storage.snapshots import read_table
from spark_jobs.transforms.cells import with_cell_id
from spark_jobs.transforms.visible import visible_rows

log = logging.getLogger(__name__)

AGGREGATE = Aggregate()
"""The mode of every cache."""
CHECKED_FILES = "checked_files"
"""The note that says which files of the cache the last refresh found to be as they were committed."""


class CacheBrokenError(Exception):
    """The cache does not hold what was committed to it; never leaves the engine."""


class Stitch(Mode):
    """The cache first, when it cannot be trusted or its cut is to be moved; then the mart."""

    reads_past = False

    def refresh(self, engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        """Refresh the cache and the mart, under both leases."""
        cache_mart = engine.context.spec.mart(mart.cache)
        with engine.holding(mart, cache_mart):
            cached = self._refresh_cache(engine, mart, cache_mart)
            why_broken = ""
            try:
                self._check_interval(engine, cache_mart)
                return [cached, self._stitch(engine, mart, cache_mart)]
            except CacheBrokenError:
                why_broken = "its cells are not what was committed"
            except ChangesUnknownError as error:
                why_broken = str(error)
            engine.report_full(cache_mart, why_broken)
            with engine.refreshing(cache_mart) as cache:
                cached = rebuild(cache)
            return [cached, self._stitch(engine, mart, cache_mart)]

    def range_difference(self, refresh: Refresh, interval: Interval) -> DataFrame | None:
        """Nothing: its rows are rebuilt by every run."""
        return None

    def held(self, engine: Engine, mart: MartSpec) -> tuple[MartSpec, ...]:
        """The mart and its cache."""
        return mart, engine.context.spec.mart(mart.cache)

    def whole_difference(self, engine: Engine, refresh: Refresh, stack: ExitStack) -> DataFrame:
        """The mart over cells that are all computed again."""
        cache = stack.enter_context(engine.refreshing(engine.context.spec.mart(refresh.mart.cache)))
        window = window_of(refresh, cache, refresh.clock)
        cells_df = compute_full(cache).where(window.holds(F.col(_time(cache))))
        return refresh.difference(stitched_rows(refresh, cache, cells_df), refresh.stored())

    def _refresh_cache(self, engine: Engine, mart: MartSpec, cache_mart: MartSpec) -> TableOutcome:
        with engine.refreshing(cache_mart) as cache:
            source = cache.sources[0]
            if source.is_absent:
                return cache.unchanged()
            if why_full := cache.why_full:
                engine.report_full(cache_mart, why_full)
                return rebuild(cache)
            after_cut = sum(1 for write in source.timeline.writes if write.time > source.pull.window.after)
            wants_move = engine.request.moves_cut or after_cut > mart.max_commits_after_cut
            if not wants_move or not source.has_moved:
                return TableOutcome(table=cache_mart.name, instant=cache.timeline.last, rows=0, is_committed=False)
            log.info("%s: moving the cut from %s to %s", cache_mart.name, source.pull.window.after, source.up_to)
            try:
                return move_cut(cache)
            except ChangesUnknownError as error:
                engine.report_full(cache_mart, str(error))
                return rebuild(cache)

    def _check_interval(self, engine: Engine, cache_mart: MartSpec) -> None:
        """Compute the cached cells of a backfill's dates again; CacheBrokenError when they are others."""
        if engine.context.interval:
            with engine.refreshing(cache_mart, is_held=True) as cache:
                difference_df = AGGREGATE.range_difference(cache, engine.context.interval)
                if difference_df is not None and not difference_df.isEmpty():
                    raise CacheBrokenError

    def _stitch(self, engine: Engine, mart: MartSpec, cache_mart: MartSpec) -> TableOutcome:
        with engine.refreshing(cache_mart) as cache:
            source = cache.sources[0]
            with engine.refreshing(mart, {source.stored: source.up_to}) as refresh:
                window, before = window_of(refresh, cache, refresh.clock), refresh.previous_clock
                is_same_window = before is not None and window == window_of(refresh, cache, before)
                is_same = is_same_window and not refresh.definition_changes
                if source.is_absent or (refresh.is_up_to_date and is_same):
                    return refresh.unchanged()
                return stitch(refresh, cache, window)


def window_of(refresh: Refresh, cache: Refresh, clock: datetime) -> TimeRange:
    """The window at a clock, as values of the cache's time column."""
    if refresh.mart.window is None or cache.mart.time is None:
        raise ContractError(f"mart {refresh.mart.name}: needs a window, and its cache {cache.mart.name} a time")
    return window_range(refresh.mart.window, clock, refresh.context.spec.time_zone, unit=cache.mart.time.unit)


def stitch(refresh: Refresh, cache: Refresh, window: TimeRange) -> TableOutcome:
    """Bring the mart to the newest instant of the cache's source. The caller holds both leases.

    Raises:
        CacheBrokenError: the cells read are not those that were committed.
        ChangesUnknownError: a commit after the cut kept no changes.
    """
    result_df = stitched_rows(refresh, cache, _cells_of_window(refresh, cache, window))
    return refresh.write(refresh.difference(result_df, refresh.stored()))


def stitched_rows(refresh: Refresh, cache: Refresh, cells_df: DataFrame) -> DataFrame:
    """The mart's SQL over the cells of its window, with ``cell_id``."""
    visible_df = visible_rows(cells_df, cache.mart.name, cache.context.spec)
    return with_cell_id(refresh.select({cache.mart.name: visible_df}), refresh.mart.grain)


def _cells_of_window(refresh: Refresh, cache: Refresh, window: TimeRange) -> DataFrame:
    """The cells of the window as they would be if the cut were at the newest instant."""
    is_inside = window.holds(F.col(_time(cache)))
    cached_df = _cached_cells(refresh, cache, window)
    if not cache.sources[0].has_moved:
        return compute_full(cache).limit(0) if cached_df is None else cached_df.where(is_inside)
    change_df = cell_changes(cache).where(is_inside)
    if cached_df is None:
        return changed_cells(cache, change_df, None)
    touched_df = cached_df.join(change_df.select(CELL_ID), CELL_ID, "left_semi")
    untouched_df = cached_df.where(is_inside).join(change_df.select(CELL_ID), CELL_ID, "left_anti")
    return untouched_df.unionByName(changed_cells(cache, change_df, touched_df))


def _cached_cells(refresh: Refresh, cache: Refresh, window: TimeRange) -> DataFrame | None:
    """The cells in the partitions of the cache that the window touches; None for none.

    Their checksums are seen to once for every state of their files: reading all of them twice in every refresh would
    cost more than what has changed.
    """
    if cache.timeline.newest is None:
        return None
    partitions = _partitions_of_window(refresh, cache, window)
    folders = folders_of(cache, partitions)
    files = fingerprint_of_files(cache, folders)
    cells_df = read_table(cache.views.spark, cache.timeline, cache.timeline.newest, folders)
    if partitions is not None:
        cells_df = cells_df.where(partitions.holds(F.col(cache.mart.partition)))
    if refresh.state.notes.get(CHECKED_FILES) != files:
        cells_df = cache.views.pin(cells_df, "cached")
        if not is_intact(cache, cells_df, partitions):
            raise CacheBrokenError
    refresh.notes[CHECKED_FILES] = files
    return cells_df


def _partitions_of_window(refresh: Refresh, cache: Refresh, window: TimeRange) -> TimeRange | None:
    """The first and last partition of the cache that the window touches; None for all of them."""
    text = refresh.mart.reads[0].partition
    if not text:
        return None
    ends_df = constant_column(cache.views.spark, (window.first, window.last), _time(cache))
    partition = F.expr(expression_sql(text, time_zone=cache.context.spec.time_zone))
    first, last = (row[0] for row in ends_df.select(partition).collect())
    return TimeRange(first=first, last=last)


def _time(cache: Refresh) -> str:
    return cache.mart.time.column if cache.mart.time else ""
