"""What pictures show equals a plain computation from the same rows, for values of every kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_report.numbers import write_number
from spark_jobs.lake_report.series import NOT_KNOWN, Point, Series, series_of
from spark_jobs.lake_spec.reports import Chart, PictureSpec, Step

VALUES = st.one_of(
    st.none(),
    st.integers(-(10**18), 10**18),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**30), max_value=10**30),
    st.floats(allow_nan=True, allow_infinity=True, width=32),
)
LABELS = st.one_of(st.none(), st.sampled_from(["a", "b", "ä", "<script>", ""]), st.integers(-3, 3))


def picture(chart: Chart, **entries: Any) -> PictureSpec:
    return PictureSpec(title="a picture", view="some_view", chart=chart, **{"value": "worth", **entries})


def shown(rows: Sequence[Sequence[Any]], of: PictureSpec, time_zone: str = "UTC") -> Series:
    return series_of(Answer.of(of.columns, rows, None), of, time_zone=time_zone, hide=lambda _, value: value)


def at(*parts: int) -> datetime:
    """A time of UTC as engines give it, without a zone."""
    year, month, day, hour, minute = (*parts, 0, 0)[:5]
    return datetime(year, month, day, hour, minute, tzinfo=UTC).replace(tzinfo=None)


def is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


@settings(max_examples=40)
@given(st.lists(st.tuples(LABELS, VALUES), max_size=60), st.integers(1, 8))
def test_bars_are_the_sums_by_label_and_no_value_is_lost(rows: list[tuple[Any, Any]], most: int):
    series = shown(rows, picture(Chart.BARS, label=("who",), most=most))
    sums: dict[str, list[Any]] = {}
    for label, value in rows:
        sums.setdefault(NOT_KNOWN if label is None else str(label), []).append(value)
    expected = {
        label: sum(map(Fraction, filter(is_known, values))) if any(map(is_known, values)) else None
        for label, values in sums.items()
    }
    assert {point.label: point.value for point in series.every} == expected
    assert len(series.points) == min(len(expected), most)
    assert sum(point.value or 0 for point in series.points) == sum(value or 0 for value in expected.values())
    known = [point.value for point in series.every if point.value is not None]
    assert known == sorted(known, reverse=True)
    assert [point.value for point in series.every][len(known) :] == [None] * (len(expected) - len(known))
    assert series.missing == sum(not is_known(value) for _, value in rows)


@settings(max_examples=40)
@given(st.lists(st.tuples(VALUES, VALUES), max_size=30))
def test_a_share_is_of_the_rows_that_have_both_values_and_of_nothing_it_is_none(rows: list[tuple[Any, Any]]):
    (point,) = shown(rows, picture(Chart.NUMBER, per="of_all")).points
    both = [(Fraction(value), Fraction(per)) for value, per in rows if is_known(value) and is_known(per)]
    whole = sum(per for _, per in both)
    assert point.value == (100 * sum(value for value, _ in both) / whole if whole else None)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(-9, 9)), max_size=40), st.integers(1, 100))
def test_hours_without_rows_are_zero_and_the_newest_are_shown(rows: list[tuple[int, int]], most: int):
    start = at(2026, 3, 27, 22)  # noon and night, over the hour that summer time leaves out
    given_rows = [(start + timedelta(hours=hour, minutes=hour % 60), value) for hour, value in rows]
    of = picture(Chart.COLUMNS, label=("at",), step=Step.HOUR, most=most)
    series = shown(given_rows, of, "Europe/Paris")
    hours = sorted({_hour(start, each) for each, _ in rows})
    expected: list[tuple[str, Fraction | None]] = []
    if hours:
        each = hours[0]
        while each <= hours[-1]:
            of_hour = [value for hour, value in rows if _hour(start, hour) == each]
            local = each.replace(tzinfo=UTC).astimezone(ZoneInfo("Europe/Paris"))
            expected.append((local.strftime("%Y-%m-%d %H:00"), Fraction(sum(of_hour))))
            each += timedelta(hours=1)
    assert [(point.label, point.value) for point in series.points] == expected[-most:]
    assert series.others == len([each for each in hours if hours[-1] - each >= timedelta(hours=most)])


def _hour(start: datetime, number: int) -> datetime:
    moment = start + timedelta(hours=number, minutes=number % 60)
    return moment - timedelta(minutes=moment.minute)


@pytest.mark.parametrize(
    ("step", "values", "labels"),
    [
        (Step.MONTH, ["2025-11", "2026-02"], ["2025-11", "2025-12", "2026-01", "2026-02"]),
        (Step.DAY, ["2024-02-28", "2024-03-01"], ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (
            Step.HOUR,
            ["2026-01-01 23:00:00", "2026-01-02T01"],
            [f"2026-01-0{d} {h}:00" for d, h in ((1, 23), (2, "00"), (2, "01"))],
        ),
        (Step.DAY, [at(2026, 1, 1, 23, 30)], ["2026-01-02"]),
        (Step.MONTH, [at(2026, 1, 31, 23, 30), at(2026, 3, 1)], ["2026-02", "2026-03"]),
        (Step.DAY, [at(2026, 1, 1).date()], ["2026-01-01"]),
        (Step.DAY, ["0001-01-01"], ["0001-01-01"]),
    ],
)
def test_steps_of_times_are_those_of_the_lakes_clocks_and_texts_are_taken_as_they_are(
    step: Step, values: list[Any], labels: list[str]
):
    series = shown([(each, 1) for each in values], picture(Chart.COLUMNS, label=("at",), step=step), "Europe/Paris")
    assert [point.label for point in series.points] == labels


@pytest.mark.parametrize("wrong", ["yesterday", "2026-13-01", "2026-01-01 ", "٢٠٢٦-01-01", 5, True])
def test_a_label_that_is_no_time_is_refused(wrong: Any):
    with pytest.raises(ContractError, match="is no time by day"):
        shown([(wrong, 1)], picture(Chart.COLUMNS, label=("at",), step=Step.DAY))


def test_a_null_time_has_no_column_and_is_counted():
    series = shown([(None, 7), ("2026-01-01", 1)], picture(Chart.COLUMNS, label=("at",), step=Step.DAY))
    assert (series.points, series.missing) == ((Point(label="2026-01-01", value=Fraction(1)),), 1)


def test_only_rows_of_the_newest_value_count():
    rows = [("a", 5, "2026-01"), ("a", 2, "2026-02"), ("b", 1, "2026-02"), ("b", 9, None)]
    series = shown(rows, picture(Chart.BARS, label=("who",), newest="month"))
    assert [(point.label, point.value) for point in series.points] == [("a", Fraction(2)), ("b", Fraction(1))]
    assert series.newest == "2026-02"
    assert shown([("a", 1, None)], picture(Chart.BARS, label=("who",), newest="month")).points == ()


def test_a_funnel_keeps_its_order_and_what_has_no_place_is_last():
    rows = [("Offer", 10, 4), ("Lead", 40, 1), ("Lead", 0, 1), ("Visit", 0, 3), ("?", 3, None)]
    series = shown(rows, picture(Chart.FUNNEL, label=("step",), order="place"))
    assert [(point.label, point.value) for point in series.points] == [
        (label, Fraction(value)) for label, value in (("Lead", 40), ("Visit", 0), ("Offer", 10), ("?", 3))
    ]
    short = shown(rows, picture(Chart.FUNNEL, label=("step",), order="place", most=1))
    assert (len(short.points), len(short.every), short.others) == (1, 4, 3)


def test_a_number_of_no_rows_is_zero_and_of_nulls_alone_not_known():
    assert shown([], picture(Chart.NUMBER)).points[0].value == 0
    assert shown([(None,)], picture(Chart.NUMBER)).points[0].value is None
    assert shown([], picture(Chart.NUMBER, per="of_all")).points[0].value is None


@pytest.mark.parametrize("value", ["12", True, [1], at(2026, 1, 1)])
def test_a_value_that_is_no_number_is_refused(value: Any):
    with pytest.raises(ContractError, match="column worth of view some_view has values that are no numbers"):
        shown([(value,)], picture(Chart.NUMBER))


def test_labels_of_several_columns_stay_apart():
    rows = [("a", "EUR", 1), ("a", "USD", 2), (None, "EUR", 3)]
    series = shown(rows, picture(Chart.BARS, label=("what", "currency")))
    assert [point.label for point in series.points] == [f"{NOT_KNOWN} · EUR", "a · USD", "a · EUR"]


@settings(max_examples=40)
@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**30), max_value=10**30),
    st.integers(0, 6),
)
def test_numbers_are_rounded_once_with_halves_to_the_even_one(value: Decimal, digits: int):
    with localcontext() as exact:
        exact.prec = 60
        rounded = value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN)
        text = f"{rounded.copy_abs():,f}"
    assert write_number(Fraction(value), digits) == (f"−{text}" if rounded < 0 else text)
