"""The life is one of a property company: sales move through the funnel, contracts are signed and priced at its end."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from spark_jobs.generator.book import MOST_OPEN
from spark_jobs.generator.funnel import CLOSED, SIGNED, STATUS_NAMES, STEPS
from spark_jobs.generator.life import Life
from spark_jobs.generator.plan import Plan, Rates

DAY_MS = 86_400_000
SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.slice(name="laws")) for seed in range(5, 20))]


def test_every_status_is_met_and_leads_are_many(life):
    statuses = Counter(event["after"]["StatusId"] for event in life.topic.distinct if event["after"])
    assert set(statuses) == set(STATUS_NAMES)
    assert statuses[1] > statuses[3] > statuses[5] > statuses[7]
    assert statuses[SIGNED] > 100


def test_the_funnel_says_where_each_open_status_leads():
    assert set(STEPS) == set(STATUS_NAMES) - CLOSED
    assert all(sum(share for share, _, _ in steps) == pytest.approx(1) for steps in STEPS.values())


def test_steps_are_those_of_the_funnel(life):
    for event in life.topic.distinct:
        if event["op"] == "u":
            assert event["after"]["StatusId"] in {target for _, target, _ in STEPS[event["before"]["StatusId"]]}


def test_contracts_are_signed_on_the_day_of_their_event(life):
    signed = [
        event
        for event in life.topic.distinct
        if event["op"] == "u" and event["after"]["StatusId"] == SIGNED and event["after"]["ContractSigningDate"]
    ]
    assert len(signed) > 50
    for event in signed:
        assert event["after"]["ContractSigningDate"] // DAY_MS == event["source"]["ts_ms"] // DAY_MS
    priced = [float(event["after"]["ContractSubtotal"]) for event in signed if event["after"]["ContractSubtotal"]]
    assert 20_000 < min(priced) < max(priced) < 2_000_000


@pytest.mark.parametrize("seed", SEEDS)
def test_signed_means_an_amount_and_a_day(make, seed):
    """Also of a sale that was deleted and is entered again with less known of it."""
    run = make(events=2_000, seed=seed, rates={"delete": 0.05})
    signed = [event["after"] for event in run.topic.distinct if event["after"] and event["after"]["StatusId"] == SIGNED]
    assert len(signed) > 50
    assert [row for row in signed if not (row["ContractSubtotal"] and row["ContractSigningDate"])] == []


@pytest.mark.parametrize("events", [300, 1_000, 4_000])
def test_the_last_day_has_deals(make, events):
    run = make(events=events)
    day = run.outcome.plan.end.date().isoformat()
    dates = [sale["contract_signing_date"] for sale in run.truth["tables"]["sales"].values()]
    assert sum(date is not None and date.startswith(day) for date in dates) >= 1


def test_names_change_and_agents_too(life):
    names: dict[int, set[str]] = {}
    for event in life.topic.distinct:
        row = event["after"] or event["before"]
        names.setdefault(row["AgentId"], set()).add(row["AgentName"])
    assert any(len(known - {None}) > 1 for known in names.values())
    reassigned = [e for e in life.topic.distinct if e["op"] == "u" and e["before"]["AgentId"] != e["after"]["AgentId"]]
    assert reassigned


def test_a_unit_is_sold_once_at_a_time(life):
    owner: dict[int, int] = {}
    for event in life.topic.distinct:
        row = event["after"] or event["before"]
        unit, sale, is_held = row["UnitId"], row["SaleId"], event["after"] and row["StatusId"] in (6, 7, 8)
        if is_held:
            assert owner.setdefault(unit, sale) == sale
        elif owner.get(unit) == sale:
            del owner[unit]


def test_a_busy_day_is_a_whole_life_too(make):
    run = make(events=2_000, start=datetime(2026, 3, 18, 9, 0, tzinfo=UTC))
    statuses = Counter(event["after"]["StatusId"] for event in run.topic.distinct if event["after"])
    assert set(statuses) == set(STATUS_NAMES)
    assert statuses[1] < 0.4 * 2_000


def test_a_life_goes_on_when_nearly_everything_is_deleted(make):
    """When no open sale is left to delete, a new lead comes instead; no sale is deleted that is not there."""
    run = make(events=600, rates={"delete": 0.9, "correction": 0.0})
    assert len(run.topic.distinct) == 600
    there: dict[int, int] = {}
    emptied = 0
    for event in run.topic.distinct:
        if event["op"] == "d":
            del there[event["before"]["SaleId"]]
            emptied += CLOSED.issuperset(there.values())
        else:
            there[event["after"]["SaleId"]] = event["after"]["StatusId"]
    assert emptied > 10


def test_open_sales_are_bounded(monkeypatch):
    monkeypatch.setattr("spark_jobs.generator.book.MOST_OPEN", 50)
    end = datetime(2026, 3, 18, tzinfo=UTC)
    plan = Plan(seed=1, total_events=4_000, start=datetime(2026, 2, 18, tzinfo=UTC), end=end, rates=Rates())
    life = Life.begin(plan)
    while life.next_event():
        pass
    assert len(life.to_state()["book"]["open"]) < 400 < MOST_OPEN
