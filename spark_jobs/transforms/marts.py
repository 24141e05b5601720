"""The fast layer's marts: events per hour, deals of the day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.specs import DailyTotalsSpec, HourlyEventsSpec

CELL_ID, EVENT_HOUR, DAY = "cell_id", "event_hour", "day"


def with_cell_id(cells_df: DataFrame, grain: Sequence[str]) -> DataFrame:
    """Add ``cell_id``, the record key: the grain's values as text, an unknown one (null) as ``-``."""
    parts: list[Column] = [F.coalesce(F.col(name).cast("string"), F.lit("-")) for name in grain]
    return cells_df.withColumn(CELL_ID, F.concat_ws("|", *parts))


def hourly_columns(mart: HourlyEventsSpec) -> tuple[str, ...]:
    """cell_id, event_hour (start of the hour, UTC), the groups, the number of events."""
    return (CELL_ID, EVENT_HOUR, *mart.group_by, mart.count_as)


def count_hourly_events(log_df: DataFrame, mart: HourlyEventsSpec, hours: Sequence[datetime]) -> DataFrame:
    """Events of the log in each of ``hours`` (starts of hours, UTC), with :func:`hourly_columns`.

    Every event counts, deletes too, under the groups it carries itself; null is a group of its own.
    """
    hour = F.date_trunc("hour", F.col("event_time"))
    kept_df = log_df.where(hour.isin(*map(F.lit, hours)))
    cells_df = kept_df.groupBy(hour.alias(EVENT_HOUR), *mart.group_by).agg(
        F.count_distinct("event_id").alias(mart.count_as)
    )
    return with_cell_id(cells_df, (EVENT_HOUR, *mart.group_by)).select(*hourly_columns(mart))


def daily_columns(mart: DailyTotalsSpec) -> tuple[str, ...]:
    """cell_id, day, the groups, the number of rows, their total."""
    return (CELL_ID, DAY, *mart.group_by, mart.count_as, mart.total_as)


def total_of_day(rows_df: DataFrame, lookup_df: DataFrame | None, mart: DailyTotalsSpec, day: date) -> DataFrame:
    """Rows of ``day`` counted and added up per group, with :func:`daily_columns`.

    Args:
        rows_df: live rows of ``mart.table``.
        lookup_df: rows of ``mart.lookup.table``, or None when there is no lookup; an unknown key gives null groups.
        mart: what is grouped and added.
        day: ``mart.day_of`` must lie on it.
    """
    of_day_df = rows_df.where(F.to_date(mart.day_of) == F.lit(day))
    if lookup_df is not None and mart.lookup is not None:
        taken_df = lookup_df.select(mart.lookup.by, *mart.lookup.take)
        of_day_df = of_day_df.join(taken_df, mart.lookup.by, "left")
    total = F.coalesce(F.sum(mart.total), F.lit(0)).cast("decimal(38,4)").alias(mart.total_as)
    cells_df = of_day_df.groupBy(*mart.group_by).agg(F.count(F.lit(1)).alias(mart.count_as), total)
    with_day_df = cells_df.withColumn(DAY, F.lit(day.isoformat()))
    return with_cell_id(with_day_df, (DAY, *mart.group_by)).select(*daily_columns(mart))
