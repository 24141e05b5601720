"""The rows of a mart in a range of time, computed again whatever is new elsewhere."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.lake_spec.marts import MartMode
from spark_jobs.marts.modes import compute_full
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.scoped import recompute
from spark_jobs.marts.scopes import gather, scopes_of_interval, windows
from spark_jobs.marts.windows import interval_range


def range_difference(refresh: Refresh, interval: Interval) -> DataFrame | None:
    """What computing the rows of these dates again would change; None when there is nothing to compute again.

    A mart without a time column is computed again as a whole. Rows of mode append never change, and those of mode
    stitch are rebuilt by every run.
    """
    mart = refresh.mart
    if mart.mode in (MartMode.APPEND, MartMode.STITCH) or any(source.is_absent for source in refresh.sources):
        return None
    if mart.mode is MartMode.SCOPED:
        window, _ = windows(refresh)
        scopes = gather(refresh, scopes_of_interval(refresh, interval), window)
        return recompute(refresh, scopes, None) if scopes.count else None
    result_df, stored_df = compute_full(refresh), refresh.stored()
    if mart.time:
        is_inside = interval_range(interval, mart.time.unit).holds(F.col(mart.time.column))
        result_df = result_df.where(is_inside)
        stored_df = None if stored_df is None else stored_df.where(is_inside)
    return refresh.difference(result_df, stored_df)
