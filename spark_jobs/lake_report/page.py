"""A report as one HTML page: no script, nothing from another host, a table beside each picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.contracts.names import spell
from spark_jobs.lake_docs.markup import Markup, element, joined
from spark_jobs.lake_report.charts import chart_of, value_of
from spark_jobs.lake_report.numbers import write_number
from spark_jobs.lake_report.series import Point, Series
from spark_jobs.lake_report.steps import write_time
from spark_jobs.lake_report.style import STYLE
from spark_jobs.lake_spec.reports import Chart, PageSpec, PictureSpec, ReportSpec

MARK = '<meta name="generator" content="lakehouse report">'
"""In the head of each report: only a file with it is replaced."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MOST_LINES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture with what it shows; ``series`` is None while one of its tables, those without an instant, is missing.

    ``late`` says what is the matter with its tables.
    """

    spec: PictureSpec
    series: Series | None
    instants: Mapping[str, Instant | None]
    late: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the page shows: ``pictures`` are those of each page in its order, ``now`` when it was made."""

    lake: str
    spec: ReportSpec
    pictures: Sequence[Sequence[Picture]]
    time_zone: str
    now: datetime
    hides_people: bool = False


def page_of(report: Report) -> str:
    """The whole file."""
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'{MARK}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", f"{report.spec.title} · lake {report.lake}"),
        element("style", Markup(STYLE)),
    )
    links = (element("a", page.title, href=f"#page-{at}") for at, page in enumerate(report.spec.pages, 1))
    top = element(
        "header",
        element("h1", report.spec.title),
        element("p", _about(report), class_="soft"),
        element("nav", *links, aria_label="pages"),
    )
    main = element("main", _late(report), *_pages(report))
    body = element("body", top, main, element("footer", _foot(report)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _about(report: Report) -> str:
    instants = [i for page in report.pictures for each in page for i in each.instants.values() if i]
    newest = f"newest commit {_time(max(instants), report)}" if instants else "nothing was made yet"
    return f"lake {report.lake}, {newest}; each picture says as of when it is"


def _foot(report: Report) -> str:
    made = write_time(report.now.astimezone(UTC).replace(tzinfo=None), report.time_zone)
    people = "; people are numbered, their names are not shown" if report.hides_people else ""
    return f"made {made}; times are of {report.time_zone}{people}"


def _late(report: Report) -> Markup:
    lines = dict.fromkeys(line for page in report.pictures for each in page for line in each.late)
    if not lines:
        return Markup()
    listed = element("ul", *(element("li", spell(line)) for line in lines))
    return element("div", element("strong", "Late: newer rows may be missing"), listed, class_="late", role="note")


def _pages(report: Report) -> Iterator[Markup]:
    for number, (page, pictures) in enumerate(zip(report.spec.pages, report.pictures, strict=True), 1):
        yield element("h2", page.title, id=f"page-{number}")
        yield from _of_page(page, pictures, f"p{number}", report)


def _of_page(page: PageSpec, pictures: Sequence[Picture], name: str, report: Report) -> Iterator[Markup]:
    figures = [(each, _figure(each, f"{name}-{at}", report)) for at, each in enumerate(pictures, 1)]
    for class_, is_number in (("numbers", True), ("pictures", False)):
        if of := [figure for each, figure in figures if (each.spec.chart is Chart.NUMBER) is is_number]:
            yield element("section", *of, class_=class_, aria_label=f"{page.title}: {class_}")


def _figure(picture: Picture, name: str, report: Report) -> Markup:
    spec = picture.spec
    note = element("p", spec.note, class_="soft") if spec.note else Markup()
    caption = element("figcaption", element("h3", spec.title), note)
    return element("figure", caption, *_content(picture, name), *_origin(picture, report))


def _content(picture: Picture, name: str) -> Iterator[Markup]:
    spec, series = picture.spec, picture.series
    if series is None:
        missing = ", ".join(table for table, instant in picture.instants.items() if not instant)
        yield element("p", f"not made yet: {missing}")
        return
    if spec.chart is Chart.NUMBER:
        yield element("p", value_of(series.points[0], spec), class_="number")
    elif series.points:
        yield chart_of(series, spec, name)
    else:
        yield element("p", "no rows")
    if notes := tuple(_notes(series, spec)):
        yield element("p", "; ".join(notes), class_="soft")
    if series.points and spec.chart is not Chart.NUMBER:
        yield element("details", element("summary", f"{spec.title} as a table"), _table(series, spec))


def _notes(series: Series, spec: PictureSpec) -> Iterator[str]:
    if series.newest:
        yield f"{spec.newest} {series.newest}"
    if series.others and spec.chart is not Chart.BARS:
        yield f"{series.others} {'older' if spec.chart is Chart.COLUMNS else 'more'} not shown"
    if series.missing:
        yield f"{series.missing} rows without a value"


def _table(series: Series, spec: PictureSpec) -> Markup:
    value = f"{spec.value} per {spec.per}" if spec.per else spec.value
    header = [" · ".join(spec.label), f"{value} ({spec.unit})" if spec.unit else value]
    head = element(
        "tr", *(element("th", text, scope="col", class_="value" if at else None) for at, text in enumerate(header))
    )
    lines = [_line(point, spec) for point in series.every[:_MOST_LINES]]
    more = f", the first {_MOST_LINES} of {len(series.every)}" if len(series.every) > _MOST_LINES else ""
    table = element(
        "table", element("caption", f"{spec.title}{more}"), element("thead", head), element("tbody", *lines)
    )
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"{spec.title}: table")


def _line(point: Point, spec: PictureSpec) -> Markup:
    value = write_number(point.value, spec.digits, "%" if spec.per else "")
    return element("tr", element("th", point.label, scope="row", dir="auto"), element("td", value, class_="value"))


def _origin(picture: Picture, report: Report) -> Iterator[Markup]:
    """Which commits it is of; late tables are named above the pages."""
    made = [f"{table} {_time(instant, report)}" for table, instant in picture.instants.items() if instant]
    if made:
        late = " (late, see above)" if picture.late else ""
        yield element("p", joined((f"as of {', '.join(made)}{late}",)), class_="soft")


def _time(instant: Instant, report: Report) -> str:
    return write_time(moment_of(instant).replace(tzinfo=None), report.time_zone)
