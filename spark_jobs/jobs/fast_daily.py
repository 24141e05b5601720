"""Totals of the clock's day, from the live rows of a table."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pyspark.sql import functions as F

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.specs import DailyTotalsSpec
from spark_jobs.jobs.mart_refresh import MartRefresh
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.transforms.marts import total_of_day
from spark_jobs.transforms.newest import IS_DELETED


def refresh_daily(refresh: MartRefresh, mart: DailyTotalsSpec) -> TableOutcome:
    """Bring the mart to the newest state of its tables and to the clock's day (the company's time zone).

    When neither the day nor the tables moved since the last refresh, nothing is read.
    """
    zone = ZoneInfo(refresh.spec.time_zone)
    day = refresh.clock.astimezone(zone).date()
    rows_source = refresh.source(mart.table)
    lookup_source = refresh.source(mart.lookup.table) if mart.lookup else None
    sources = [source for source in (rows_source, lookup_source) if source]
    checkpoints = {source.table: source.last for source in sources if source.last}
    previous = refresh.previous_clock
    is_same_day = previous is not None and previous.astimezone(zone).date() == day
    if is_same_day and refresh.is_state_current and dict(refresh.state.checkpoints) == checkpoints:
        return refresh.unchanged(checkpoints)
    table = refresh.spec.table(mart.table)
    if rows_source.last is None or (lookup_source and lookup_source.last is None):
        return refresh.unchanged(checkpoints)
    rows_df = read_snapshot(refresh.spark, rows_source.path)
    if table.follows_deletes:
        rows_df = rows_df.where(~F.col(IS_DELETED))
    lookup_df = read_snapshot(refresh.spark, lookup_source.path) if lookup_source else None
    return refresh.replace(mart, total_of_day(rows_df, lookup_df, mart, day), checkpoints)
