"""``validate`` on a real lake: what breaks expectations is found, held and let go, and Data Docs show no person.

Two agents have one name, and two deals are of one project and day; every name and amount is a canary.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import AuditFailedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO
from spark_jobs.quality.docs_site import DOCS
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.timeline import Timeline
from tests.support.envelopes import MINUTE_MS, START_MS, line, sqlserver
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.lakes import PIPELINE, SpecLake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

CLOCK = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
NAME, AMOUNT = "Canary Petronella Quist", "77123.4567"
SIGNED = {"StatusId": 8, "ContractSubtotal": AMOUNT, "ContractSigningDate": START_MS + MINUTE_MS}
MORE: dict[str, dict[str, Any]] = {
    "agents": {"named_apart": {"column": "agent_name", "unique": True}},
    "units": {"named": {"column": "unit_name", "matches": "^Unit"}},
    "sales": {"of_a_unit": {"column": "unit_id", "refers_to": "units.unit_id", "action": "stop"}},
    "fast_daily_deals": {"one_a_day": {"columns": ["day", "project_id"], "unique": True, "action": "stop"}},
}
BROKEN = "one_a_day (day, project_id unique): 2 of 2 rows broke it"


def sale(key: int, agent: int, *, at: int = 0, **more: Any) -> bytes:
    row = {"SaleId": key, "AgentId": agent, "AgentName": NAME, "UnitId": key, "UnitName": NAME, "ProjectId": 1}
    return line(sqlserver("u" if at else "c", {**row, **SIGNED, **more}, at or key))


def refresh(lake: SpecLake) -> None:
    for job, options in PIPELINE:
        lake.run(job, clock=CLOCK, **options)


def validate(lake: SpecLake, tables: str = "agents,units,fast_daily_deals") -> Any:
    return lake.run("validate", clock=CLOCK, tables=tables)


def accept(lake: SpecLake, table: str) -> None:
    lake.run("publish", clock=CLOCK, action="accept", table=table, because="two at once", by="Ada")


def docs(lake: SpecLake) -> dict[str, bytes]:
    folder = Path(lake.settings.base_path) / DOCS
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slice(name="tables")
def test_what_is_found_is_held_until_it_is_right(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lake = make_expecting_lake(spark, tmp_path, MORE)
    assert validate(lake, "").status == NOTHING_TO_DO
    lake.land("first.jsonl", [sale(1, 1), sale(2, 2)])
    refresh(lake)
    with pytest.raises(AuditFailedError, match=r"^held after the commit, .*: fast_daily_deals: one_a") as found:
        validate(lake)
    result = found.value.result
    assert result is not None
    assert found.value.failed == {"fast_daily_deals": [BROKEN]}
    assert sorted(line for line in result.messages if "warned" in line or "stopped" in line) == [
        "agents: warned: named_apart (agent_name unique): 2 of 2 rows broke it",
        f"fast_daily_deals: stopped: {BROKEN}",
        "units: warned: named (unit_name matches ^Unit): 2 of 2 rows broke it",
    ]
    hold = Holds(lake.settings).hold_of("fast_daily_deals")
    assert hold is not None
    assert hold.instant == Timeline(table="fast_daily_deals", path=lake.path("fast_daily_deals")).last
    assert "one_a_day" in capsys.readouterr().out

    with pytest.raises(AuditFailedError):
        validate(lake, "fast_daily_deals")
    assert Holds(lake.settings).hold_of("fast_daily_deals") == hold, "checked twice it is the same"
    lake.land("second.jsonl", [sale(2, 2, at=9, ProjectId=2)])
    refresh(lake)
    assert Holds(lake.settings).hold_of("fast_daily_deals"), "a commit that was not checked yet"
    assert validate(lake).status == DONE
    assert Holds(lake.settings).held() == []


@pytest.mark.slice(name="jobs")
def test_what_a_person_accepted_is_held_again_when_more_rows_break_it(spark: SparkSession, tmp_path: Path):
    lake = make_expecting_lake(spark, tmp_path, MORE)
    lake.land("first.jsonl", [sale(1, 1), sale(2, 2)])
    refresh(lake)
    with pytest.raises(AuditFailedError):
        validate(lake)
    lake.land("second.jsonl", [sale(2, 2, at=9, ProjectId=2)])
    refresh(lake)
    assert validate(lake).status == DONE

    lake.land("third.jsonl", [sale(2, 2, at=10, ProjectId=1)])
    refresh(lake)
    with pytest.raises(AuditFailedError):
        validate(lake)
    accept(lake, "fast_daily_deals")
    assert Holds(lake.settings).held() == []
    assert f"fast_daily_deals: accepted: {BROKEN}" in validate(lake).messages
    lake.land("fourth.jsonl", [sale(3, 3, at=11, ProjectId=3)])
    refresh(lake)
    assert f"fast_daily_deals: accepted: {BROKEN.replace('of 2', 'of 3')}" in validate(lake).messages, "known rows"
    lake.land("fifth.jsonl", [sale(3, 3, at=12, ProjectId=1)])
    refresh(lake)
    with pytest.raises(AuditFailedError, match=r"3 of 3 rows broke it"):
        validate(lake)
    accept(lake, "fast_daily_deals")
    lake.land("sixth.jsonl", [sale(2, 2, at=13, ProjectId=2), sale(3, 3, at=14, ProjectId=3)])
    refresh(lake)
    assert not any("one_a_day" in line for line in validate(lake).messages)
    assert Holds(lake.settings).known("fast_daily_deals") is None, "right again: what breaks it next is news"


@pytest.mark.slice(name="tables")
def test_data_docs_have_a_page_for_each_table_and_no_person(spark: SparkSession, tmp_path: Path):
    lake = make_expecting_lake(spark, tmp_path, {**MORE, "fast_daily_deals": {}})
    lake.land("first.jsonl", [sale(1, 1), sale(2, 2)])
    refresh(lake)
    result = validate(lake, "")
    assert result.messages[-1] == f"Data Docs: {lake.settings.base_path}/{DOCS}/index.html"
    pages = docs(lake)
    assert "index.html" in pages
    for table in ("agents", "units", "sales", "sales_log"):
        assert any(name.startswith(f"validations/{table}/") for name in pages), table
    of_agents = next(text for name, text in pages.items() if name.startswith("validations/agents/")).decode()
    assert "named_apart" in of_agents
    first = pages["index.html"].decode()
    assert "<td>named_apart</td><td>agent_name unique</td>" in first
    links = re.findall(r'<a href="(validations/[^"]+)">', first)
    assert set(links) <= pages.keys()
    fetched = re.compile(rb"<(?:script|link|img|iframe)\b[^>]*https?:|<script|@import|url\(http", re.IGNORECASE)
    assert [name for name, text in pages.items() if name.endswith(".html") and fetched.search(text)] == []
    assert [name for name, text in pages.items() if NAME.encode() in text or AMOUNT.encode() in text] == []
    validate(lake, "agents")
    assert not any(name.startswith("validations/units/") for name in docs(lake)), "pages of an earlier run are gone"


def test_an_unknown_table_is_refused(spark: SparkSession, tmp_path: Path):
    with pytest.raises(ContractError, match=r"lake sales has no table 'quarantine' \(--tables\)"):
        validate(make_expecting_lake(spark, tmp_path, {}), "quarantine")
