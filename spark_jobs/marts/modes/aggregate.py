"""Mode aggregate: what came is added to the cells that it touches, what left is taken away."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.frames import counted_rows
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.marts.computing import compute_full, finished, full_difference
from spark_jobs.marts.modes.mode import ComputedAgain
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.scopes import folders_of
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.transforms.aggregates import IN_DOUBT, add_up, check_exact, has_extremes, merge_cells
from spark_jobs.transforms.cells import with_cell_id

LEAST_FOLDERS = 20
"""With fewer partitions it takes no longer to look through all than to find out which are touched."""
_MOST_FOLDERS = 200


class Aggregate(ComputedAgain):
    """Sums, counts, averages, minima and maxima."""

    def write(self, refresh: Refresh, why_full: str) -> TableOutcome:
        """Commit the cells that changed."""
        return refresh.write(full_difference(refresh) if why_full else aggregate_difference(refresh))


def aggregate_difference(refresh: Refresh) -> DataFrame:
    """Add what came, take away what left."""
    change_df = cell_changes(refresh)
    stored_df = refresh.stored(_touched_folders(refresh, change_df))
    if stored_df is not None:
        stored_df = stored_df.join(change_df.select(CELL_ID), CELL_ID, "left_semi")
        stored_df = refresh.views.pin(stored_df, "touched")
    return refresh.difference(changed_cells(refresh, change_df, stored_df), stored_df)


def _touched_folders(refresh: Refresh, change_df: DataFrame) -> Sequence[str] | None:
    """The folders of its own table in which the cells of a change are; None for all of it."""
    partition = refresh.mart.partition
    if partition not in refresh.query.groups or len(Filesystem(refresh.timeline.path).folders()) < LEAST_FOLDERS:
        return None
    _, rows = counted_rows(change_df.select(partition).distinct(), _MOST_FOLDERS)
    return folders_of(None if rows is None else [row[0] for row in rows], partition)


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
    return refresh.views.pin(with_cell_id(change_df, refresh.mart.grain), "cell_changes")
