"""Ten incidents, each staged on a healthy lake: page and doctor name the cause and its runbook.

Those runbooks that need no engine are followed to their end here, the others in tests/laws/test_runbooks.py.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from lakehouse_page.runbooks import FOLDER, find_runbook
from spark_jobs.command.app import run
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.findings import findings_of_reading
from spark_jobs.overview.lake import read_lake
from spark_jobs.storage.doctor.findings import Ailment, Finding
from tests.support.documents import groups
from tests.support.glue_api import running_glue
from tests.support.incidents import INCIDENTS, ago, catalog_of, healthy_lake, read_all
from tests.support.seen_lakes import SeenLake

Page = Callable[..., TestClient]


@pytest.fixture
def lake(page: Page, tmp_path: Path) -> SeenLake:
    """All is well; settings lead to it."""
    return healthy_lake(tmp_path)


def doctor(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(["doctor", "check", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["messages"])


def follow(runbook: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run the commands of a runbook as they are written; gives these."""
    commands = [command for group in groups(f"docs/runbooks/{runbook}.md") for command in group.commands]
    for command in commands:
        program, *words = shlex.split(command)
        assert program == ".venv/bin/lakehouse"
        assert run(words) == 0, capsys.readouterr()
    return commands


def findings(lake: SeenLake) -> list[Finding]:
    return findings_of_reading(read_lake(lake.spec, lake.settings, datetime.now(UTC), cache=LakeCache()))


def test_of_a_healthy_lake_nothing_is_found(lake: SeenLake, page: Page, capsys: pytest.CaptureFixture[str]):
    assert doctor(capsys) == []
    assert "What is wrong" not in page().get("/lakes/sales").text
    assert "Nothing is wrong with" in page().get("/lakes/sales/doctor").text


@pytest.mark.parametrize("name", INCIDENTS)
def test_page_and_doctor_name_the_cause_and_its_runbook(
    name: str, lake: SeenLake, page: Page, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    incident = INCIDENTS[name]
    incident.stage(lake, monkeypatch)
    start = f"{incident.table or 'lake'}: {incident.ailment.value}: "
    (message,) = [each for each in doctor(capsys) if each.startswith(start)]
    assert incident.says in message
    client = page()
    for path in ("/lakes/sales", "/lakes/sales/doctor"):
        text = client.get(path).text
        assert f'<td class="bad">{incident.ailment.value}</td>' in text, path
        assert incident.says in text
        assert f'<a href="/lakehouse/runbooks/{incident.runbook}">' in text
    shown = client.get(f"/runbooks/{incident.runbook}")
    assert shown.status_code == 200
    assert "It is over when" in shown.text


def test_the_runbook_of_a_late_source_is_followed_to_its_end(
    lake: SeenLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    INCIDENTS["late source"].stage(lake, monkeypatch)
    assert run(["quality", "freshness"]) == 2, "it names the table"
    log = lake.write("sales_log", ago(2), newest_event_time=format_clock(datetime.now(UTC)))
    read_all(lake, log)  # the source delivered again, and everything ran
    assert follow("freshness", capsys) == [".venv/bin/lakehouse quality freshness"]
    assert doctor(capsys) == []


def test_the_runbook_of_a_consumer_is_followed_to_its_end(
    lake: SeenLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    INCIDENTS["consumer behind"].stage(lake, monkeypatch)
    assert [each.ailment for each in findings(lake)] == [Ailment.CONSUMER_BEHIND]
    assert len(follow("consumer", capsys)) == 2
    assert doctor(capsys) == []


def test_the_runbook_of_a_held_table_is_followed_to_its_end(
    lake: SeenLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    INCIDENTS["held table"].stage(lake, monkeypatch)
    follow("held", capsys)
    assert run(["quality", "accept", "sales", "--because", "the shop says so", "--yes"]) == 0
    follow("held", capsys)
    assert "nothing is held back" in capsys.readouterr().out
    assert doctor(capsys) == []


def test_the_runbook_of_a_stale_catalog_is_followed_to_its_end(
    lake: SeenLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    INCIDENTS["stale catalog"].stage(lake, monkeypatch)
    assert [each.ailment for each in findings_with_catalog(lake)] == [Ailment.CATALOG]
    with running_glue() as api, catalog_of(api, monkeypatch):
        assert len(follow("catalog", capsys)) == 2
    assert findings_with_catalog(lake) == []
    assert doctor(capsys) == []


def findings_with_catalog(lake: SeenLake) -> list[Finding]:
    from dataclasses import replace

    settings = replace(lake.settings, catalog="glue")
    return findings_of_reading(read_lake(lake.spec, settings, datetime.now(UTC), cache=LakeCache()))


def test_every_finding_has_a_runbook():
    for ailment in Ailment:
        finding = Finding(table="", ailment=ailment, what="", then="")
        assert (FOLDER / f"{finding.runbook}.md").is_file(), ailment


def test_every_runbook_is_a_page_whose_links_lead_to_pages(page: Page, lake: SeenLake):
    client = page()
    for path in FOLDER.glob("*.md"):
        text = client.get(f"/runbooks/{path.stem}").text
        assert "<h1>" in text
        for target in re.findall(r'href="(?:/lakehouse)?(/runbooks/[^"#]+)', text):
            assert client.get(target).status_code == 200, target
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', text))


@pytest.mark.parametrize("name", ["nothing", "../lake-page", "%2e%2e%2flake-page", "Held", "held.md"])
def test_no_other_page_is_a_runbook(name: str, page: Page, lake: SeenLake):
    assert page().get(f"/runbooks/{name}").status_code == 404
    assert find_runbook(name, "") is None


def test_what_is_markup_in_a_runbook_stays_text(tmp_path: Path):
    (tmp_path / "odd.md").write_text("# <script>alert(1)</script>\n\n[out](https://example.org) [up](../x.md)\n")
    text = str(find_runbook("odd", "", tmp_path))
    assert "<script>" not in text
    assert "href" not in text
