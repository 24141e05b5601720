"""Events per hour of the last hours: only hours with new events, or that came into the window, are counted again."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import functions as F

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.specs import HourlyEventsSpec
from spark_jobs.jobs.mart_refresh import MartRefresh
from spark_jobs.storage.consumers import table_checkpoint
from spark_jobs.storage.layouts import EVENT_DATE
from spark_jobs.storage.reader import Pull, plan_pull, read_pull, read_snapshot
from spark_jobs.transforms.marts import EVENT_HOUR, count_hourly_events, hourly_columns

_HOUR = timedelta(hours=1)


def refresh_hourly(refresh: MartRefresh, mart: HourlyEventsSpec) -> TableOutcome:
    """Bring the mart to the newest readable instant of the log and to the clock's window."""
    source = refresh.source(refresh.spec.log)
    if not source.writes:
        return refresh.unchanged({})
    pull = plan_pull(source, after=table_checkpoint(refresh.state, refresh.timeline, source.table))
    checkpoints = {source.table: pull.window.up_to}
    window = window_hours(refresh.clock, mart.hours)
    stored_df = refresh.read_stored()
    previous = set(window_hours(refresh.previous_clock, mart.hours)) if refresh.previous_clock else set()
    recount = set(window)
    if stored_df is not None and not pull.resync_reason:
        recount = (set(window) - previous) | _touched_hours(refresh, pull, window)
        if not recount and previous == set(window):
            return refresh.unchanged(checkpoints)
    dates = sorted({hour.date().isoformat() for hour in recount})
    log_df = read_snapshot(refresh.spark, source.path).where(F.col(EVENT_DATE).isin(dates))
    cells_df = count_hourly_events(log_df, mart, sorted(recount))
    if stored_df is not None:
        stays = F.col(EVENT_HOUR).isin(*map(F.lit, window)) & ~F.col(EVENT_HOUR).isin(*map(F.lit, sorted(recount)))
        cells_df = cells_df.unionByName(stored_df.select(*hourly_columns(mart)).where(stays))
    return refresh.replace(mart, cells_df, checkpoints)


def window_hours(clock: datetime, hours: int) -> list[datetime]:
    """Starts of the last ``hours`` hours, the clock's own hour included, oldest first."""
    last = clock.replace(minute=0, second=0, microsecond=0)
    return [last - _HOUR * back for back in reversed(range(hours))]


def _touched_hours(refresh: MartRefresh, pull: Pull, window: list[datetime]) -> set[datetime]:
    touched = set()
    if interval := refresh.arguments.interval:
        touched = {hour for hour in window if interval.start < hour + _HOUR and hour < interval.end}
    if not pull.window.is_empty:
        new_df = read_pull(refresh.spark, refresh.source(refresh.spec.log).path, pull)
        hour = F.date_trunc("hour", F.col("event_time"))
        in_window = hour.between(F.lit(window[0]), F.lit(window[-1]))
        rows = new_df.where(in_window).select(hour.cast("long").alias("hour")).distinct().collect()
        seconds = {row["hour"] for row in rows}
        touched |= {hour for hour in window if int(hour.timestamp()) in seconds}
    return touched
