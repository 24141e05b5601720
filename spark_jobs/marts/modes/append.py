"""Mode append: the rows that new rows of an append-only table become are added."""

from __future__ import annotations

from contextlib import ExitStack

from pyspark.sql import DataFrame

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.mode import WrittenAlone
from spark_jobs.marts.refresh import Refresh
from spark_jobs.transforms.cells import with_cell_id


class Append(WrittenAlone):
    """Rows never change, so there are no dates to compute again."""

    def write(self, refresh: Refresh, why_full: str) -> TableOutcome:
        """Add the rows that the new rows of the source become; all rows again when it has to be."""
        source = refresh.sources[0]
        if why_full:
            rows_df = source.snapshot(refresh.views)
        else:
            rows_df = source.changes(refresh.views, refresh.query).came_df
        result_df = with_cell_id(refresh.select({source.table: rows_df}), refresh.mart.grain)
        is_full = bool(why_full) and refresh.timeline.last is not None
        return refresh.append(refresh.views.pin(result_df, "rows"), is_full=is_full)

    def range_difference(self, refresh: Refresh, interval: Interval) -> DataFrame | None:
        """Nothing."""
        return None

    def whole_difference(self, engine: Engine, refresh: Refresh, stack: ExitStack) -> DataFrame:
        """All rows of the source as rows of the mart, compared with those that are stored."""
        source = refresh.sources[0]
        rows_df = refresh.select({source.table: source.snapshot(refresh.views)})
        return refresh.difference(with_cell_id(rows_df, refresh.mart.grain), refresh.stored())
