"""Assets are announced when their instant moved.

History of the fixture: the last events announced units@1, sales@1 and the log split up to 5. Then a run of split read
the log up to 7; it committed units at 3, and found that an earlier try had committed sales at 2 and died. agents did
not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.announcements import plan_announcements, plan_reminder, to_look_up
from lakehouse_provider.assets import LakeAssets, table_of
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult, SourceWindow, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec


def instant(number: int) -> Instant:
    return Instant(f"202611210000000{number:02d}")


def outcome(table: str, number: int | None, *, rows: int = 0) -> TableOutcome:
    at = None if number is None else instant(number)
    return TableOutcome(table=table, instant=at, rows=rows, is_committed=rows > 0)


RESULT = JobResult(
    job="split",
    status=DONE,
    clock="2026-11-21T10:00:00Z",
    tables=(outcome("units", 3, rows=12), outcome("sales", 2), outcome("agents", 1), outcome("projects", None)),
    source=SourceWindow(table="sales_log", after=instant(5), up_to=instant(7)),
)
LAST: dict[str, dict[str, Any]] = {
    "sales/units": {"instant": instant(1)},
    "sales/sales": {"instant": instant(1)},
    "sales/agents": {"instant": instant(1)},
    "sales/sales_log/split": {"source": {"up_to": instant(5)}},
}


@pytest.fixture(scope="module")
def assets() -> LakeAssets:
    return LakeAssets(load_lake_spec(Settings().lake_spec))


def plan(assets: LakeAssets, last: dict[str, dict[str, Any]], *, is_interval: bool = False) -> dict[str, Any]:
    outlets = [*assets.tables, assets.split]
    return dict(plan_announcements(RESULT, outlets, last, run_id="r", is_interval=is_interval))


def test_what_moved_is_announced_whoever_committed_it(assets: LakeAssets) -> None:
    planned = plan(assets, LAST)
    assert set(planned) == {"sales/units", "sales/sales", "sales/sales_log/split"}
    assert (planned["sales/units"]["instant"], planned["sales/units"]["rows"]) == (instant(3), 12)
    assert planned["sales/sales"]["instant"] == instant(2)
    assert planned["sales/sales_log/split"]["instants"] == {
        "units": instant(3), "sales": instant(2), "agents": instant(1), "projects": None
    }  # fmt: skip
    assert planned["sales/sales_log/split"]["source"] == {
        "table": "sales_log",
        "after": instant(5),
        "up_to": instant(7),
    }


def test_what_was_announced_is_not_announced_again(assets: LakeAssets) -> None:
    announced = {**LAST, **plan(assets, LAST)}
    assert plan(assets, announced) == {}


def test_a_first_run_announces_every_table_that_exists(assets: LakeAssets) -> None:
    assert set(plan(assets, {})) == {"sales/units", "sales/sales", "sales/agents", "sales/sales_log/split"}


def test_the_first_split_of_a_lake_is_announced_once_and_not_by_a_backfill(assets: LakeAssets) -> None:
    outlets = [*assets.tables, assets.split, assets.first_split]
    assert assets.first_split.name in plan_announcements(RESULT, outlets, {}, run_id="r", is_interval=False)
    assert assets.first_split.name not in plan_announcements(RESULT, outlets, LAST, run_id="r", is_interval=False)
    assert assets.first_split.name not in plan_announcements(RESULT, outlets, {}, run_id="r", is_interval=True)


def test_a_backfill_announces_its_tables_but_not_how_far_the_log_is_split(assets: LakeAssets) -> None:
    assert set(plan(assets, LAST, is_interval=True)) == {"sales/units", "sales/sales"}


def test_a_job_that_refreshes_one_layer_announces_this_layer_alone(assets: LakeAssets) -> None:
    result = JobResult(
        job="mart",
        status=DONE,
        clock="2026-11-21T10:00:00Z",
        tables=(outcome("stitch_agent_days", 1), outcome("stitch_agent_contracts", 4, rows=2)),
    )
    last: dict[str, dict[str, Any]] = {"sales/stitch_agent_days": {"instant": instant(1)}}
    for outlets in (assets.layer("stitch"), assets.marts):
        planned = plan_announcements(result, outlets, last, run_id="r", is_interval=False)
        assert set(planned) == {"sales/stitch_agent_contracts"}
        assert planned["sales/stitch_agent_contracts"]["instant"] == instant(4)


def test_assets_are_named_after_lake_and_table(assets: LakeAssets) -> None:
    assert assets["sales_log"].uri == "lakehouse://sales/sales_log"
    assert [asset.name for asset in assets.ingested] == ["sales/sales_log", "sales/quarantine"]
    tables = [table_of(asset) for asset in assets.tables]
    assert tables == ["units", "buildings", "projects", "statuses", "agents", "customers", "sales"]
    assert table_of(assets.split) == "sales_log/split"


def ingested(at: str = "2026-11-27T10:00:00Z", *, status: str = NOTHING_TO_DO, has_more: int = 0) -> JobResult:
    """A run of ingest that found the log at 9."""
    tables, counters = (outcome("sales_log", 9), outcome("quarantine", None)), {"has_more": has_more}
    return JobResult(job="ingest", status=status, clock=at, tables=tables, counters=counters)


@pytest.mark.parametrize(
    ("status", "has_more", "is_announced"), [(DONE, 1, True), (DONE, 0, False), (NOTHING_TO_DO, 1, False)]
)
def test_a_run_that_got_further_and_left_something_starts_the_next_one(
    assets: LakeAssets, status: str, has_more: int, is_announced: bool
) -> None:
    outlets = [*assets.ingested, assets.backlog]
    result = ingested(status=status, has_more=has_more)
    planned = plan_announcements(result, outlets, {}, run_id="r", is_interval=False)
    assert ("sales/sales_log/backlog" in planned) is is_announced


def remind(assets: LakeAssets, announced: dict[str, Any], split: dict[str, Any], at: str) -> Any:
    return plan_reminder(ingested(at), assets["sales_log"], announced, split, run_id="r")


def test_a_split_that_failed_on_friday_is_started_on_friday_without_new_data(assets: LakeAssets) -> None:
    """The log moved to 9 at ten o'clock and split is at 7: reminders come more and more seldom, at least every hour."""
    announced: dict[str, Any] = {"instant": instant(9), "rows": 5, "clock": "2026-11-27T10:00:00Z"}
    reminded = []
    for minute in range(0, 300, 5):
        at = f"2026-11-27T{10 + minute // 60}:{minute % 60:02d}:00Z"
        if facts := remind(assets, announced, {"source": {"up_to": instant(7)}}, at):
            announced = dict(facts)
            reminded.append(minute)
    assert reminded == [10, 30, 70, 130, 190, 250]
    assert (announced["instant"], announced["rows"]) == (instant(9), 5)


def test_there_is_no_reminder_of_a_log_that_is_split_or_that_was_announced_just_now(assets: LakeAssets) -> None:
    late, announced = "2026-11-27T18:00:00Z", {"instant": instant(9), "clock": "2026-11-27T10:00:00Z"}
    assert remind(assets, announced, {}, late) is not None, "it was never split"
    assert remind(assets, announced, {"source": {"up_to": instant(9)}}, late) is None
    assert remind(assets, {**announced, "instant": instant(8)}, {}, late) is None, "it moved, so it is announced anyway"
    assert remind(assets, {}, {}, late) is None
    assert remind(assets, announced, {}, "2026-11-27T10:05:00Z") is None


TABLES = ("units", "buildings", "projects", "statuses", "agents", "customers", "sales")
INSTANTS = st.dictionaries(st.sampled_from(TABLES), st.one_of(st.none(), st.integers(1, 3)))


@given(now=INSTANTS, before=INSTANTS, up_to=st.integers(0, 3), split_up_to=st.one_of(st.none(), st.integers(0, 3)))
def test_each_asset_is_announced_when_and_only_when_its_own_instant_moved(
    assets: LakeAssets, now: dict[str, int | None], before: dict[str, int | None], up_to: int, split_up_to: int | None
) -> None:
    window = SourceWindow(table="sales_log", after=instant(0), up_to=instant(up_to) if up_to else BEGINNING)
    tables = tuple(outcome(table, number, rows=number or 0) for table, number in now.items())
    result = JobResult(job="split", status=DONE, clock="2026-11-21T10:00:00Z", tables=tables, source=window)
    last: dict[str, dict[str, Any]] = {f"sales/{t}": {"instant": instant(n)} if n else {} for t, n in before.items()}
    if split_up_to is not None:
        last["sales/sales_log/split"] = {"source": {"up_to": instant(split_up_to)}}
    outlets = [*assets.tables, assets.first_split, assets.split]
    planned = plan_announcements(result, outlets, last, run_id="r", is_interval=False)
    moved = {table: n for table, n in now.items() if n and n != before.get(table)}
    assert {name: facts["instant"] for name, facts in planned.items() if "instant" in facts} == {
        f"sales/{table}": instant(n) for table, n in moved.items()
    }
    assert {name: facts["rows"] for name, facts in planned.items() if "rows" in facts} == {
        f"sales/{table}": n for table, n in moved.items()
    }
    assert ("sales/sales_log/split" in planned) == (up_to > 0 and up_to != split_up_to)
    assert ("sales/sales_log/first_split" in planned) == (up_to > 0 and split_up_to is None)
    assert all(facts["run_id"] == "r" and facts["clock"] == result.clock for facts in planned.values())


@given(
    kinds=st.tuples(*[st.sampled_from(["committed", "announced", "not announced", "never made"])] * 3),
    up_to=st.integers(5, 6),
    has_more=st.booleans(),
)
def test_what_is_not_looked_up_changes_no_announcement(
    assets: LakeAssets, kinds: tuple[str, ...], up_to: int, has_more: bool
) -> None:
    """Of a table that this run committed to, the instant is new; the oracle is what each kind of table means."""
    numbers = {"committed": 3, "announced": 1, "not announced": 2, "never made": None}
    tables = dict(zip(("units", "sales", "agents"), kinds, strict=True))
    outcomes = tuple(outcome(name, numbers[kind], rows=kind == "committed") for name, kind in tables.items())
    source = SourceWindow(table="sales_log", after=instant(5), up_to=instant(up_to))
    result = JobResult(job="split", status=DONE, clock="2026-11-21T10:00:00Z", tables=outcomes, source=source)
    result = replace(result, counters={"has_more": int(has_more)})
    outlets = [*assets.tables, assets.split, assets.first_split, assets.backlog]
    looked_up = {asset.name for asset in to_look_up(result, outlets)}
    known = {name: facts for name, facts in LAST.items() if name in looked_up}
    expected = {f"sales/{name}" for name, kind in tables.items() if kind in ("committed", "not announced")}
    expected |= {assets.split.name} if up_to > 5 else set()
    expected |= {assets.backlog.name} if has_more else set()
    assert set(plan_announcements(result, outlets, known, run_id="r", is_interval=False)) == expected
    signals = {assets.backlog.name, assets.first_split.name}
    assert not looked_up & {*signals, *(f"sales/{n}" for n, kind in tables.items() if kind == "committed")}
