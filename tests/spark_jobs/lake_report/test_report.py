"""What is shown of a lake: rows of each view once, people numbered unless they may be seen, tables that are late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_report.page import Report, page_of
from spark_jobs.lake_report.report import columns_of, report_of
from spark_jobs.lake_spec.reports import Chart, PageSpec, PictureSpec, ReportSpec, Step
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.view_rows import ViewReader, ViewRows
from spark_jobs.spec_files.report_file import load_report
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.local_kinds import WHOLE, Kind, LocalColumn
from spark_jobs.sql_analysis.local_sql import localize
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns
from spark_jobs.sql_analysis.statements import names_in, reached, read_select
from tests.support.seen_lakes import MART, NOW, SPEC, minute, seen_lake

VIEWS = load_views(Path(Settings().views_path))
SALES = load_report(Settings().reports_path, SPEC, VIEWS)
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "deals_of_the_day": [
        {"agent_name": "Ann", "project_name": "North", "deals": 2, "contract_total": 300},
        {"agent_name": "Bob <b>", "project_name": "North", "deals": 1, "contract_total": 500},
        {"agent_name": None, "project_name": None, "deals": 4, "contract_total": 7},
    ],
    "agent_contracts": [
        {"agent_name": "Ann", "contracts": 9, "contract_total": 900},
        {"agent_name": "Cid", "contracts": 1, "contract_total": 90},
    ],
    "sales_wide": [{"customer_name": "Zoe", "sale_id": 17}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(ViewReader):
    """Views whose rows are known: one table behind each."""

    read_views: list[str] = field(default_factory=list)

    def read(self, view: str, columns: tuple[str, ...]) -> ViewRows:
        self.read_views.append(view)
        rows = [tuple(row.get(name) for name in columns) for row in ROWS.get(view, ())]
        table = MART if view == "deals_of_the_day" else "agents"
        return ViewRows(answer=Answer.of(columns, rows, None), instants={table: minute(7)})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return seen_lake(tmp_path_factory.mktemp("lake")).settings


def reader(lake: Settings) -> Given:
    def no_session() -> Any:
        raise AssertionError("Spark was opened")

    return Given(spec=SPEC, settings=lake, views=VIEWS, engine="auto", session=no_session)


def report(lake: Settings, declared: ReportSpec = SALES, *people: str) -> Report:
    return report_of(declared, reader(lake), NOW, people=people)


def declared(**entries: Any) -> ReportSpec:
    picture = PictureSpec(title="a picture", **{"chart": Chart.BARS, "value": "sale_id", **entries})
    return ReportSpec(title="r", pages=(PageSpec(title="p", pictures=(picture,)),))


def test_the_two_pages_of_the_sales_lake_have_these_titles():
    assert [page.title for page in SALES.pages] == ["Sales of the day", "Funnel and agents"]


def test_each_view_is_read_once(lake: Settings):
    views = reader(lake)
    report_of(SALES, views, NOW, people=())
    assert sorted(views.read_views) == sorted({picture.view for picture in SALES.pictures})


def test_names_of_people_are_numbered_and_one_person_has_one_number(lake: Settings):
    made = report(lake)
    page = page_of(made)
    assert not [name for name in ("Ann", "Bob", "Cid", "Zoe") if name in page]
    by_title = {each.spec.title: each for of in made.pictures for each in of}
    of_today = by_title["Contract total by agent"].series
    of_the_year = by_title["Contracts of the last year by agent"].series
    assert of_today is not None
    assert of_the_year is not None
    assert {each.label: each.value for each in of_today.points} == {"agent 1": 500, "agent 2": 300, "not known": 7}
    assert [each.label for each in of_the_year.points] == ["agent 2", "agent 3"]
    assert "people are numbered" in page


def test_names_are_shown_of_the_people_that_may_be_seen(lake: Settings):
    page = page_of(report(lake, SALES, "agent"))
    assert "Ann" in page
    assert "Bob &lt;b&gt;" in page
    assert "people are numbered" not in page


def test_who_may_see_agents_does_not_see_customers(lake: Settings):
    page = page_of(report(lake, declared(view="sales_wide", label=("customer_name",)), "agent"))
    assert "Zoe" not in page
    assert "customer 1" in page


@pytest.mark.parametrize(
    "entries",
    [
        {"view": "sales_wide", "chart": Chart.NUMBER, "newest": "customer_name"},
        {"view": "sales_wide", "chart": Chart.COLUMNS, "step": Step.DAY, "label": ("customer_name",)},
    ],
)
def test_a_person_is_never_shown_by_another_way_than_a_label(lake: Settings, entries: dict[str, Any]):
    with pytest.raises(ContractError, match="column customer_name of view sales_wide names people"):
        report(lake, declared(**entries))
    assert report(lake, declared(**entries | {"chart": Chart.NUMBER, "step": None, "label": ()}), "customer")


def test_a_key_names_a_person_too(lake: Settings):
    page = page_of(report(lake, declared(view="sales", label=("customer_id",))))
    assert "people are numbered" in page


def test_tables_are_late_when_what_they_are_made_of_is(lake: Settings):
    # At 00:30 units lack what was committed at 00:05; agents, made of the log too, were never made.
    views = reader(lake)
    made = report_of(SALES, views, NOW, people=())
    (picture, *_) = made.pictures[0]
    assert any(line.startswith("units is behind: something waits since 2026-01-01 00:05") for line in picture.late)
    assert "Late: newer rows may be missing" in page_of(made)
    early = report_of(SALES, replace(views, read_views=[]), NOW - timedelta(minutes=24), people=())
    assert not [line for line in early.pictures[0][0].late if "units is behind" in line]


TEXTS = {view.name: view.text for view in VIEWS}
READS = {view.name: view.reads for view in VIEWS}


def schema_of(tables: set[str], spec: LakeSpec) -> dict[str, dict[str, LocalColumn]]:
    """Keys are whole numbers, and all else are decimals whose sum would be Spark's."""
    wide = LocalColumn(kind=Kind.DECIMAL, digits=38, scale=4)
    return {
        table: {name: WHOLE if name.endswith("_id") else wide for name in visible_columns(spec, table)}
        for table in tables
    }


@pytest.mark.parametrize("lake", ["sales", "company"])
def test_it_is_certain_that_both_engines_give_the_rows(lake: str):
    spec = load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / f"{lake}.yaml"))
    for view, columns in columns_of(load_report(Settings().reports_path, spec, VIEWS)).items():
        query = read_select(" ".join(("SELECT", ", ".join(columns), "FROM", view)))
        assert query is not None
        tables = {*reached(names_in(query) or (), READS)} - READS.keys()
        assert localize(query, schema_of(tables, spec), TEXTS).columns == columns
