"""The job ``report``: an empty lake, one whose marts are not made, and what is refused before anything is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.lake_report.page import MARK
from tests.support.contexts import context_of, run_in
from tests.support.hand_made_lakes import HandMadeLake
from tests.support.seen_lakes import NOW


@pytest.fixture
def lake(tmp_path: Path) -> HandMadeLake:
    return HandMadeLake(tmp_path / "lake")


def test_an_empty_lake_has_a_report_that_names_what_is_not_made_yet(
    lake: HandMadeLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "report.html"
    result = run_in(context_of("report", lake.settings, clock=NOW, output=str(path)))
    assert (result.status, result.counters["late"]) == (DONE, 0)
    assert result.counters["not_made"] == result.counters["pictures"] == 14
    assert result.messages[0].startswith("not made yet: agents, fast_daily_deals, fast_hourly_events")
    assert f"report of lake sales: {path}" in capsys.readouterr().out
    page = path.read_text(encoding="utf-8")
    assert MARK in page
    assert "nothing was made yet" in page
    assert "not made yet: agents, fast_daily_deals, projects" in page


def test_it_is_written_again_when_that_is_wanted(lake: HandMadeLake, tmp_path: Path):
    path = str(tmp_path / "report.html")
    run_in(context_of("report", lake.settings, clock=NOW, output=path))
    with pytest.raises(ContractError, match="or --overwrite to replace a report"):
        run_in(context_of("report", lake.settings, clock=NOW, output=path))
    assert run_in(context_of("report", lake.settings, clock=NOW, output=path, overwrite=True)).status == DONE


def test_the_lake_company_has_pages_of_its_own(tmp_path: Path):
    lake = HandMadeLake(tmp_path / "lake")
    (tmp_path / "lake" / ".lake.json").unlink()
    settings = replace(lake.settings, lake_spec=str(PROJECT_ROOT / "include" / "lakes" / "company.yaml"))
    path = tmp_path / "report.html"
    result = run_in(context_of("report", settings, clock=NOW, output=str(path)))
    assert result.counters["not_made"] == 5
    page = path.read_text(encoding="utf-8")
    assert "The company, from the lake" in page
    assert "not made yet: category_monthly_revenue" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "report.txt"}, r"is no file on this machine that ends in \.html"),
        ({"people": "agents"}, "lake sales has no people called 'agents'; write 'agent'"),
        ({"people": "agent,everyone"}, "lake sales has no people called 'everyone'"),
    ],
)
def test_what_is_wrong_with_the_options_is_one_line(
    lake: HandMadeLake, tmp_path: Path, options: dict[str, str], message: str
):
    given: dict[str, Any] = {"output": str(tmp_path / "r.html"), **options}
    with pytest.raises(ContractError, match=message):
        run_in(context_of("report", lake.settings, clock=NOW, **given))


def test_a_lake_without_a_report_says_what_to_write(tmp_path: Path):
    lake = HandMadeLake(tmp_path / "lake")
    settings = replace(lake.settings, reports_path=str(tmp_path))
    with pytest.raises(ContractError, match="lake sales declares no report; write"):
        run_in(context_of("report", settings, clock=NOW, output=str(tmp_path / "r.html")))
    assert not (tmp_path / "r.html").exists()
