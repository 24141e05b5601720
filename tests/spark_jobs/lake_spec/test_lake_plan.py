"""A plan file says what was planned, and is refused when the lake or its files are others by now."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, StalePlanError
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.lake_spec.lake_plan import HEADER, Action, DefinitionChange, LakePlan

NAMES = ("a", "b", "c")
TEXT = st.sampled_from(["", "sql", "a: [b", "'c' # \n d", "\u0436 1.0"])
INSTANTS = st.integers(1, 3).map(lambda number: Instant(f"{number:017d}"))


@st.composite
def changes(draw: st.DrawFn) -> DefinitionChange:
    return DefinitionChange(
        table=draw(st.sampled_from(NAMES)),
        changed=tuple(draw(st.lists(TEXT, max_size=3))),
        action=draw(st.sampled_from(Action)),
        instant=draw(INSTANTS),
        remedy=draw(TEXT),
        rows=draw(st.none() | st.integers(0, 10**12)),
        partitions=draw(st.integers(0, 9)),
        bytes=draw(st.integers(0, 10**15)),
        seconds=draw(st.none() | st.floats(0, 10**6)),
        downstream=tuple(draw(st.lists(TEXT, max_size=2))),
    )


PLANS = st.builds(
    LakePlan,
    id=st.just("plan-20260310T120000"),
    lake=st.just("sales"),
    made_at=st.just("2026-03-10T12:00:00Z"),
    digest=st.sampled_from(["0123", "4567"]),
    changes=st.lists(changes(), max_size=3, unique_by=lambda change: change.table).map(tuple),
)


@settings(max_examples=20)
@given(PLANS)
def test_the_file_holds_the_plan(plan: LakePlan) -> None:
    assert LakePlan.from_yaml(plan.to_yaml().encode(), "plan.yaml") == plan
    assert all(len(change.cells()) == len(HEADER) for change in plan.changes)


@st.composite
def moved(draw: st.DrawFn) -> tuple[LakePlan, LakePlan]:
    """A plan, and the one that would be made after something happened to some of its marts, or to the files."""
    plan = draw(PLANS)
    now = []
    for change in plan.changes:
        match draw(st.sampled_from(["same", "same", "gone", "written", "edited"])):
            case "same":
                now.append(change)
            case "written":
                now.append(replace(change, instant=draw(INSTANTS)))
            case "edited":
                now.append(replace(change, changed=(*change.changed, "grain")))
    return plan, replace(plan, digest=draw(st.sampled_from(["0123", plan.digest])), changes=tuple(now))


@settings(max_examples=80)
@given(plans=moved(), kept=st.dictionaries(st.sampled_from(NAMES), INSTANTS))
def test_it_is_carried_out_over_what_it_was_made_from_alone(
    plans: tuple[LakePlan, LakePlan], kept: dict[str, Instant]
) -> None:
    """Every mart and table is as it was planned, or was done by an earlier try, which kept its state first."""
    plan, now = plans

    def is_right(name: str, instant: Instant, parts: tuple[str, ...], action: str) -> bool:
        there = [each for each in now.changes if each.table == name and each.action in ("recompute", "rebuild")]
        if there:
            return there[0].instant == instant and there[0].changed == parts
        if name not in kept:
            return False
        return kept[name] >= instant if action == "rebuild" else kept[name] == instant

    wanted = [
        (each.table, each.instant, each.changed, each.action)
        for each in plan.changes
        if each.action in ("recompute", "rebuild")
    ]
    if plan.digest == now.digest and all(is_right(*each) for each in wanted):
        plan.check(now, kept)
    else:
        with pytest.raises(StalePlanError, match=r"is stale, nothing was changed: .*; make a new one with: plan"):
            plan.check(now, kept)


@settings(max_examples=20)
@given(PLANS)
def test_a_plan_is_not_stale_while_nothing_happens(plan: LakePlan) -> None:
    plan.check(replace(plan, id="plan-20270101T000000", made_at="later"), {})


READS = st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"), max_size=3))


@settings(max_examples=100)
@given(names=st.sets(st.sampled_from("abcdef"), max_size=6), reads=READS, chosen=st.sets(st.sampled_from("abcdef")))
def test_a_choice_of_marts_has_the_changes_that_their_rows_are_computed_from(
    names: set[str], reads: dict[str, set[str]], chosen: set[str]
) -> None:
    """A change is in it when a chain of changed tables leads from it to a chosen mart."""
    changed = [
        DefinitionChange(table=name, changed=("sql",), action=Action.RECOMPUTE, instant=BEGINNING)
        for name in sorted(names)
    ]
    plan = LakePlan(id="plan-20260310T120000", lake="sales", made_at="", digest="0123", changes=tuple(changed))

    def leads_to_choice(name: str, passed: frozenset[str]) -> bool:
        readers = {reader for reader, tables in reads.items() if name in tables}
        return name in chosen or any(
            reader in chosen or (reader in names and leads_to_choice(reader, passed | {name}))
            for reader in readers - passed
        )

    wanted = [change for change in changed if leads_to_choice(change.table, frozenset())]
    assert list(plan.of_chosen(chosen, reads).changes) == wanted
    assert replace(plan.of_chosen(chosen, reads), changes=plan.changes) == plan


NO_PLANS = ["", "[", "a: b", "- 1", "\x00", "{changes: 1}"]
NO_PLANS += ["{changes: [], id: ../../x, lake: l, made_at: m, digest: d}"]
NO_PLANS += ["{changes: [{table: a}], id: plan-20260310T120000, lake: l, made_at: m, digest: d}"]


@pytest.mark.parametrize("text", NO_PLANS)
def test_another_file_is_none(text: str) -> None:
    with pytest.raises(ContractError, match=r"new plan file|make one with: plan"):
        LakePlan.from_yaml(text, "plan.yaml")
