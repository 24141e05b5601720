"""The job ``consumers`` on a lake made by hand: the log has commits 3 to 6, the fifth of them a clustering."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import StorageForm, TableLayout
from tests.support.contexts import context_of, run_in
from tests.support.made_tables import MadeTable, at

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
LOG = TableLayout(name="sales_log", record_key="event_id", form=StorageForm.APPENDED)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    log = MadeTable(LOG, tmp_path / "sales_log").commits(3, 4, 6, action="commit")
    log.commits(5, action="replacecommit", operationType="CLUSTER")
    return Settings(base_path=str(tmp_path))


def run(settings: Settings, action: str, **options: Any) -> JobResult:
    return run_in(context_of("consumers", settings, clock=CLOCK, action=action, **options))


def listed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    lines = capsys.readouterr().out.splitlines()
    return [line.split() for line in lines[2:]]


def test_without_consumers_the_list_is_empty(settings: Settings, capsys: pytest.CaptureFixture[str]):
    assert run(settings, "list").counters == {"consumers": 0}
    assert capsys.readouterr().out == "no consumer has read anything yet\n"


def test_all_are_listed_with_how_far_they_are(settings: Settings, capsys: pytest.CaptureFixture[str]):
    registry = ConsumerRegistry(settings.base_path)
    for hour, place in enumerate((3, 4)):
        state = ConsumerState(checkpoints={"sales_log": at(place)})
        registry.write("split", state, CLOCK + timedelta(hours=hour))
    registry.write("report", ConsumerState(checkpoints={"sales_log": at(1), "units": at(9)}), CLOCK)
    within = f"{at(3)}/{at(4)}/2/0123456789ab"
    registry.write("mirrors", ConsumerState(checkpoints={"sales_log": within}), CLOCK)
    run(settings, "list")
    assert listed(capsys) == [
        ["mirrors", "sales_log", within, "2", "-", "on", "the", "timeline"],
        ["report", "sales_log", at(1), "3", "-", "lost"],
        ["report", "units", at(9), "0", "-", "no", "table"],
        ["split", "sales_log", at(4), "1", "1:00:00", "on", "the", "timeline"],
    ]


def test_a_reader_is_registered_and_moved_and_forgotten(settings: Settings):
    registry = ConsumerRegistry(settings.base_path)
    run(settings, "register", name="report", table="sales_log", at=at(4))
    assert registry.read("report") == ConsumerState(checkpoints={"sales_log": at(4)})
    run(settings, "register", name="report", table="sales_log")
    assert registry.read("report") == ConsumerState(checkpoints={"sales_log": at(6)})
    run(settings, "register", name="report", table="units")  # which has no commit yet
    assert registry.read("report").checkpoints == {"sales_log": at(6), "units": at(0)}
    run(settings, "forget", name="report")
    assert registry.all() == {}


@pytest.mark.parametrize(
    ("action", "options", "reason"),
    [
        ("register", {"table": "sales_log"}, r"consumer \(--name\) '' is not a snake_case identifier"),
        ("register", {"name": "../x", "table": "sales_log"}, "is not a snake_case identifier"),
        ("register", {"name": "split", "table": "sales_log"}, "split is the lake's own"),
        ("register", {"name": "slow_milestones", "table": "sales_log"}, "slow_milestones is the lake's own"),
        ("register", {"name": "report", "table": "orders"}, "lake sales has no table 'orders'"),
        ("register", {"name": "report", "table": "sales_log", "at": "5"}, "'5' is not an instant"),
        ("register", {"name": "report", "table": "sales_log", "at": at(2)}, "sales_log has no commit 0{16}2 on its"),
        ("forget", {}, "no consumer is called ''"),
        ("forget", {"name": "report"}, r"no consumer is called 'report' \(--name\); known are \['split'\]"),
        ("forget", {"name": "split"}, "split is the lake's own: run its layer"),
    ],
)
def test_a_mistake_is_one_clear_line(settings: Settings, action: str, options: dict[str, str], reason: str):
    registry = ConsumerRegistry(settings.base_path)
    registry.write("split", ConsumerState(checkpoints={"sales_log": at(4)}), CLOCK)
    before = registry.all()
    with pytest.raises(ContractError, match=reason):
        run(settings, action, **options)
    assert registry.all() == before
