"""What the demo refuses, and how it prints."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from local_stack.demos.demo_data import MARK, Arrivals, DemoFolders
from local_stack.demos.demo_report import build_quality, build_report, format_table
from local_stack.demos.lake_view import TableView
from local_stack.demos.truth_check import Truth
from local_stack.errors import SetupError
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec


def folders(tmp_path: Path) -> DemoFolders:
    return DemoFolders(base=tmp_path / "lake", landing=tmp_path / "landing")


def test_folders_are_made_and_rebuilt(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.recreate()
    (ours.base / "units").mkdir()
    ours.recreate()
    assert [path.name for path in ours.base.iterdir()] == [MARK]


def test_data_that_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.base.mkdir()
    (ours.base / "precious").touch()
    with pytest.raises(SetupError, match="holds something the demo did not make"):
        ours.recreate()
    assert (ours.base / "precious").exists()
    assert not ours.landing.exists()


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    ours = folders(tmp_path)
    ours.base.mkdir()
    ours.recreate()
    assert (ours.base / MARK).exists()


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"LAKEHOUSE_BASE_PATH": "s3a://bucket/lake"}, "give a local folder"),
        ({"LAKEHOUSE_BASE_PATH": "/x", "LAKEHOUSE_LANDING_PATH": "/x"}, "the same folder"),
    ],
)
def test_places_that_cannot_work_are_refused(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SetupError, match=sentence):
        DemoFolders.from_environment(environ)


def test_the_demo_goes_where_the_environment_says(tmp_path: Path) -> None:
    found = DemoFolders.from_environment({"LAKEHOUSE_BASE_PATH": str(tmp_path / "b")})
    assert found.base == tmp_path / "b"
    assert found.landing.parts[-3:] == ("data", "demo", "landing")


def test_arrivals_add_up(tmp_path: Path) -> None:
    environ = {"LAKEHOUSE_LANDING_PATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    arrivals = Arrivals(events=103, count=4, seed=2)
    for number in range(1, 5):
        arrivals.deliver(number, environ)
    assert Truth.load(str(tmp_path), "erp.dbo.SALES").events == 103


def test_more_arrivals_than_events_are_refused() -> None:
    with pytest.raises(SetupError, match="at least one event an arrival"):
        Arrivals(events=3, count=4, seed=1)


def test_a_table_is_printed_with_numbers_to_the_right() -> None:
    text = format_table(("agent", "total"), [("Anna", Decimal("1234.5000")), (None, 7)])
    assert text.splitlines() == [
        "  agent       total",
        "  -----  ----------",
        "  Anna   1,234.5000",
        "  -               7",
    ]


def test_the_report_shows_answers_of_the_layers_that_ran() -> None:
    """Agent 1 of three months; February is the last whole one. The stitch layer did not run."""
    spec = load_lake_spec(Settings().lake_spec)
    success = [
        {"month": f"2026-0{month}", "agent_id": agent, "sales": 4, "signed": 1, "success_rate": rate, "mean_steps": 3}
        for month, agent, rate in ((1, 9, 1), (2, 1, Decimal("0.5")), (2, 2, None), (2, 3, Decimal("0.7")), (3, 9, 1))
    ]
    rows: dict[str, list[dict[str, Any]]] = {
        **{name: [] for name in (spec.log, spec.quarantine, *(table.name for table in spec.tables))},
        "agents": [{"agent_id": 1, "agent_name": "Anna"}],
        "slow_agent_success": success,
        "slow_customer_demand": [],
    }
    views = {
        name: TableView(name=name, spark=r, rust=r, instant=Instant("20260302093000000")) for name, r in rows.items()
    }
    report = build_report(spec, views, Settings(), datetime(2026, 3, 2, 9, 31, tzinfo=UTC), Path("made.html"))
    lines = [" ".join(line.split()) for line in report.splitlines()]
    at = lines.index("Slow: agents by their success (slow_agent_success)")
    assert lines[at + 3 : at + 6] == ["2026-02 3 4 1 0.7 3", "2026-02 Anna 4 1 0.5 3", "… and 1 more"]
    assert "Slow: demanding customers (slow_customer_demand): none yet" in lines
    assert "Stitch" not in report
    assert "agents 1 0 20260302093000000 60 s ago" in lines


def test_the_end_says_what_was_set_aside_and_what_is_broken() -> None:
    rows = [{"reason": reason} for reason in ("not_json", "broken_rule", "not_json")]
    messages = ("sales: warned: is_so (a not null): 1 of 9 rows broke it", "Data Docs: /lake/.quality/docs/index.html")
    counts = {"tables": 9, "expectations": 20, "broken": 1}
    validated = JobResult(job="validate", status="done", clock="", counters=counts, messages=messages)
    lines = [" ".join(line.split()) for line in build_quality(validated, rows).splitlines()]
    assert lines[0] == "Quarantine by reason"
    assert lines[3:] == ["not_json 2", "broken_rule 1", "", "Quality: 20 expectations of 9 tables, 19 hold", *messages]
