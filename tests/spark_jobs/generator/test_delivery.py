"""Order, lateness, redelivery, deletes and their rates, as they are in the files. 8,000 events, see ``life``."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from spark_jobs.generator.delivery import Delivery
from spark_jobs.generator.life import Life
from spark_jobs.generator.plan import Plan, Rates

EVENTS = 8_000


def _position(event):
    source = event["source"]
    return source["commit_lsn"], source["change_lsn"] or "00000000:00000000:0000", source["event_serial_no"]


def _late(events):
    highest, late = ("", "", 0), 0
    for event in events:
        late += _position(event) < highest
        highest = max(highest, _position(event))
    return late


def test_positions_are_unique_and_times_rise_with_them(life):
    events = life.topic.distinct
    assert len(events) == EVENTS
    assert all(a["source"]["ts_ms"] <= b["source"]["ts_ms"] for a, b in pairwise(events))
    assert {len(part) for event in events for part in _position(event)[:2]} == {len("00000027:000001d8:0003")}


def test_events_are_between_start_and_end_and_come_to_both(life):
    plan, times = life.outcome.plan, [event["source"]["ts_ms"] for event in life.topic.distinct]
    assert times[0] == plan.start_ms
    assert plan.end_ms - 120_000 < times[-1] < plan.end_ms
    days = Counter((ms - plan.start_ms) // 86_400_000 for ms in times)
    assert len(days) == 90
    assert max(count for day, count in days.items() if day) < 4 * EVENTS / 90


def test_transactions_hold_several_changes(life):
    sizes = Counter(event["source"]["commit_lsn"] for event in life.topic.distinct if event["op"] != "r")
    assert {1, 2, 3, 4} <= set(sizes.values())
    serials = Counter(
        (event["op"], event["source"]["event_serial_no"]) for event in life.topic.distinct if event["op"] != "r"
    )
    assert {("c", 1), ("u", 2), ("d", 1), ("c", 2)} == set(serials)


def test_a_changed_key_is_a_delete_and_an_insert_in_one_place(life):
    by_lsn: dict[str, list[str]] = {}
    for event in life.topic.distinct:
        if event["op"] != "r":
            by_lsn.setdefault(event["source"]["change_lsn"], []).append(event["op"])
    assert {tuple(ops) for ops in by_lsn.values()} == {("c",), ("u",), ("d",), ("d", "c")}


@pytest.mark.parametrize(
    ("rate", "share"),
    [("delete", 0.04), ("late", 0.1), ("redelivery", 0.05), ("broken", 0.01)],
)
def test_rates_are_about_what_was_requested(life, rate, share):
    distinct, good = life.topic.distinct, life.topic.good
    found = {
        "delete": sum(event["op"] == "d" for event in distinct),
        "late": life.outcome.counters["late"],
        "redelivery": len(good) - len(distinct),
        "broken": life.topic.broken.total(),
    }[rate]
    assert found == pytest.approx(share * EVENTS, rel=0.35)


def test_late_events_come_late_and_without_a_rate_nothing_does(life, make):
    assert _late(life.topic.good) > 0.08 * EVENTS
    calm = make(events=500, rates={"late": 0.0, "redelivery": 0.0, "broken": 0.0, "delete": 0.0, "correction": 0.0})
    assert _late(calm.topic.good) == 0
    assert len(calm.topic.lines) == 500
    assert calm.topic.distinct == calm.topic.good


def test_late_and_redelivered_records_cross_files(life):
    files = [path.read_bytes().split(b"\n")[:-1] for path in sorted(life.outcome.folder.iterdir())]
    homes: dict[bytes, set[int]] = {}
    for number, lines in enumerate(files):
        for line in lines:
            homes.setdefault(line, set()).add(number)
    assert any(len(numbers) > 1 for line, numbers in homes.items() if line != b"null")
    newest = [max(json.loads(line)["source"]["commit_lsn"] for line in lines if _is_good(line)) for lines in files]
    oldest = [min(json.loads(line)["source"]["commit_lsn"] for line in lines if _is_good(line)) for lines in files]
    assert any(oldest[number] < newest[number - 1] for number in range(1, len(files)))


def _is_good(line):
    return (
        line.startswith(b'{"before":') and line.endswith(b"}") and line.count(b'"commit_lsn":"') == 1 and _parses(line)
    )


def _parses(line):
    try:
        return len(line) < 10_000 and bool(json.loads(line))
    except ValueError:
        return False


def test_partial_records_have_null_columns_and_never_a_null_key(life):
    keys = ("SaleId", "AgentId", "UnitId", "BuildingId", "ProjectId", "StatusId")
    names = ("AgentName", "UnitName", "BuildingName", "ProjectName", "StatusName")
    rows = [event["after"] for event in life.topic.distinct if event["after"]]
    assert all(row[key] is not None for row in rows for key in keys)
    partial = sum(any(row[name] is None for name in names) for row in rows)
    assert partial == pytest.approx(0.2 * len(rows), rel=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_without_a_name_from_its_first_record_on(make, seed):
    """Also when every record lacks a name, so that no life, however short, breaks the check that units have one."""
    rates = {"partial": 1.0, "late": 0.0}
    rows = [event["after"] for event in make(events=600, seed=seed, rates=rates).topic.distinct if event["after"]]
    kinds = ("Agent", "Unit", "Building", "Project", "Status")
    first = [{row[f"{kind}Id"]: row[f"{kind}Name"] for row in reversed(rows)} for kind in kinds]
    assert [names for names in first if None in names.values()] == []
    assert all(None in {row[f"{kind}Name"] for row in rows} for kind in kinds)


def test_deletes_have_no_after_and_a_tombstone_follows_when_requested(life, make):
    deletes = [event for event in life.topic.distinct if event["op"] == "d"]
    assert all(event["after"] is None and event["before"]["SaleId"] for event in deletes)
    assert life.topic.tombstones == len(deletes)
    assert make(events=500, rates={"delete": 0.1}, has_tombstones=False).topic.tombstones == 0


def test_corrections_are_new_records_of_sales_signed_months_ago(life):
    seen: dict[int, dict] = {}
    found = 0
    for event in life.topic.distinct:
        row = event["after"]
        if event["op"] == "c" and row["SaleId"] in seen and row["StatusId"] == 8 and row["ContractSigningDate"]:
            old = seen[row["SaleId"]]
            age_days = (event["source"]["ts_ms"] - row["ContractSigningDate"]) / 86_400_000
            columns = ("ContractSubtotal", "AgentId", "ContractSigningDate")
            found += age_days > 50 and any(row[name] != old[name] for name in columns)
        if row:
            seen[row["SaleId"]] = row
    assert found > 0.025 * EVENTS


def test_a_column_is_added_half_way(life, make):
    has = ["CustomerId" in (event["after"] or event["before"]) for event in life.topic.distinct]
    assert has == [False] * (EVENTS // 2) + [True] * (EVENTS // 2)
    befores = [event["before"] for event in life.topic.distinct[EVENTS // 2 :] if event["before"]]
    assert all("CustomerName" in before for before in befores)
    never = make(events=300, rates={"added_column_at": 1.0})
    assert not any("CustomerId" in (event["after"] or event["before"]) for event in never.topic.distinct)


def test_updates_carry_the_row_as_it_was(life):
    last: dict[int, dict] = {}
    updates = 0
    for event in life.topic.distinct:
        row = event["after"] or event["before"]
        if event["op"] == "u":
            updates += 1
            assert {**event["before"]} == {**dict.fromkeys(event["before"]), **last[row["SaleId"]]}
        if event["after"]:
            last[row["SaleId"]] = event["after"]
    assert updates > EVENTS / 3


def test_at_the_end_of_a_life_nothing_is_held_back_and_nothing_more_comes():
    end = datetime(2026, 3, 18, tzinfo=UTC)
    rates = Rates(late=0.5, redelivery=0.0, broken=0.0)
    plan = Plan(seed=1, total_events=300, start=end - timedelta(days=9), end=end, rates=rates, has_tombstones=False)
    delivery = Delivery(plan, Life.begin(plan))
    records = delivery.deliver(1_000)
    assert len(records) == len(set(records)) == delivery.offset == delivery.truth.events == 300
    assert delivery.deliver(1) == []
