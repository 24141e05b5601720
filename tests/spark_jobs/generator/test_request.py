"""What makes no sense is refused, with one sentence that names the option and says what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.generator.plan import Plan
from spark_jobs.generator.request import Request

CLOCK = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"events": 0}, "--events 0 must be at least 1"),
        ({"total_events": 0}, "--total-events 0 must be at least 1"),
        ({"files": -1}, "--files -1 must be at least 1"),
        ({"files": 2, "events_per_file": 5}, "give one of them"),
        ({"events": 10, "total_events": 5}, "give a larger total"),
        ({"rates": {"late": 1.5}}, "--late-rate 1.5 is no share; give a number from 0 to 1"),
        ({"rates": {"added_column_at": -1.0}}, "--added-column-at -1.0 is no share"),
        ({"rates": {"broken": float("nan")}}, "--broken-rate nan is no share"),
        ({"rates": {"delete": 0.5, "correction": 0.5}}, "keep their sum under 0.9"),
        ({"start": CLOCK}, "give an earlier one"),
        ({"start": datetime(1900, 1, 1, tzinfo=UTC)}, "stay between 1990 and 2200"),
        ({"topic": "../elsewhere"}, "is no topic name"),
        ({"topic": "_hidden"}, "is no topic name"),
    ],
)
def test_nonsense_is_refused(options, sentence):
    with pytest.raises(ContractError) as refusal:
        Request(clock=CLOCK, **options).new_plan()
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_defaults_are_ninety_days_up_to_the_clock():
    plan = Request(clock=CLOCK).new_plan()
    assert (plan.end, plan.end - plan.start, plan.total_events, plan.seed) == (CLOCK, timedelta(days=90), 10_000, 1)
    assert Plan.from_state(plan.to_state()) == plan


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seed": 2}, "--seed 2 differs from this run's 1"),
        ({"rates": {"late": 0.5}}, "--late-rate 0.5 differs from this run's 0.02"),
        ({"rates": {"added_column_at": 0.9}}, "--added-column-at 0.9 differs"),
        ({"is_wrapped": True}, "--wrapped True differs"),
        ({"start": CLOCK - timedelta(days=3)}, "--start"),
    ],
)
def test_another_life_cannot_be_resumed(options, sentence):
    plan = Request(clock=CLOCK).new_plan()
    with pytest.raises(ContractError, match="start again without --resume") as refusal:
        Request(clock=CLOCK, **options).check_same_run(plan)
    assert sentence in str(refusal.value)


def test_an_unfinished_run_keeps_its_end_and_a_finished_one_needs_a_later_end():
    plan = Request(clock=CLOCK, events=100).new_plan()
    later = CLOCK + timedelta(days=1)
    with pytest.raises(ContractError, match="is not finished"):
        Request(clock=CLOCK, end=later).same_plan(plan)
    with pytest.raises(ContractError, match="is not finished"):
        Request(clock=CLOCK, total_events=200).same_plan(plan)
    with pytest.raises(ContractError, match="go on with a later --end"):
        Request(clock=CLOCK).longer_plan(plan)
    with pytest.raises(ContractError, match="give more than 100"):
        Request(clock=later, total_events=100).longer_plan(plan)
    with pytest.raises(ContractError, match="only 30 events are left"):
        Request(clock=CLOCK, events=31).events_of_call(left=30)
    assert Request(clock=later).same_plan(plan) == plan
    longer = Request(clock=later, events=50).longer_plan(plan)
    assert (longer.total_events, longer.start, longer.end) == (150, plan.start, later)
