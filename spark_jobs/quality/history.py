"""Whether the newest whole day of a table is as usual: its figures judged by those of the weeks before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.lake_spec.expectations import Expectation, Figure
from spark_jobs.quality.anomalies import Judgement, judge_newest
from spark_jobs.quality.gate import outcome_of
from spark_jobs.quality.record import DayFigure
from spark_jobs.quality.results import QualityResult, ResultPlace, Stage, result_of
from spark_jobs.quality.verdicts import Verdict

DAYS = 56
"""Days of the history that a day is judged by."""
_FORMATS = {Figure.ROWS: "{:,.0f}", Figure.NULLS: "{:.2%}", Figure.MEAN: "{:,.2f}"}


def newest_whole_day(clock: datetime, time_zone: str) -> date:
    """The last day that was over at ``clock``, in the lake's time zone."""
    return clock.astimezone(ZoneInfo(time_zone)).date() - timedelta(days=1)


def judge_day(
    expectations: Sequence[Expectation], figures: Mapping[str, Mapping[date, DayFigure]], day: date
) -> Iterator[tuple[Verdict, QualityResult]]:
    """A verdict, and its row, for each expectation about what is usual that can be judged.

    None where the history is too short, or where the day has no rows that the figure could be of; a day on which
    nothing was written has the figure 0 where rows are counted.

    Args:
        expectations: of the kind ``usual``.
        figures: of each expectation, by its id, what the days had.
        day: the one that is judged.
    """
    for each in expectations:
        series = _series(each, figures[each.id], day)
        judged = judge_newest(series, is_count=each.usual is Figure.ROWS) if day in series else None
        if judged is not None:
            rows = figures[each.id].get(day, DayFigure(value=0.0, rows=0)).rows
            verdict = Verdict(
                expectation=each,
                checked=rows,
                broken=0,
                outcome=outcome_of(each, is_held=not judged.is_anomaly),
                figure=_describe(each, series[day], judged, day),
            )
            # About the day, whenever it is checked: the next night checks another one.
            place = ResultPlace(table=each.table, instant=NO_INSTANT, day=day.isoformat(), about=day.isoformat())
            figure = Decimal(str(series[day]))
            yield verdict, result_of(verdict, place, Stage.HISTORY, figure=figure)


def _series(each: Expectation, of_days: Mapping[date, DayFigure], day: date) -> dict[date, float]:
    known = {at: figure.value for at, figure in of_days.items() if at <= day and figure.rows >= each.from_rows}
    if each.usual is not Figure.ROWS or not known:
        return known
    first = min(known)
    days = (first + timedelta(days=number) for number in range((day - first).days + 1))
    # A day below from_rows is too small to judge, and still one with few rows to those after it.
    return {at: of_days[at].value if at in of_days else 0.0 for at in days}


def _describe(each: Expectation, value: float, judged: Judgement, day: date) -> str:
    as_text = _FORMATS[each.usual or Figure.ROWS].format
    trend = f", with a trend of {as_text(judged.slope)} a day" if judged.has_trend else ""
    return f"{as_text(value)} on {day}, where {as_text(judged.expected)} was expected{trend}"
