"""Pictures as inline SVG. Widths are percentages, so that text keeps its size on a phone and on paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from unicodedata import east_asian_width

from spark_jobs.lake_docs.markup import Markup, element, joined
from spark_jobs.lake_report.numbers import ticks_of, write_number, write_short
from spark_jobs.lake_report.series import Point, Series
from spark_jobs.lake_spec.reports import Chart, PictureSpec, Step

_ROW, _BAR, _TEXT = 44, 16, 15
"""Of a bar: the height of all of it, of the bar, and where its text is."""
_TOP, _PLOT, _BOTTOM, _LEFT = 14, 170, 24, 13
"""Of columns: heights above, of the plot and below; the part of the width that the axis has, in percent."""
_LINE, _LEAST_LABEL = 44, 8
"""Characters of a label and its value that a phone has side by side, and those that a label has at least."""
_MOST_TIMES = 4


def chart_of(series: Series, picture: PictureSpec, name: str) -> Markup:
    """The picture of some points. ``name`` is its own on the page; what it shows is in the table beside it too."""
    draw = _columns if picture.chart is Chart.COLUMNS else _bars
    body, height = draw(series.points, picture)
    return element(
        "svg",
        element("title", picture.title, id=f"{name}-title"),
        body,
        role="img",
        aria_labelledby=f"{name}-title",
        width="100%",
        height=height,
    )


def value_of(point: Point, picture: PictureSpec) -> str:
    """The value of a point for people."""
    return write_number(point.value, picture.digits, "%" if picture.per else picture.unit)


def _bars(points: Sequence[Point], picture: PictureSpec) -> tuple[Markup, int]:
    values = [point.value for point in points if point.value is not None]
    low, high = min([Fraction(0), *values]), max([Fraction(0), *values])
    rows = [_bar(point, at, low, high, picture) for at, point in enumerate(points)]
    height = _ROW * len(points)
    zero = _percent(-low, high - low)
    line = element("line", x1=zero, x2=zero, y1=0, y2=height, class_="axis") if low < 0 else Markup()
    return joined((*rows, line)), height


def _bar(point: Point, at: int, low: Fraction, high: Fraction, picture: PictureSpec) -> Markup:
    top = at * _ROW
    value = value_of(point, picture)
    label = _short(point.label, max(_LEAST_LABEL, _LINE - len(value)))
    parts = [
        element("text", label, x="0", y=top + _TEXT, class_="label"),
        element("text", value, x="100%", y=top + _TEXT, text_anchor="end"),
    ]
    if point.value is not None and high > low:
        start = _percent(min(point.value, Fraction(0)) - low, high - low)
        width = _percent(abs(point.value), high - low)
        kind = "bar below" if point.value < 0 else "bar"
        parts.append(element("rect", x=start, y=top + _TEXT + 6, width=width, height=_BAR, class_=kind))
    return joined(parts)


def _columns(points: Sequence[Point], picture: PictureSpec) -> tuple[Markup, int]:
    values = [point.value for point in points if point.value is not None]
    ticks = ticks_of(min(values, default=Fraction(0)), max(values, default=Fraction(0)))
    low, span = ticks[0], ticks[-1] - ticks[0]

    def height_of(value: Fraction) -> float:
        return float(round(_TOP + _PLOT * (1 - (value - low) / span), 2))

    parts: list[Markup] = []
    for tick in ticks:
        y = height_of(tick)
        parts.append(element("line", x1=f"{_LEFT}%", x2="100%", y1=y, y2=y, class_="axis" if tick == 0 else "grid"))
        text = write_short(tick) + ("%" if picture.per else "")
        parts.append(element("text", text, x=f"{_LEFT - 1}%", y=y + 4, text_anchor="end", class_="small"))
    wide = Fraction(100 - _LEFT, max(len(points), 1))
    for at, point in enumerate(points):
        if point.value is None:
            continue
        ends = sorted((height_of(point.value), height_of(Fraction(0))))
        x = _LEFT + wide * at + wide / 10
        words = element("title", f"{point.label}: {value_of(point, picture)}")
        parts.append(
            element(
                "rect",
                words,
                x=_percent(x, Fraction(100)),
                y=ends[0],
                width=_percent(wide * 4 / 5, Fraction(100)),
                height=round(ends[1] - ends[0], 2),
                class_="bar below" if point.value < 0 else "bar",
            )
        )
    return joined((*parts, *_times(points, wide, picture))), _TOP + _PLOT + _BOTTOM


def _times(points: Sequence[Point], wide: Fraction, picture: PictureSpec) -> Iterator[Markup]:
    """Labels below some of the columns, so few that none meets another on a phone."""
    every = max(1, -(-len(points) // _MOST_TIMES))
    for at in range(0, len(points), every):
        label = points[at].label
        text = label[11:] if picture.step is Step.HOUR else label[5:] if picture.step is Step.DAY else label
        x = _percent(_LEFT + wide * at + wide / 10, Fraction(100))
        yield element("text", text, x=x, y=_TOP + _PLOT + 18, class_="small")


def _percent(part: Fraction, whole: Fraction) -> str:
    return f"{float(100 * part / whole):.3f}%" if whole else "0%"


def _short(label: str, most: int) -> str:
    """As much of the label as has room; the table has all of it. Wide characters have the room of two."""
    widths = accumulate(2 if east_asian_width(each) in "WF" else 1 for each in label)
    fitting = sum(width <= most for width in widths)
    return label if fitting == len(label) else f"{label[: fitting - 1]}…"
