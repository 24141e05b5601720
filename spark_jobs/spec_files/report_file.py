"""Read what a lake's report shows from ``include/reports/<lake>.yaml`` (docs/report.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, plain, show, show_path
from spark_jobs.contracts.places import DocumentPlace, Entries
from spark_jobs.lake_spec.reports import Chart, PageSpec, PictureSpec, ReportSpec, Step
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.documents import build, choice, mapping, read_document, sequence
from spark_jobs.spec_files.mistakes import Mistakes, placed_text
from spark_jobs.spec_files.views import ViewSpec, load_views
from spark_jobs.sql_analysis.statements import reached
from spark_jobs.sql_analysis.view_columns import columns_of_view

_THEN = "correct it or set LAKEHOUSE_REPORTS_PATH"


def report_file(folder: str, lake: str) -> Path:
    """Where the report of a lake is declared."""
    return Path(folder) / f"{lake}.yaml"


def load_report(folder: str, spec: LakeSpec, views: Collection[ViewSpec]) -> ReportSpec:
    """What the report of a lake shows.

    Raises:
        SettingsError: the file cannot be read.
        ContractError: the lake has no report, or something is wrong with it; with ``each`` mistake and its place.
    """
    path = report_file(folder, spec.lake)
    if not path.is_file():
        raise ContractError(
            f"lake {spec.lake} declares no report; write {show_path(path)} (docs/report.md) or set "
            f"LAKEHOUSE_REPORTS_PATH"
        )
    found = Mistakes()
    report = read_report(path, spec, views, found)
    return found.checked(report, "report", str(path))


def check_report(folder: str, spec: LakeSpec, views_path: str) -> tuple[str, ...]:
    """What is wrong with the report of a lake, by file and line; nothing when the lake declares none."""
    path, found = report_file(folder, spec.lake), Mistakes()
    if not path.is_file():
        return ()
    with found.of_file():
        read_report(path, spec, load_views(Path(views_path)), found)
    return tuple(map(placed_text, found.errors))


def read_report(path: Path, spec: LakeSpec, views: Collection[ViewSpec], found: Mistakes) -> ReportSpec | None:
    """The same; what is wrong is added to ``found``, and the report is None then."""
    before = len(found.errors)
    document = Entries(place=DocumentPlace(file=str(path)))
    with found.of_file():
        read = read_document(path, what="report", then=_THEN, found=found)
        with found.of(document):
            document = mapping(read, "the file")
            with found.of(document):
                report = parse_report(document)
                for error in _mistakes(report, spec, views):
                    found.add(error, document)
                return report if len(found.errors) == before else None
    return None


def parse_report(document: Mapping[str, Any]) -> ReportSpec:
    """Build a :class:`ReportSpec`; ContractError for unknown, missing or wrong entries."""
    entry, found = mapping(document, "the file"), Mistakes()
    parts: dict[str, Any] = {}
    with found.of(entry):
        pages = sequence(entry.get("pages"), "report: pages", at=("pages",))
        parts["pages"], _ = found.each("pages", pages, _page)
    report: ReportSpec = build(ReportSpec, entry.having(parts), "report", found=found)
    return report


def _page(value: Any) -> PageSpec:
    entry, found = mapping(value, "report: a page"), Mistakes()
    what = f"page {plain(entry.get('title'))}"
    parts: dict[str, Any] = {}
    with found.of(entry):
        pictures = sequence(entry.get("pictures"), f"{what}: pictures", at=("pictures",))
        parts["pictures"], _ = found.each("pictures", pictures, _picture)
    page: PageSpec = build(PageSpec, entry.having(parts), what, found=found)
    return page


def _picture(value: Any) -> PictureSpec:
    entry = mapping(value, "report: a picture")
    what = f"picture {plain(entry.get('title'))}"
    parts: dict[str, Any] = {"chart": choice(Chart, entry.get("chart"), what, at=("chart",))}
    if "step" in entry:
        parts["step"] = choice(Step, entry.get("step"), what, at=("step",))
    if isinstance(entry.get("label"), str):
        parts["label"] = (entry["label"],)
    picture: PictureSpec = build(PictureSpec, entry.having(parts), what)
    return picture


def _mistakes(report: ReportSpec, spec: LakeSpec, views: Collection[ViewSpec]) -> Iterator[ContractError]:
    """Views that there are not, those over tables that the lake has not, and columns that a view has not."""
    for number, page in enumerate(report.pages):
        for at, picture in enumerate(page.pictures):
            for error in _of_picture(picture, spec, views):
                yield error.inside("pages", number, "pictures", at)


def _of_picture(picture: PictureSpec, spec: LakeSpec, views: Collection[ViewSpec]) -> Iterator[ContractError]:
    what, name = f"picture {plain(picture.title)}", picture.view
    texts, reads = {view.name: view.text for view in views}, {view.name: view.reads for view in views}
    known = {*texts, *spec.table_names}
    if name not in known and not spec.may_yield(name):
        yield ContractError(
            f"{what}: there is no view or table {show(name)}; {one_of(name, sorted(known))}", at=("view",)
        )
        return
    for table in sorted(reached({name}, reads) - known - {*spec.readable}):
        if not spec.may_yield(table):
            yield ContractError(
                f"{what}: view {name} reads {show(table)}, which lake {spec.lake} does not have; take the picture "
                f"out, or name another view",
                at=("view",),
            )
    try:
        columns = columns_of_view(name, texts, spec)
    except ContractError as error:
        yield ContractError(f"{what}: {name}: {error}", at=("view",))
        return
    for entry in ("label", "value", "per", "newest", "order"):
        given = getattr(picture, entry)
        for column in (given,) if isinstance(given, str) else given:
            if column and column not in columns:
                yield ContractError(
                    f"{what}: {name} has no column {show(column)}; {one_of(column, columns)}", at=(entry,)
                )
