"""A day judged by the weeks before it: found when it is unlike them, not when it goes their way."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta

import pytest

from spark_jobs.lake_spec.expectations import Action, Expectation, Figure, Kind
from spark_jobs.quality.history import judge_day, newest_whole_day
from spark_jobs.quality.record import DayFigure
from spark_jobs.quality.verdicts import Outcome

DAY = date(2026, 3, 10)


def usual(figure: Figure, action: Action = Action.WARN, from_rows: int = 1) -> Expectation:
    columns = () if figure is Figure.ROWS else ("amount",)
    return Expectation(
        table="orders",
        name="as_usual",
        kind=Kind.USUAL,
        usual=figure,
        columns=columns,
        action=action,
        from_rows=from_rows,
    )


def days_before(count: int) -> list[date]:
    return [DAY - timedelta(days=back) for back in range(count, 0, -1)]


def judge(each: Expectation, of_days: dict[date, DayFigure]) -> list[tuple[Outcome, str]]:
    return [(verdict.outcome, verdict.figure) for verdict, _ in judge_day([each], {each.id: of_days}, DAY)]


def volumes(values: dict[date, int]) -> dict[date, DayFigure]:
    return {day: DayFigure(value=float(count), rows=count) for day, count in values.items()}


@pytest.mark.parametrize(
    ("clock", "zone", "day"),
    [
        (datetime(2026, 3, 11, 3, 0, tzinfo=UTC), "UTC", DAY),
        (datetime(2026, 3, 11, 0, 0, tzinfo=UTC), "UTC", DAY),
        (datetime(2026, 3, 11, 3, 0, tzinfo=UTC), "America/New_York", date(2026, 3, 9)),
        (datetime(2026, 3, 10, 23, 30, tzinfo=UTC), "Europe/Paris", DAY),
    ],
)
def test_the_newest_whole_day_is_one_of_the_lakes_time_zone(clock: datetime, zone: str, day: date):
    assert newest_whole_day(clock, zone) == day


@pytest.mark.parametrize(("action", "outcome"), [(Action.WARN, Outcome.WARNED), (Action.STOP, Outcome.STOPPED)])
def test_a_day_with_half_the_events_is_reported_with_what_was_expected(action: Action, outcome: Outcome):
    chance = random.Random(1)
    before = {day: 1000 + chance.randrange(-40, 41) for day in days_before(28)}
    ((found, figure),) = judge(usual(Figure.ROWS, action), volumes({**before, DAY: 500}))
    assert found is outcome
    assert figure.startswith("500 on 2026-03-10, where ")


def test_a_growing_table_is_no_anomaly_and_one_that_stopped_growing_is():
    chance = random.Random(2)
    before = {day: 1000 + 50 * at + chance.randrange(-20, 21) for at, day in enumerate(days_before(28))}
    ((found, figure),) = judge(usual(Figure.ROWS), volumes({**before, DAY: 2400}))
    assert (found, "with a trend of 5" in figure or "with a trend of 49" in figure) == (Outcome.HELD, True)
    assert judge(usual(Figure.ROWS), volumes({**before, DAY: 1700}))[0][0] is Outcome.WARNED


def test_a_day_on_which_nothing_was_written_counts_as_none():
    before = {day: 1000 + at % 7 for at, day in enumerate(days_before(28))}
    ((found, figure),) = judge(usual(Figure.ROWS), volumes(before))
    assert (found, figure[:16]) == (Outcome.WARNED, "0 on 2026-03-10,")


def test_weekends_without_events_are_usual():
    before = {day: 1000 + at % 5 for at, day in enumerate(days_before(42)) if day.weekday() < 5}
    sunday = DAY - timedelta(days=2)
    figures = volumes({day: count for day, count in before.items() if day < sunday})
    each = usual(Figure.ROWS)
    ((verdict, _),) = judge_day([each], {each.id: figures}, sunday)
    assert verdict.outcome is Outcome.HELD
    assert judge(each, volumes(before))[0][0] is Outcome.WARNED, "a Tuesday without any"


def test_shares_and_means_are_judged_on_days_that_have_them():
    chance = random.Random(3)
    shares = {day: DayFigure(value=0.1 + chance.uniform(-0.01, 0.01), rows=900) for day in days_before(28)}
    each = usual(Figure.NULLS)
    assert judge(each, shares) == [], "the day has no rows to be null in"
    assert judge(each, {**shares, DAY: DayFigure(value=0.102, rows=900)})[0][0] is Outcome.HELD
    ((found, figure),) = judge(each, {**shares, DAY: DayFigure(value=0.5, rows=900)})
    assert (found, figure[:9]) == (Outcome.WARNED, "50.00% on")
    means = {day: DayFigure(value=250_000 + chance.uniform(-900, 900), rows=900) for day in days_before(28)}
    assert judge(usual(Figure.MEAN), {**means, DAY: DayFigure(value=25_000.0, rows=900)})[0][0] is Outcome.WARNED


def test_a_day_of_fewer_rows_than_required_is_not_judged():
    means = {day: DayFigure(value=100.0 + math.sin(day.day), rows=900) for day in days_before(28)}
    few = DayFigure(value=1.0, rows=9)
    assert judge(usual(Figure.MEAN, from_rows=10), {**means, DAY: few}) == []
    assert judge(usual(Figure.MEAN, from_rows=9), {**means, DAY: few})[0][0] is Outcome.WARNED


def test_two_weeks_are_needed():
    figures = volumes(dict.fromkeys(days_before(13), 1000))
    assert judge(usual(Figure.ROWS), {**figures, DAY: DayFigure(value=1.0, rows=1)}) == []
    assert judge(usual(Figure.ROWS), {}) == []


@pytest.mark.parametrize("seed", range(20))
def test_no_quiet_business_is_called_unusual(seed: int):
    """Counts of independent events, with weekends: a day in some thousands may be, none of these is."""
    chance = random.Random(seed)
    rate = {weekday: 400.0 if weekday < 5 else 80.0 for weekday in range(7)}
    before = {day: round(chance.gauss(rate[day.weekday()], math.sqrt(rate[day.weekday()]))) for day in days_before(56)}
    today = round(chance.gauss(rate[DAY.weekday()], math.sqrt(rate[DAY.weekday()])))
    assert judge(usual(Figure.ROWS), volumes({**before, DAY: today}))[0][0] is Outcome.HELD
