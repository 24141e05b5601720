"""What a lake's report shows now: the rows of its views, added up, with the commits that they are of."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from spark_jobs.contracts.errors import raise_all
from spark_jobs.lake_report.page import Picture, Report
from spark_jobs.lake_report.people import People
from spark_jobs.lake_report.series import series_of
from spark_jobs.lake_report.sources import Sources
from spark_jobs.lake_spec.reports import PictureSpec, ReportSpec
from spark_jobs.overview.lake import lake_overview
from spark_jobs.pipelines.view_rows import ViewReader, ViewRows


def report_of(declared: ReportSpec, reader: ViewReader, now: datetime, *, people: Collection[str]) -> Report:
    """Read every view once, and add up what each picture shows.

    Args:
        declared: the pages and their pictures.
        reader: of the lake's views.
        now: whether a table is late is judged at this time.
        people: the kinds of people whose names are shown.

    Raises:
        ContractError: a picture does not fit the values of its view, or would name people who may not be seen.
    """
    spec = reader.spec
    hidden = People.of(declared, reader.views, spec, shown=people)
    raise_all(hidden.mistakes(declared))
    rows = {view: reader.read(view, columns) for view, columns in columns_of(declared).items()}
    # Looked at after the rows were read: what came meanwhile counts as missing in them.
    sources = Sources(spec=spec, seen=lake_overview(spec, reader.settings, now))

    def picture(each: PictureSpec) -> Picture:
        return _picture(each, rows[each.view], hidden, sources)

    pictures = [[picture(each) for each in page.pictures] for page in declared.pages]
    return Report(
        lake=spec.lake,
        spec=declared,
        pictures=pictures,
        time_zone=spec.time_zone,
        now=now,
        hides_people=any(hidden.hidden[each.view, name] for each in declared.pictures for name in each.label),
    )


def columns_of(declared: ReportSpec) -> dict[str, tuple[str, ...]]:
    """Of each view the columns that any picture needs."""
    found: dict[str, dict[str, None]] = {}
    for each in declared.pictures:
        found.setdefault(each.view, {}).update(dict.fromkeys(each.columns))
    return {view: tuple(columns) for view, columns in found.items()}


def _picture(each: PictureSpec, rows: ViewRows, hidden: People, sources: Sources) -> Picture:
    series = None
    if rows.answer is not None:
        series = series_of(rows.answer, each, time_zone=sources.spec.time_zone, hide=hidden.hide(each.view))
    return Picture(spec=each, series=series, instants=rows.instants, late=sources.late(rows.instants))
