"""The rows of a mart from all rows of its sources, and what differs from the stored ones."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.marts.refresh import Refresh
from spark_jobs.transforms.aggregates import check_exact, finish_cells
from spark_jobs.transforms.cells import with_cell_id


def compute_full(refresh: Refresh) -> DataFrame:
    """Every row of the mart, from its sources as they are at the checkpoints."""
    if refresh.query.measures:
        return finished(refresh, refresh.select_partial(refresh.sources[0].snapshot(refresh.views)))
    rows_df = refresh.select({s.table: s.snapshot(refresh.views) for s in refresh.sources})
    return with_cell_id(rows_df, refresh.mart.grain)


def full_difference(refresh: Refresh) -> DataFrame:
    """Compute everything and compare it with all that is stored."""
    return refresh.difference(compute_full(refresh), refresh.stored())


def finished(refresh: Refresh, cells_df: DataFrame) -> DataFrame:
    """Cells with ``cell_id`` and their measures as people read them."""
    check_exact(cells_df.schema, refresh.mart.name)
    done_df = finish_cells(cells_df, refresh.query.columns, refresh.query.measures)
    return done_df if CELL_ID in done_df.columns else with_cell_id(done_df, refresh.mart.grain)
