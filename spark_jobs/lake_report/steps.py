"""Steps of time between the columns of a picture, and how they are written."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from spark_jobs.lake_spec.reports import Step

_FORMS = {
    Step.HOUR: re.compile(r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2})(?::00){0,2}"),
    Step.DAY: re.compile(r"(\d{4})-(\d{2})-(\d{2})"),
    Step.MONTH: re.compile(r"(\d{4})-(\d{2})"),
}


def step_of(value: object, step: Step, zone: str) -> datetime | None:
    """The beginning of the step that a time, a date or a text such as 2026-01-31 is in; None for another value.

    Times are in UTC, without a zone. Hours are those of UTC, in which each comes once; days and months are the zone's.
    """
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=None)
        return _begin(moment if step is Step.HOUR else shift(moment, zone), step)
    if isinstance(value, date):
        return None if step is Step.HOUR else _begin(_moment(value.year, value.month, value.day, 0), step)
    found = _FORMS[step].fullmatch(value) if isinstance(value, str) and value.isascii() else None
    if found is None:
        return None
    year, month, day, hour = (*map(int, found.groups()), *{Step.MONTH: (1, 0), Step.DAY: (0,), Step.HOUR: ()}[step])
    try:
        return _moment(year, month, day, hour)
    except ValueError:
        return None


def _moment(year: int, month: int, day: int, hour: int) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC).replace(tzinfo=None)


def _begin(moment: datetime, step: Step) -> datetime:
    hour = moment.replace(minute=0, second=0, microsecond=0)
    if step is Step.HOUR:
        return hour
    return hour.replace(hour=0) if step is Step.DAY else hour.replace(hour=0, day=1)


def steps_up_to(first: datetime, last: datetime, step: Step, most: int) -> tuple[datetime, ...]:
    """The beginnings of the steps from ``first`` to ``last``, the newest ``most`` of them, oldest first."""
    found = [last]
    while len(found) < most and (before := _before(found[-1], step)) is not None and before >= first:
        found.append(before)
    return tuple(reversed(found))


def _before(moment: datetime, step: Step) -> datetime | None:
    try:
        if step is Step.MONTH:
            return (moment - timedelta(days=1)).replace(day=1)
        return moment - (timedelta(hours=1) if step is Step.HOUR else timedelta(days=1))
    except OverflowError:  # the year 1
        return None


def write_step(moment: datetime, step: Step, zone: str) -> str:
    """A step for people; an hour of UTC is written in ``zone``, and as it is where there is none."""
    if step is Step.HOUR:
        return write_time(moment, zone)[:16]
    return moment.isoformat()[: 10 if step is Step.DAY else 7]


def write_time(moment: datetime, zone: str) -> str:
    """A time of UTC as clocks of the zone show it, without parts of a second; as it is without a zone."""
    return (shift(moment, zone) if zone else moment).isoformat(sep=" ", timespec="seconds")


def shift(moment: datetime, zone: str) -> datetime:
    """A time of UTC as clocks of the zone show it; at the ends of the calendar as it is."""
    try:
        return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except OverflowError:
        return moment
