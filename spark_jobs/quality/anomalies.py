"""Whether the newest figure of a daily series is unlike those before it, with trends and weekdays allowed for.

The method, of published and robust parts, so that neither a growing business nor one wild day in the past misleads it:

1. Kendall's test (Mann 1945) decides whether there is a trend. If so, it is Theil's line (Theil 1950, Sen 1968):
   the median of the slopes of all pairs of days, and the median of what is left as its height; else the median alone.
   A third of the days may be wild. A trend is reported as a trend, and is no anomaly.
2. The test of Kruskal and Wallis (1952) decides whether weekdays differ, once the series has four weeks. If so,
   each is levelled by its own median: of the distances from the line, or for counts of the shares of it.
3. The newest day is judged by the modified z-score (Iglewicz and Hoaglin 1993): its distance from what was expected, in
   units of the median distance of the days before it; beyond 3.5 it is an anomaly. Where more than half of the days are
   on the line, the mean distance takes the place of the median one, as they say. As what was fitted makes distances
   smaller than they will be, they are counted for the degrees of freedom that are left.

The distances of counts are taken on the scale on which their spread does not depend on their size (Anscombe 1948).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from statistics import NormalDist, fmean, median

FEWEST_DAYS = 14
"""Days before the newest one; with fewer, nothing can be called unusual."""
_LEAST_COUNT = 0.5
_WEEKDAYS, _FEWEST_OF_WEEKDAY = 7, 4
_LIMIT = 3.5
_MEDIAN_UNIT, _MEAN_UNIT = 0.6745, 0.7979
"""Median and mean of the absolute value of a standard normal variable: both make the z-score one of them."""
_LEVEL = 0.01
"""At which a trend, or a difference between weekdays, is taken to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The newest day against those before it: the expected figure, its modified z-score, the trend's slope a day."""

    expected: float
    score: float
    slope: float
    has_trend: bool

    @property
    def is_anomaly(self) -> bool:
        """True when the figure is further from what was expected than chance would have it."""
        return abs(self.score) > _LIMIT


def judge_newest(series: Mapping[date, float], *, is_count: bool = False) -> Judgement | None:
    """Judge the newest day of a series by the days before it; days may be missing. None for too short a history.

    Args:
        series: the figure of each day.
        is_count: the figures are numbers of things.
    """
    days = sorted(series)
    if len(days) <= FEWEST_DAYS:
        return None
    at = [float(day.toordinal() - days[0].toordinal()) for day in days]
    values = [float(series[day]) for day in days]
    has_trend = kendall_p(at[:-1], values[:-1]) < _LEVEL
    slope, height = theil_line(at[:-1], values[:-1]) if has_trend else (0.0, median(values[:-1]))
    line = [height + slope * x for x in at]
    if is_count:
        line = [max(level, _LEAST_COUNT) for level in line]
        shares = [value / level for value, level in zip(values, line, strict=True)]
        effects = _weekday_effects(days[:-1], shares[:-1])
        expected = [level * effects.get(day.weekday(), 1.0) for day, level in zip(days, line, strict=True)]
        left = [_anscombe(value) - _anscombe(usual) for value, usual in zip(values, expected, strict=True)]
    else:
        effects = _weekday_effects(days[:-1], [value - level for value, level in zip(values[:-1], line, strict=False)])
        expected = [level + effects.get(day.weekday(), 0.0) for day, level in zip(days, line, strict=True)]
        left = [value - usual for value, usual in zip(values, expected, strict=True)]
    before, fitted = len(days) - 1, 1 + has_trend + max(0, len(effects) - 1)
    score = modified_z(left[-1], left[:-1]) * math.sqrt((before - fitted) / before)
    return Judgement(expected=expected[-1], score=score, slope=slope, has_trend=has_trend)


def theil_line(at: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Slope and height at 0 of the line through points at different places, after Theil."""
    pairs = combinations(zip(at, values, strict=True), 2)
    slope = median((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairs)
    return slope, median(y - slope * x for x, y in zip(at, values, strict=True))


def modified_z(value: float, others: Sequence[float]) -> float:
    """How far ``value`` is from the median of the others, in their spread; 0 where it is what all of them are."""
    middle = median(others)
    distances = [abs(other - middle) for other in others]
    spread = median(distances) / _MEDIAN_UNIT or fmean(distances) / _MEAN_UNIT
    distance = value - middle
    if spread:
        return distance / spread
    is_same = math.isclose(value, middle, rel_tol=1e-9, abs_tol=1e-9)
    return 0.0 if is_same else math.copysign(math.inf, distance)


def kendall_p(at: Sequence[float], values: Sequence[float]) -> float:
    """The chance of so much order among values, up or down, when there is no trend: Mann's test, ties counted."""
    pairs = combinations(sorted(zip(at, values, strict=True)), 2)
    score = sum((later > earlier) - (later < earlier) for (_, earlier), (_, later) in pairs)
    count = len(values)
    ties = [values.count(value) for value in set(values)]
    variance = (count * (count - 1) * (2 * count + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if not variance or not score:
        return 1.0
    return 2 * NormalDist().cdf(-(abs(score) - 1) / math.sqrt(variance))


def kruskal_p(groups: Sequence[Sequence[float]]) -> float:
    """The chance of so different groups when they are alike, by the ranks of their values; an odd number of groups."""
    values = sorted(value for group in groups for value in group)
    count = len(values)
    ranks = {value: values.index(value) + (values.count(value) + 1) / 2 for value in set(values)}
    tied = 1 - sum(t**3 - t for t in map(values.count, set(values))) / (count**3 - count)
    if not tied:
        return 1.0
    sums = sum(sum(ranks[value] for value in group) ** 2 / len(group) for group in groups)
    statistic = (12 / (count * (count + 1)) * sums - 3 * (count + 1)) / tied
    # The chi-squared distribution with an even number of degrees of freedom is a Poisson sum.
    half = statistic / 2
    return math.exp(-half) * sum(half**k / math.factorial(k) for k in range((len(groups) - 1) // 2))


def _weekday_effects(days: Sequence[date], left: Sequence[float]) -> dict[int, float]:
    """What each weekday usually has; nothing where they do not differ, or were seen too rarely to know."""
    of_weekday: dict[int, list[float]] = {}
    for day, value in zip(days, left, strict=True):
        of_weekday.setdefault(day.weekday(), []).append(value)
    is_known = len(of_weekday) == _WEEKDAYS and min(map(len, of_weekday.values())) >= _FEWEST_OF_WEEKDAY
    if not is_known or kruskal_p(list(of_weekday.values())) >= _LEVEL:
        return {}
    return {weekday: median(values) for weekday, values in of_weekday.items()}


def _anscombe(count: float) -> float:
    return 2 * math.sqrt(count + 3 / 8)
