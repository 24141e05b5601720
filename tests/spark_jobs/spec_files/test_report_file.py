"""Files of reports: what is shipped, and one clear line with its place for every mistake.

The broken ones are a small report of the sales lake with a replacement in its text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.reports import Chart, ReportSpec, Step
from spark_jobs.spec_files.report_file import check_report, load_report
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from tests.support.hostile_names import HOSTILE

SHIPPED = PROJECT_ROOT / "include"
SPEC = load_lake_spec(str(SHIPPED / "lakes" / "sales.yaml"))
VIEWS = load_views(Path(Settings().views_path))
TEXT = """\
title: A report
pages:
  - title: Today
    pictures:
      - {title: Deals, view: deals_of_the_day, chart: number, value: deals}
      - title: By hour
        view: events_per_hour
        chart: columns
        step: hour
        label: event_hour
        value: events
      - title: Success
        view: agent_success
        chart: bars
        newest: month
        label: [agent_name]
        value: signed
        per: sales
        digits: 1
      - {title: Steps, view: funnel_milestones, chart: funnel, label: status_name, order: status_id, value: sales}
"""


def loaded(folder: Path, text: str) -> ReportSpec:
    (folder / "sales.yaml").write_text(text, encoding="utf-8")
    return load_report(str(folder), SPEC, VIEWS)


@pytest.mark.parametrize("lake", [path.stem for path in sorted((SHIPPED / "reports").glob("*.yaml"))])
def test_what_is_shipped_fits_its_lake(lake: str):
    spec = load_lake_spec(str(SHIPPED / "lakes" / f"{lake}.yaml"))
    report = load_report(Settings().reports_path, spec, VIEWS)
    assert len(report.pictures) >= 5
    assert check_report(Settings().reports_path, spec, Settings().views_path) == ()


def test_two_lakes_have_one():
    assert {path.stem for path in (SHIPPED / "reports").iterdir()} == {"sales", "company"}


def test_what_a_file_says(tmp_path: Path):
    report = loaded(tmp_path, TEXT)
    number, hours, success, steps = report.pictures
    assert (number.chart, number.columns, number.limit) == (Chart.NUMBER, ("deals",), 12)
    assert (hours.step, hours.label, hours.limit) == (Step.HOUR, ("event_hour",), 48)
    assert success.columns == ("agent_name", "signed", "sales", "month")
    assert steps.order == "status_id"


def test_a_table_is_named_as_a_view_is(tmp_path: Path):
    report = loaded(tmp_path, TEXT.replace("view: deals_of_the_day", "view: fast_daily_deals"))
    assert report.pictures[0].view == "fast_daily_deals"


def test_a_lake_without_one_says_what_to_write(tmp_path: Path):
    with pytest.raises(ContractError, match=r"lake sales declares no report; write .*/sales\.yaml \(docs/report\.md\)"):
        load_report(str(tmp_path), SPEC, VIEWS)
    assert check_report(str(tmp_path), SPEC, Settings().views_path) == ()


def test_the_path_is_a_setting():
    assert Settings.from_environment({"LAKEHOUSE_REPORTS_PATH": "/company/own"}).reports_path == "/company/own"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("title: A report", "title: ''", 1, "title '' is not one line of 1 to 80 characters"),
        ("title: A report", 'title: "A\\nB"', 1, "is not one line"),
        ("title: A report", "titel: A report", 1, r"unknown entries \['titel'\]; write title"),
        ("title: Today", "title: [Today]", 3, "title is .*give text"),
        (
            "deals_of_the_day",
            "deals_of_a_day",
            5,
            "there is no view or table 'deals_of_a_day'; write 'deals_of_the_day'",
        ),
        ("value: deals}", "value: deal}", 5, "deals_of_the_day has no column 'deal'; write 'deals'"),
        ("chart: number", "chart: pie", 5, "chart 'pie' is unknown; choose one of"),
        ("chart: number, ", "", 5, "chart is not given; choose one of"),
        ("chart: number", "chart: bars", 5, "chart bars needs a label"),
        ("value: deals}", "value: deals, label: day}", 5, "chart number has no label; take label out"),
        ("value: deals}", "value: deals, order: day}", 5, "order is for chart funnel; take it out"),
        ("value: deals}", "value: deals, digits: 7}", 5, "digits is 7; give 0 to 6"),
        ("label: [agent_name]", "label: [agent_name]\n        most: -1", 17, "most is -1; give 0 to 50"),
        ("value: deals}", "value: deals, most: 3}", 5, "most is for bars and columns; take it out"),
        ("per: sales", "per: sales\n        unit: EUR", 19, "a share is in percent, so unit has no meaning"),
        ("value: deals}", "value: deals, digits: true}", 5, "digits is True; give a whole number"),
        ("value: deals}", "value: deals, script: x}", 5, r"unknown entries \['script'\]; take it out"),
        ("value: deals}", 'value: "deals, 1"}', 5, "value 'deals, 1' is not a snake_case identifier"),
        ("step: hour", "step: week", 9, "step 'week' is unknown; choose one of"),
        ("        step: hour\n", "", 6, "chart columns needs step; add it"),
        ("label: event_hour", "label: [event_hour, events]", 10, "has one label, the time; name one column"),
        ("label: [agent_name]", "label: {a: b}", 16, "label is .*give a list of names"),
        ("label: [agent_name]", "label: []", 12, "chart bars needs a label"),
        ("per: sales", "per: sale", 18, "has no column 'sale'; write 'sales'"),
        ("order: status_id, ", "", 20, "chart funnel needs order; add it"),
        ("    pictures:", "    pictures: []\n    picture:", 5, "unknown entries"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, old: str, new: str, line: int, message: str):
    assert old in TEXT
    with pytest.raises(ContractError, match=message) as caught:
        loaded(tmp_path, TEXT.replace(old, new, 1))
    assert "\n" not in str(caught.value)
    assert any(f"sales.yaml:{line}: " in str(each) for each in caught.value.each), str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "pages", "- a", "title: x", "title: x\npages: []", "title: x\npages: 5", "{", "\0"]
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str):
    with pytest.raises(LakehouseError) as caught:
        loaded(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "report" in str(caught.value)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path):
    (tmp_path / "sales.yaml").write_bytes(b"title: \xff")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_report(str(tmp_path), SPEC, VIEWS)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("entry", ["view: deals_of_the_day", "value: deals"])
def test_a_hostile_name_is_refused_where_sql_is_made_of_it(tmp_path: Path, name: str, entry: str):
    quoted = "".join(f"\\U{ord(character):08x}" for character in name)
    word = entry.partition(":")[0]
    with pytest.raises(ContractError, match="is not a snake_case identifier") as caught:
        loaded(tmp_path, TEXT.replace(entry, f'{word}: "{quoted}"', 1))
    assert str(caught.value).replace("…", "").isascii()
    assert str(caught.value).isprintable()


def test_a_view_over_tables_of_another_lake_is_refused(tmp_path: Path):
    company = load_lake_spec(str(SHIPPED / "lakes" / "company.yaml"))
    (tmp_path / "company.yaml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(ContractError, match=r"view deals_of_the_day reads 'fast_daily_deals', which lake company does"):
        load_report(str(tmp_path), company, VIEWS)


def test_two_pages_of_one_title_are_refused(tmp_path: Path):
    page = TEXT.partition("pages:\n")[2]
    with pytest.raises(ContractError, match="two pages have the title 'Today'; rename one"):
        loaded(tmp_path, f"{TEXT}{page}")
