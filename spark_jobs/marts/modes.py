"""Modes append, aggregate and full: from what is new in the sources to what has to change in the mart."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.marts.refresh import Refresh
from spark_jobs.transforms.aggregates import IN_DOUBT, add_up, check_exact, finish_cells, has_extremes, merge_cells
from spark_jobs.transforms.cells import with_cell_id


def append_rows(refresh: Refresh, why_full: str) -> TableOutcome:
    """Add the rows that the new rows of the source become; all rows again when it has to be."""
    source = refresh.sources[0]
    if why_full:
        rows_df = source.snapshot(refresh.views)
    else:
        rows_df = source.changes(refresh.views, refresh.query).came_df
    result_df = refresh.views.pin(_with_cell_id(refresh, refresh.select({source.table: rows_df})), "rows")
    return refresh.append(result_df, is_full=bool(why_full) and refresh.timeline.last is not None)


def compute_full(refresh: Refresh) -> DataFrame:
    """Every row of the mart, from its sources as they are at the checkpoints."""
    if refresh.query.measures:
        return finished(refresh, refresh.select_partial(refresh.sources[0].snapshot(refresh.views)))
    return _with_cell_id(refresh, refresh.select({s.table: s.snapshot(refresh.views) for s in refresh.sources}))


def full_difference(refresh: Refresh) -> DataFrame:
    """Compute everything and compare it with all that is stored."""
    return refresh.difference(compute_full(refresh), refresh.stored())


def aggregate_difference(refresh: Refresh) -> DataFrame:
    """Add what came, take away what left."""
    stored_df, change_df = refresh.stored(), cell_changes(refresh)
    if stored_df is not None:
        stored_df = stored_df.join(change_df.select(CELL_ID), CELL_ID, "left_semi")
        stored_df = refresh.views.pin(stored_df, "touched")
    return refresh.difference(changed_cells(refresh, change_df, stored_df), stored_df)


def changed_cells(refresh: Refresh, change_df: DataFrame, stored_df: DataFrame | None) -> DataFrame:
    """The cells that a change touches, as they are after it. Those whose extreme may have left are recomputed."""
    query = refresh.query
    merged_df = merge_cells(change_df, stored_df, query.groups, query.measures)
    if not has_extremes(query.measures):
        return finished(refresh, merged_df.drop(IN_DOUBT))
    merged_df = refresh.views.pin(merged_df, "merged")
    result_df = finished(refresh, merged_df.where(~F.col(IN_DOUBT)).drop(IN_DOUBT))
    doubted_df = merged_df.where(F.col(IN_DOUBT)).select(CELL_ID)
    if doubted_df.isEmpty():
        return result_df
    return result_df.unionByName(compute_full(refresh).join(doubted_df, CELL_ID, "left_semi"))


def cell_changes(refresh: Refresh) -> DataFrame:
    """What is new in the source as a change of each cell, once (``cell_id`` and what :func:`add_up` gives)."""
    source = refresh.sources[0]
    changes = source.changes(refresh.views, refresh.query)
    came_df = refresh.select_partial(changes.came_df)
    check_exact(came_df.schema, refresh.mart.name)
    left_df = None if changes.left_df is None else refresh.select_partial(changes.left_df)
    change_df = add_up(came_df, left_df, refresh.query.groups, refresh.query.measures)
    return refresh.views.pin(_with_cell_id(refresh, change_df), "cell_changes")


def finished(refresh: Refresh, cells_df: DataFrame) -> DataFrame:
    """Cells with ``cell_id`` and their measures as people read them."""
    check_exact(cells_df.schema, refresh.mart.name)
    done_df = finish_cells(cells_df, refresh.query.columns, refresh.query.measures)
    return done_df if CELL_ID in done_df.columns else _with_cell_id(refresh, done_df)


def _with_cell_id(refresh: Refresh, rows_df: DataFrame) -> DataFrame:
    return with_cell_id(rows_df, refresh.mart.grain)
