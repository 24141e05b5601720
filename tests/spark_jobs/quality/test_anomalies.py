"""Anomalies in daily figures: each part against SciPy's, the whole on seeded histories, usual and odd."""

from __future__ import annotations

import math
import random
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spark_jobs.quality.anomalies import (
    FEWEST_DAYS,
    Judgement,
    judge_newest,
    kendall_p,
    kruskal_p,
    modified_z,
    theil_line,
)

FIGURES = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=3, max_size=40)
MONDAY = date(2026, 1, 5)


@pytest.fixture(scope="module")
def stats() -> Any:
    """SciPy's: to import it takes a second, so only the process that compares with it does."""
    from scipy import stats

    return stats


@given(values=FIGURES)
def test_the_line_is_theils(stats, values):
    at = [float(number) for number in range(len(values))]
    slope, height = theil_line(at, values)
    expected = stats.theilslopes(values, at, method="joint")
    assert slope == pytest.approx(expected.slope, rel=1e-9, abs=1e-6)
    assert height == pytest.approx(expected.intercept, rel=1e-9, abs=1e-4)


@given(value=st.floats(-1e6, 1e6), others=FIGURES)
def test_the_score_is_the_distance_in_median_distances(stats, value, others):
    spread = stats.median_abs_deviation(others, scale="normal")
    assume(spread > 1e-6)
    middle = sorted(others)
    expected = (value - (middle[len(others) // 2] + middle[(len(others) - 1) // 2]) / 2) / spread
    assert modified_z(value, others) == pytest.approx(expected, rel=1e-3, abs=1e-6)


@given(values=st.lists(st.integers(0, 12).map(float), min_size=12, max_size=40))
def test_the_trend_is_tested_as_kendall_does(stats, values):
    assume(len(set(values)) > 1)
    at = [float(number) for number in range(len(values))]
    expected = stats.kendalltau(at, values, method="asymptotic").pvalue
    assert kendall_p(at, values) == pytest.approx(expected, abs=0.06), "SciPy does without the step of continuity"


@given(groups=st.lists(st.lists(st.integers(0, 9).map(float), min_size=4, max_size=9), min_size=7, max_size=7))
def test_weekdays_are_compared_as_kruskal_and_wallis_do(stats, groups):
    assume(len({value for group in groups for value in group}) > 1)
    assert kruskal_p(groups) == pytest.approx(stats.kruskal(*groups).pvalue, rel=1e-6, abs=1e-9)


def judge(series: dict[date, float], **how: bool) -> Judgement:
    judged = judge_newest(series, **how)
    assert judged is not None
    return judged


def history(
    seed: int, days: int = 56, *, grow: float = 0.0, week: float = 0.0, level: float = 400.0
) -> dict[date, float]:
    """Counts a day: a level, growth a day, weekends that are lower by a share, and the noise of counts."""
    rng = random.Random(seed)
    found = {}
    for number in range(days):
        day = MONDAY + timedelta(days=number)
        mean = (level + grow * number) * (1 - week * (day.weekday() >= 5))
        found[day] = float(max(0, round(rng.gauss(mean, math.sqrt(mean)))))
    return found


SHAPES = [{}, {"grow": 12.0}, {"grow": -5.0}, {"week": 0.7}, {"grow": 6.0, "week": 0.5}, {"level": 9.0}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_usual_days_are_called_usual(shape):
    odd = [seed for seed in range(200) if judge(history(seed, **shape), is_count=True).is_anomaly]
    assert len(odd) <= 4


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
@pytest.mark.parametrize("times", [0.0, 0.5, 2.0])
def test_half_and_double_a_day_are_found(shape, times):
    for seed in range(50):
        series = history(seed, **shape)
        newest = max(series)
        series[newest] = round(series[newest] * times)
        judged = judge(series, is_count=True)
        assert judged.is_anomaly
        assert (judged.score > 0) == (times > 1)


def test_wild_days_in_the_past_hide_nothing_and_are_not_expected_again():
    for seed in range(20):
        series = history(seed)
        for number in random.Random(seed).sample(range(55), 11):
            series[MONDAY + timedelta(days=number)] *= 20
        judged = judge(series, is_count=True)
        assert judged.expected == pytest.approx(400, rel=0.2)
        series[max(series)] *= 3
        assert judge(series, is_count=True).is_anomaly


def test_a_trend_is_reported_as_one():
    growing, level = (judge(history(3, grow=grow), is_count=True) for grow in (8.0, 0.0))
    assert (growing.has_trend, level.has_trend) == (True, False)
    assert growing.slope == pytest.approx(8, abs=1.5)


def test_a_short_history_says_nothing():
    series = history(1, days=FEWEST_DAYS + 1)
    assert judge_newest(series) is not None
    del series[MONDAY]
    assert judge_newest(series) is None
    assert judge_newest({}) is None


def test_a_figure_that_never_moved_and_moves():
    series = dict.fromkeys(history(1), 0.25)
    assert not judge(series).is_anomaly
    series[max(series)] = 0.26
    assert judge(series).is_anomaly


def test_days_that_are_missing_are_no_zeros():
    series = {day: value for day, value in history(5, week=0.6).items() if day.day % 5}
    assert not judge(series, is_count=True).is_anomaly
