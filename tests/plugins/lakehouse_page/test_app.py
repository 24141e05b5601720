"""What the pages show, on the lake of tests/support/seen_lakes.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from lakehouse_page import app as page_app
from lakehouse_page.lakes import ShownLakes
from spark_jobs.contracts.task_runs import TaskRun
from spark_jobs.overview.quarantine import QuarantineKind, QuarantineOverview, QuarantineRecord
from tests.support.seen_lakes import MART, RUN, SPEC, empty_lake, minute, seen_lake

Page = Callable[..., TestClient]


class _Tags(HTMLParser):
    """What a page refers to, and the tags that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.urls: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.urls += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def get(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_an_empty_lake_is_shown_with_all_its_tables(page: Page, tmp_path: Path):
    empty_lake(tmp_path)
    text = get(page(), "/lakes/sales")
    assert all(f"/lakehouse/lakes/sales/tables/{name}" in text for name in SPEC.table_names)
    assert text.count("never made") >= len(SPEC.table_names)
    assert "Nothing was written yet." in get(page(), "/lakes/sales/tables/units")
    assert "No record is in the quarantine." in get(page(), "/lakes/sales/quarantine")


def test_the_lake_shows_what_is_the_matter(page: Page, tmp_path: Path):
    seen_lake(tmp_path)
    text = " ".join(get(page(), "/lakes/sales").split())
    assert "held since 2026-01-01T00:00:00Z, readers keep the state before: id (id not null): 1 of 5 rows" in text
    assert "1 expectation failed" in text
    assert 'lost: <span class="bad">lost</span>' in text
    assert "1 commit behind, the oldest of" in text


def test_a_table_shows_its_timeline_quality_and_readers(page: Page, tmp_path: Path):
    seen_lake(tmp_path)
    log, mart, units = (get(page(), f"/lakes/sales/tables/{name}") for name in ("sales_log", MART, "units"))
    assert log.count('<rect class="write') == 3
    assert "lost is at" in log
    assert "warned: 4 of 9 rows broke it" in mart
    assert "<td>key_is_known</td><td>Every row has its key.</td><td>stop</td>" in units
    assert 'class="service pending"' in units
    assert "compaction of" in units


def test_a_run_leads_to_its_sources_and_to_what_was_held_back(page: Page, tmp_path: Path):
    seen_lake(tmp_path)
    text = " ".join(get(page(), f"/lakes/sales/tables/units/{RUN}").split())
    assert f"after {minute(1)}, up to {minute(3)}" in text
    assert "3 rows added" in text
    assert re.search(r"files with [\d.]+ \w+ in \d+\.\d s\.</p>", text)
    assert f"tables/sales/{minute(4)}" in text
    assert "customers</a> is held since" in text
    assert "2 records went to the quarantine" in " ".join(
        get(page(), f"/lakes/sales/tables/sales_log/{minute(5)}").split()
    )


def test_rows_are_counted_by_their_writer_or_shown_as_upserted(page: Page, tmp_path: Path):
    lake = seen_lake(tmp_path)
    stat = {"fileId": "f", "path": ".f_1.log.1_0-1-0", "numUpdateWrites": 1160, "totalWriteBytes": 100}
    of_log_file = {"operationType": "UPSERT", "partitionToWriteStats": {"": [stat]}}
    counted = {"lakehouse.row_counts": '{"added":708,"changed":440,"removed":12,"upserted":0}'}
    known = lake.commit("sales", 10, action="deltacommit", **of_log_file, extraMetadata=counted)
    text = get(page(), f"/lakes/sales/tables/sales/{known}")
    assert "708 rows added, 440 changed, 12 removed; 1 files" in " ".join(text.split())
    assert "Upserted" not in get(page(), "/lakes/sales/tables/sales")
    unknown = lake.commit("sales", 12, action="deltacommit", **of_log_file, extraMetadata={})
    text = get(page(), f"/lakes/sales/tables/sales/{unknown}")
    assert "0 rows added, 0 changed, 0 removed, 1,160 upserted; 1 files" in " ".join(text.split())
    text = get(page(), "/lakes/sales/tables/sales")
    assert "<th>Upserted</th>" in text
    assert text.count('<td class="number">1,160</td>') == 1


def test_a_run_leads_to_the_run_of_the_dag_that_wrote_it(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake = seen_lake(tmp_path)
    task = TaskRun(dag_id="split_sales", run_id="scheduled__2026-01-01T00:10:00+00:00", task_id="split")
    named = lake.write("agents", 10, action="deltacommit", task=task.as_json)
    broken = lake.write("agents", 12, action="deltacommit", task='{"dag_id": "<b>"}')
    text = " ".join(get(page(), f"/lakes/sales/tables/agents/{named}").split())
    assert 'href="/dags/split_sales/runs/scheduled__2026-01-01T00%3A10%3A00%2B00%3A00">' in text
    assert "</a>, task split" in text
    assert "Written by" not in get(page(), f"/lakes/sales/tables/agents/{broken}")
    assert "Written by" not in get(page(), f"/lakes/sales/tables/units/{RUN}"), "a commit from before"
    monkeypatch.setattr(page_app, "may_view", lambda _request, _user, dag_id: dag_id != "split_sales")
    assert "scheduled__" not in get(page(), f"/lakes/sales/tables/agents/{named}"), "its DAG may not be seen"


def test_pages_fetch_nothing_from_elsewhere_and_run_no_script(page: Page, tmp_path: Path):
    seen_lake(tmp_path)
    for path in ("/lakes/sales", "/lakes/sales/tables/units", "/lakes/sales/search?q=unit", "/lakes/sales/quarantine"):
        answer = page().get(path)
        found = _Tags(answer.text)
        assert "script" not in found.tags
        assert all(url.startswith(("/", "#")) and not url.startswith("//") for url in found.urls), found.urls
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "url(" not in page().get("/style.css").text
    assert "@import" not in page().get("/style.css").text


def test_what_was_written_outside_is_escaped(page: Page, tmp_path: Path):
    lake = seen_lake(tmp_path)
    lake.consumer("<b>audit", sales_log=minute(1))
    folder = lake.folder / "lake/.quality/held/customers.json"
    folder.write_text(folder.read_text().replace("id (id not null)", "<script>alert(1)</script>"))
    for path in ("/lakes/sales", "/lakes/sales/tables/customers", "/lakes/sales/search?q=<script>x"):
        text = get(page(), path)
        assert "<script>" not in text
        assert "<b>audit" not in text
    assert "&lt;script&gt;alert(1)" in get(page(), "/lakes/sales")


def test_search_finds_tables_columns_and_runs(page: Page, tmp_path: Path):
    seen_lake(tmp_path)
    text = get(page(), "/lakes/sales/search?q=agent_id")
    assert "/tables/agents" in text
    assert f"/tables/units/{minute(4)}" in get(page(), f"/lakes/sales/search?q={RUN}")
    assert "Nothing is called" in get(page(), "/lakes/sales/search?q=there_is_no_such_thing")


@pytest.mark.parametrize("path", ["/lakes/other", "/lakes/sales/tables/other", "/lakes/sales/tables/units/x"])
def test_what_is_not_there_is_not_found(page: Page, tmp_path: Path, path: str):
    seen_lake(tmp_path)
    assert page().get(path).status_code == 404


def test_records_are_seen_only_with_a_right_of_their_own(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen_lake(tmp_path)
    wanted = []

    def look(*_: object, with_records: bool) -> QuarantineOverview:
        wanted.append(with_records)
        record = QuarantineRecord(record="ab", reason="not_json", detail="d", raw='{"name":"Ada"')
        kinds = [QuarantineKind(reason="not_json", state="open", records=1, newest=None)]
        return QuarantineOverview(kinds=kinds, records=[record] if with_records else [])

    monkeypatch.setattr(page_app, "quarantine_overview", look)
    seen = {role: get(page(role), "/lakes/sales/quarantine") for role in ("VIEWER", "USER", "OP")}
    assert wanted == [False, False, True]
    assert {role for role, text in seen.items() if "Ada" in text} == {"OP"}
    assert all("not_json" in text for text in seen.values())
    assert "Your role may not see them" in seen["USER"]


def test_partitions_that_name_people_are_not_shown(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake = seen_lake(tmp_path)
    lake.table("sales_log").base("f", int(minute(1)), partition="event_date=2026-01-01")
    assert "event_date=2026-01-01" in get(page(), "/lakes/sales/tables/sales_log")
    monkeypatch.setattr(page_app, "columns_of_people", lambda *_: frozenset({"event_date"}))
    text = get(page(), "/lakes/sales/tables/sales_log")
    assert "event_date=2026" not in text
    assert "names people" in text


def test_a_lake_that_cannot_be_used_says_why(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "broken.yaml"
    broken.write_text("lake: [")
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(broken))
    text = get(page(), "/")
    assert "broken.yaml" in text
    assert page().get("/lakes/lake").status_code == 503


def test_several_lakes_each_have_a_page(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import shutil

    from spark_jobs.contracts.settings import PROJECT_ROOT

    shutil.copytree(PROJECT_ROOT / "include", tmp_path / "include")
    spec = tmp_path / "include/lakes/sales.yaml"
    (spec.parent / "shop.yaml").write_text(re.sub(r"(?m)^lake: sales$", "lake: shop", spec.read_text()))
    monkeypatch.setenv("LAKEHOUSE_LAKES", str(spec.parent))
    names = {path.stem for path in spec.parent.glob("*.yaml")}
    text = get(page(), "/")
    assert all(f"{name}" in text for name in names)
    assert "Lake shop" in get(page(), "/lakes/shop")


def test_a_spec_is_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    lakes = ShownLakes(clock=lambda: clock[0])
    first = lakes.all()
    assert lakes.all() is first
    clock[0] = 31.0
    again = lakes.all()
    assert again is not first
    assert [replace(each, dag_id=str) for each in again] == [replace(each, dag_id=str) for each in first]
