"""What a picture shows, computed exactly from the rows of its view: labels in their order, each with its value."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import spell
from spark_jobs.lake_report.steps import step_of, steps_up_to, write_step, write_time
from spark_jobs.lake_spec.reports import Chart, PictureSpec

NOT_KNOWN = "not known"
"""In place of a label that is null."""
_MOST_TEXT = 200
Hide = Callable[[str, object], object]
"""Column and value to what may be shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One label; ``value`` is None where nothing is known, such as a share of nothing."""

    label: str
    value: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The points of a picture in their order.

    Args:
        points: as they are shown.
        every: those and the others, for the table beside the picture.
        newest: of a picture of the newest rows, the value that they have.
        others: how many labels the last bar is of, or how many older columns or later steps are not shown.
        missing: rows that have no value.
    """

    points: tuple[Point, ...]
    every: tuple[Point, ...]
    newest: str = ""
    others: int = 0
    missing: int = 0


@dataclass(slots=True)
class _Sum:
    """Of one label. Null adds nothing; a sum of nulls alone is not known."""

    value: Fraction | None = None
    per: Fraction | None = None
    place: Any = None

    def add(self, row: Mapping[str, Any], picture: PictureSpec) -> bool:
        """Add a row; False when it has no value."""
        value = number(row[picture.value], picture, picture.value)
        per = number(row[picture.per], picture, picture.per) if picture.per else None
        if value is None or (picture.per and per is None):
            return False
        self.value = (self.value or Fraction(0)) + value
        self.per = (self.per or Fraction(0)) + per if per is not None else None
        return True

    def result(self, picture: PictureSpec) -> Fraction | None:
        """The sum, or the share in percent."""
        if not picture.per or self.value is None:
            return self.value
        return 100 * self.value / self.per if self.per else None


def series_of(answer: Answer, picture: PictureSpec, *, time_zone: str, hide: Hide) -> Series:
    """Add the rows up.

    Args:
        answer: rows of the columns that the picture names.
        picture: how.
        time_zone: of the lake; times are shown in it.
        hide: gives what may be shown of a column's value.

    Raises:
        ContractError: a column has values of another kind than the picture needs.
    """
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    newest, rows = _newest(rows, picture)
    words = _text(newest, time_zone) if newest is not None else ""
    if picture.chart is Chart.NUMBER:
        total, missing = _added(rows, picture, lambda _: picture.title)
        value = total[picture.title].result(picture) if total else (None if picture.per else Fraction(0))
        points: tuple[Point, ...] = (Point(label=picture.title, value=value),)
        return Series(points=points, every=points, newest=words, missing=missing)
    if picture.chart is Chart.COLUMNS:
        return _columns(rows, picture, time_zone, words)

    def label(row: Mapping[str, Any]) -> tuple[object, ...]:
        return tuple(row[name] for name in picture.label)

    sums, missing = _added(rows, picture, label)

    def shown(key: tuple[object, ...]) -> str:
        parts = (_text(hide(name, value), time_zone) for name, value in zip(picture.label, key, strict=True))
        return " · ".join(parts)

    if picture.chart is Chart.FUNNEL:
        every = _funnel(sums, picture, shown)
        kept, beyond = every[: picture.limit], len(every[picture.limit :])
        return Series(points=kept, every=every, newest=words, others=beyond, missing=missing)
    return _bars(sums, picture, shown, words, missing)


def number(value: Any, picture: PictureSpec, column: str) -> Fraction | None:
    """The value exactly; None for null, and for a floating point value that is no number."""
    if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ContractError(
            f"picture {picture.title!r}: column {column} of view {picture.view} has values that are no numbers; name "
            f"a column of numbers"
        )
    return Fraction(value)


def _added(
    rows: Iterable[Mapping[str, Any]], picture: PictureSpec, key: Callable[[Mapping[str, Any]], Any]
) -> tuple[dict[Any, _Sum], int]:
    sums: dict[Any, _Sum] = defaultdict(_Sum)
    missing = 0
    for row in rows:
        of = sums[key(row)]
        missing += not of.add(row, picture)
        place = _ranked(row[picture.order], picture, picture.order) if picture.order else None
        if place is not None:
            of.place = place if of.place is None else min(of.place, place)
    return dict(sums), missing


def _newest(rows: list[dict[str, Any]], picture: PictureSpec) -> tuple[Any, list[dict[str, Any]]]:
    if not picture.newest:
        return None, rows
    ranked = (_ranked(row[picture.newest], picture, picture.newest) for row in rows)
    newest = max((each for each in ranked if each is not None), default=None)
    return newest, [row for row in rows if newest is not None and row[picture.newest] == newest]


def _ranked(value: Any, picture: PictureSpec, column: str) -> Any:
    """A value that has a place among others of its kind; None for null and for no number."""
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return None
    if value is not None and not isinstance(value, int | float | Decimal | str | date):
        raise ContractError(
            f"picture {picture.title!r}: values of column {column} of view {picture.view} have no order; name another"
        )
    return value


def _bars(
    sums: Mapping[Any, _Sum], picture: PictureSpec, shown: Callable[[Any], str], newest: str, missing: int
) -> Series:
    """The largest first, equal ones and those without a value by label; what is beyond the limit becomes one bar."""
    results = {key: each.result(picture) for key, each in sums.items()}
    order = sorted(results, key=lambda key: (results[key] is None, -(results[key] or 0), tuple(map(_known_first, key))))
    every = tuple(Point(label=shown(key), value=results[key]) for key in order)
    limit = picture.limit
    if len(every) <= limit:
        return Series(points=every, every=every, newest=newest, missing=missing)
    rest = _Sum()
    for key in order[limit - 1 :]:
        if (value := sums[key].value) is not None:
            rest.value = (rest.value or Fraction(0)) + value
            rest.per = (rest.per or Fraction(0)) + (sums[key].per or 0)
    others = len(order) - limit + 1
    last = Point(label=f"{others} others", value=rest.result(picture))
    return Series(points=(*every[: limit - 1], last), every=every, newest=newest, others=others, missing=missing)


def _known_first(part: object) -> tuple[bool, str]:
    return part is None, str(part)


def _funnel(sums: Mapping[Any, _Sum], picture: PictureSpec, shown: Callable[[Any], str]) -> tuple[Point, ...]:
    """By their places, those without one last."""
    known = sorted((key for key in sums if sums[key].place is not None), key=lambda key: sums[key].place)
    order = [*known, *sorted((key for key in sums if sums[key].place is None), key=str)]
    return tuple(Point(label=shown(key), value=sums[key].result(picture)) for key in order)


def _columns(rows: Sequence[Mapping[str, Any]], picture: PictureSpec, time_zone: str, newest: str) -> Series:
    """A point for each step from the first to the last that has rows, and of those the newest ones."""
    assert picture.step is not None
    column, step = picture.label[0], picture.step
    kept = [row for row in rows if row[column] is not None]

    def key(row: Mapping[str, Any]) -> datetime:
        moment = step_of(row[column], step, time_zone)
        if moment is None:
            raise ContractError(
                f"picture {picture.title!r}: column {column} of view {picture.view} is no time by {step}; name another "
                f"column or step"
            )
        return moment

    sums, missing = _added(kept, picture, key)
    moments = sorted(sums)
    places = steps_up_to(moments[0], moments[-1], step, picture.limit) if moments else ()
    zone = time_zone if any(isinstance(row[column], datetime) for row in kept) else ""
    empty = None if picture.per else Fraction(0)
    points = tuple(
        Point(label=write_step(each, step, zone), value=sums[each].result(picture) if each in sums else empty)
        for each in places
    )
    older = sum(each < places[0] for each in moments) if places else 0
    missing += len(rows) - len(kept)
    return Series(points=points, every=points, newest=newest, others=older, missing=missing)


def _text(value: object, time_zone: str) -> str:
    """A label for people."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return write_time(value.replace(tzinfo=None), time_zone)
    if isinstance(value, Decimal):
        return format(value, "f")
    text = spell(str(value))
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
