"""History under another rule: a plan first, all or nothing in each table, and a way back.

The lake holds eight months of deals of agents 5 and 6, one reservation and one signing a month each, counted by rules
v1. Agent 7 has a reservation a month and no signing, which counts by rules v2 alone.
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.timeline import Timeline
from tests.support.crashes import crash_at_commit, run_and_crash
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake, SpecLake, copy_lake
from tests.support.mart_checks import assert_slow_is_right
from tests.support.mart_lakes import cells, make_mart_lake

pytestmark = pytest.mark.hudi

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
PERFORMANCE = "slow_agent_performance"
MONTHS = ["2024-09", "2024-10", "2024-11", "2024-12", "2025-01", "2025-02", "2025-03", "2025-04"]
WITHOUT_RULES = ("fast_hourly_events", "slow_unit_difficulty", "slow_agent_success", "slow_customer_demand")
"""Marts that no other one reads, and that count by no rules."""
RANGE: dict[str, Any] = {"layer": "slow", "from_date": "2024-09-01", "to_date": "2025-04-30"}


def deals() -> list[bytes]:
    lines = []
    for number, month in enumerate(MONTHS):
        for agent in (5, 6, 7):
            sale, at = 100 * agent + number, datetime.fromisoformat(f"{month}-15T12:00:00+00:00")
            row: dict[str, Any] = {"SaleId": sale, "UnitId": number, "AgentId": agent, "ProjectId": 1 + number % 3}
            row |= {"ContractSubtotal": f"{1000 * agent + number}.1234"}
            for step, (status, days) in enumerate(((6, 0), (7, 3), (8, 9))[: 1 if agent == 7 else 3]):
                moment = int((at + timedelta(days=days)).timestamp() * 1000)
                signed = {"ContractSigningDate": moment} if status == 8 else {}
                position = number * 100 + agent * 10 + step
                lines.append(line(sqlserver("u", {**row, "StatusId": status, **signed}, position, ts_ms=moment)))
    return lines


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory) -> SpecLake:
    """The lake as it is before each test; no test writes to it."""
    layers, folder = ("fast", "stitch", "slow"), tmp_path_factory.mktemp("made")
    lake = make_mart_lake(spark, folder, layers=layers, without=WITHOUT_RULES)
    lake.land("deals.jsonl", deals())
    for job in ("ingest", "split"):
        lake.run(job)
    lake.run("mart", clock=NOON, layer="slow")
    return lake


@pytest.fixture
def lake(made, tmp_path) -> Lake:
    """A copy of it."""
    return copy_lake(made, tmp_path)


class LakeWithRules(SpecLake):
    """A lake with rule versions of its own."""

    @property
    def settings(self) -> Settings:
        return replace(super().settings, rules_path=str(self.folder / "rules"))


def versions(lake: Lake) -> dict[str, str]:
    rows = cells(lake, PERFORMANCE, "month", "agent_id").values()
    return {row["month"]: row["rules_version"] for row in rows}


@pytest.mark.slice(name="jobs")
def test_a_plan_changes_nothing_and_says_what_would(lake, capsys):
    before = lake.instants()
    result = lake.run("recompute", clock=NOON, rules="v2", **RANGE)
    assert (result.status, result.counters["rows_written"]) == ("nothing_to_do", 0)
    assert result.counters["rows_planned"] >= 2 * len(MONTHS)
    shown = capsys.readouterr().out
    assert PERFORMANCE in shown
    assert "8 (2024-09 to 2025-04)" in shown
    assert result.messages[-1] == "nothing was changed; do it with --yes"
    assert lake.instants() == before
    dry = lake.run("recompute", clock=NOON, rules="v2", yes=True, dry_run=True, **RANGE)
    assert (dry.counters["rows_written"], lake.instants()) == (0, before)


def test_another_rule_counts_the_requested_months_and_undo_is_right(lake):
    before = cells(lake, PERFORMANCE, "month", "agent_id")
    assert {row["rules_version"] for row in before.values()} == {"v1"}
    assert {agent for _, agent in before} == {5, 6}
    some = {**RANGE, "to_date": "2024-12-31"}
    done = lake.run("recompute", clock=NOON, rules="v2", yes=True, **some)
    overrides = dict.fromkeys(MONTHS[:4], "v2")
    assert_slow_is_right(lake, "UTC", overrides)
    assert {month: version for month, version in versions(lake).items() if version == "v2"} == overrides
    assert {agent for _, agent in cells(lake, PERFORMANCE, "month", "agent_id")} == {5, 6, 7}
    timeline = Timeline(table=PERFORMANCE, path=lake.path(PERFORMANCE))
    assert timeline.properties["hoodie.table.version"] == "6"
    assert timeline.savepoints == {timeline.writes[-2].time}

    # A correction to a month counted by v2 is counted by v2, also in an ordinary run.
    lake.land("late.jsonl", [line(sqlserver("u", {"SaleId": 501, "ContractSubtotal": "9.0000"}, 9001))])
    for job in ("ingest", "split"):
        lake.run(job)
    lake.run("mart", clock=NOON, layer="slow")
    assert_slow_is_right(lake, "UTC", overrides)

    words = next(message for message in done.messages if "--undo" in message).split()
    shown = lake.run("recompute", clock=NOON, undo=words[words.index("--undo") + 1])
    assert shown.counters["rows_written"] == 0
    lake.run("recompute", clock=NOON, undo=words[words.index("--undo") + 1], yes=True)
    assert cells(lake, PERFORMANCE, "month", "agent_id") == before, "rows that came with v2 are gone again"
    lake.run("mart", clock=NOON, layer="slow")
    assert_slow_is_right(lake, "UTC")
    with pytest.raises(ContractError, match="no savepoint made by recompute is called"):
        lake.run("recompute", clock=NOON, undo="slow-1", yes=True)


@pytest.mark.slice(name="jobs")
def test_what_is_new_outside_of_the_dates_is_counted_as_by_any_other_run(lake):
    lake.land("late.jsonl", [line(sqlserver("u", {"SaleId": 505, "ContractSubtotal": "9.0000"}, 9001))])
    for job in ("ingest", "split"):
        lake.run(job)
    lake.run("recompute", clock=NOON, rules="v2", yes=True, **{**RANGE, "to_date": "2024-12-31"})
    assert_slow_is_right(lake, "UTC", dict.fromkeys(MONTHS[:4], "v2"))


@pytest.mark.slice(name="jobs")
@pytest.mark.parametrize("is_committed", [False, True])
def test_killed_half_way_and_run_again_it_is_what_it_would_have_been(lake, is_committed):
    seen: list[set[str]] = []
    is_over = threading.Event()

    def watch() -> None:
        while True:
            seen.append({row["rules_version"] for row in lake.rows(PERFORMANCE)})
            if is_over.wait(0.25):
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        crash = crash_at_commit("marts.refresh", 1, is_committed=is_committed)
        assert run_and_crash(lake, "recompute", crash, clock=NOON, rules="v2", yes=True, **RANGE)
        lake.run("recompute", clock=NOON, rules="v2", yes=True, **RANGE)
    finally:
        is_over.set()
        watcher.join()
    assert_slow_is_right(lake, "UTC", dict.fromkeys(MONTHS, "v2"))
    assert {frozenset(versions_) for versions_ in seen} <= {frozenset({"v1"}), frozenset({"v2"})}
    assert seen[0] == {"v1"}
    before = lake.instants()
    again = lake.run("recompute", clock=NOON, rules="v2", yes=True, **RANGE)
    assert (again.status, lake.instants()) == ("nothing_to_do", before)

    way_back = next(message for message in again.messages if "--undo" in message).split()
    lake.run("recompute", clock=NOON, undo=way_back[way_back.index("--undo") + 1], yes=True)
    assert set(versions(lake).values()) == {"v1"}, "the way back of a run that was killed leads before its first try"


@pytest.mark.slice(name="laws-marts")
def test_a_version_that_was_edited_after_it_counted_stops_the_layer_until_a_person_decides(lake):
    own = LakeWithRules(spark=lake.spark, folder=lake.folder, spec=lake.spec)
    shutil.copytree(lake.settings.rules_path, own.settings.rules_path)
    rules = own.folder / "rules" / "v1.yaml"
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text.replace("# 8: contract signed", "# a comment is no change"), encoding="utf-8")
    own.land("late.jsonl", [line(sqlserver("u", {"SaleId": 501, "ContractSubtotal": "9.0000"}, 9001))])
    own.run("ingest")
    own.run("mart", clock=NOON, layer="slow")

    rules.write_text(text.replace("WHEN 8", "WHEN 7"), encoding="utf-8")
    own.land("later.jsonl", [line(sqlserver("u", {"SaleId": 502, "ContractSubtotal": "9.0000"}, 9002))])
    own.run("ingest")
    before = own.rows(PERFORMANCE)
    with pytest.raises(ContractError, match="rules v1 are not what 2024-11 was counted by") as caught:
        own.run("mart", clock=NOON, layer="slow")
    assert "recompute --rules v1" in str(caught.value)
    assert own.rows(PERFORMANCE) == before

    own.run("recompute", clock=NOON, rules="v1", yes=True, **RANGE)
    own.run("mart", clock=NOON, layer="slow")
    assert_slow_is_right(own, "UTC", rules=rules.parent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "v9"}, "v9"),
        ({"layer": "fast", "rules": "v2"}, "no mart of layer fast counts by rules"),
        ({"layer": "nowhere"}, "no mart .* is of layer 'nowhere'"),
        ({"to_date": "2023-01-01"}, "is before"),
        ({"from_date": "yesterday"}, "dates such as"),
        ({"to_date": "2025-04-15"}, r"is computed by whole months; give --from 2024-09-01 --to 2025-04-30"),
        ({"from_date": "2024-09-02"}, r"is computed by whole months; give --from 2024-09-01 --to 2025-04-30"),
        ({"from_date": None}, "needs --layer, --from and --to"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(spark, tmp_path, options: dict[str, Any], message):
    with pytest.raises(ContractError, match=message):
        make_mart_lake(spark, tmp_path).run("recompute", clock=NOON, **{**RANGE, **options})


def test_the_stitch_layer_and_the_fast_layer_can_be_computed_again(lake):
    lake.run("mart", clock=NOON, layer="stitch")
    lake.run("mart", clock=NOON, layer="fast")
    before = lake.instants()
    for layer in ("stitch", "fast"):
        result = lake.run("recompute", clock=NOON, yes=True, **{**RANGE, "layer": layer})
        assert (result.status, result.counters["rows_planned"]) == ("nothing_to_do", 0)
    assert lake.instants() == before
