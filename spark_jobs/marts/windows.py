"""Time as marts know it: units, windows that end at a clock, and ranges of dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.lake_spec.marts import TimeUnit, WindowSpec

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Values of a time column from ``first`` to ``last``, both in it: hours as times, days and months as text."""

    first: Any
    last: Any

    def holds(self, column: Column) -> Column:
        """True where the column is in the range."""
        return column.between(F.lit(self.first), F.lit(self.last))


def window_range(window: WindowSpec, clock: datetime, time_zone: str, *, unit: TimeUnit) -> TimeRange:
    """The window that ends with the clock's own unit, as values of a time column of ``unit``.

    Hours are those of UTC. Days, months and years are the company's: a window of one year that ends on a day begins on
    the day after the same day of the year before (after 28 February when that was no leap year).
    """
    if window.unit is TimeUnit.HOUR:
        last = clock.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        return TimeRange(first=last - _HOUR * (window.length - 1), last=last)
    today = clock.astimezone(ZoneInfo(time_zone)).date()
    if window.unit is TimeUnit.DAY:
        first = today - timedelta(days=window.length - 1)
    else:
        months = window.length * (12 if window.unit is TimeUnit.YEAR else 1)
        first = months_before(today, months) + timedelta(days=1)
    return TimeRange(first=_text(first, unit), last=_text(today, unit))


def values_of(range_: TimeRange, unit: TimeUnit) -> list[Any]:
    """Every value in a range of hours, days or months, in order."""
    if unit is TimeUnit.HOUR:
        hours = int((range_.last - range_.first) / _HOUR)
        return [range_.first + _HOUR * number for number in range(hours + 1)]
    if unit is TimeUnit.DAY:
        first, last = date.fromisoformat(range_.first), date.fromisoformat(range_.last)
        return [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    (year, month), (last_year, last_month) = (map(int, text.split("-")) for text in (range_.first, range_.last))
    count = (last_year - year) * 12 + last_month - month + 1
    indexes = range(year * 12 + month - 1, year * 12 + month - 1 + count)
    return [f"{index // 12:04d}-{index % 12 + 1:02d}" for index in indexes]


def interval_range(interval: Interval, unit: TimeUnit) -> TimeRange:
    """The units that an interval of whole UTC dates touches."""
    last = interval.end - timedelta(microseconds=1)
    if unit is TimeUnit.HOUR:
        return TimeRange(first=interval.start, last=last)
    return TimeRange(first=_text(interval.start.date(), unit), last=_text(last.date(), unit))


def in_utc(value: Any) -> Any:
    """A time that Spark gave as one of the session's zone, UTC, and without it; other values as they are."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def months_before(day: date, months: int) -> date:
    """The same day so many months earlier, or that month's last day when it has no such day."""
    index = day.year * 12 + day.month - 1 - months
    year, month = index // 12, index % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, min(day.day, (following - timedelta(days=1)).day))


def _text(day: date, unit: TimeUnit) -> str:
    return day.isoformat() if unit is TimeUnit.DAY else day.isoformat()[:7]
