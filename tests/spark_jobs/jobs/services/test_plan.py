"""``services plan`` on a lake made by hand, without Spark: the tables of the shipped spec that are there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import services
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of, run_in
from tests.support.made_tables import MadeTable, at

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
LAYOUTS = {layout.name: layout for layout in all_layouts(load_lake_spec(Settings().lake_spec))}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of units a compaction is due, of the log nothing is, and agents has a later table version."""
    units = MadeTable(LAYOUTS["units"], tmp_path / "units").commits(1, action="commit").commits(*range(2, 14))
    units.base("a", 1).logs("a", 1, 12)
    MadeTable(LAYOUTS["sales_log"], tmp_path / "sales_log").commits(1, action="commit").base("a", 1)
    MadeTable(LAYOUTS["agents"], tmp_path / "agents").commits(1)
    (tmp_path / "agents/.hoodie/hoodie.properties").write_text("hoodie.table.version=9\n")
    return Settings(base_path=str(tmp_path))


def plan(settings: Settings, **options: Any) -> JobResult:
    context = context_of("services", settings, clock=CLOCK, action="plan", **options)
    assert not services.needs_spark(context)
    return run_in(context)


def test_what_is_due_is_listed_with_its_reason(settings: Settings, capsys: pytest.CaptureFixture[str]):
    result = plan(settings)
    assert result.due == (("units", "compaction"),)
    assert result.counters == {"services_due": 1, "services_done": 0}
    (line,) = capsys.readouterr().out.splitlines()[2:]
    reasons = "12 of 288 log files over a base file, 50 of 50 % of its bytes; a base file lacks what was written since"
    late = "00000000000000002, for too long for its size; 1 of 1 file groups"
    assert line.split(maxsplit=3) == ["units", "compaction", "yes", f"{reasons} {late}"]


def test_all_of_it_on_demand(settings: Settings, capsys: pytest.CaptureFixture[str]):
    assert plan(settings, all=True).due == (("units", "compaction"),)
    found = [tuple(line.split()[:3]) for line in capsys.readouterr().out.splitlines()[2:]]
    assert sorted(found) == [
        ("sales_log", "archive", "no"),
        ("sales_log", "clean", "no"),
        ("sales_log", "clustering", "no"),
        ("units", "archive", "no"),
        ("units", "clean", "no"),
        ("units", "compaction", "yes"),
        ("units", "rescale", "no"),
    ]


def test_one_table_or_one_service_alone(settings: Settings):
    assert plan(settings, table="sales_log").due == ()
    assert plan(settings, table="units", service="clean").status == "nothing_to_do"
    with pytest.raises(ContractError, match="lake sales has no table 'orders'"):
        plan(settings, table="orders")


def test_a_table_of_another_version_stops_no_other_and_is_reported(settings: Settings):
    (warning,) = plan(settings).messages
    assert warning.startswith("agents: the table on disk has Hudi table version 9")


def test_a_consumer_far_behind_is_reported(settings: Settings):
    state = ConsumerState(checkpoints={"units": at(0)})
    ConsumerRegistry(settings.base_path).write("report", state, CLOCK)
    assert any(message.startswith("units: consumer report has lost its place") for message in plan(settings).messages)
