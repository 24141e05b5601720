"""Results as rows: what a commit keeps of its gate comes back whole, and different results have different keys."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.quality.holds import Hold
from spark_jobs.quality.results import (
    BALANCED,
    WRITTEN,
    ResultPlace,
    Stage,
    result_of,
    results_of_commit,
    results_of_hold,
)
from spark_jobs.quality.verdicts import Outcome, Verdict, describe_verdicts, to_metadata

NAMES = ("one", "other", "third")
PLACE = ResultPlace(table="sales", instant=Instant("7"), day="2026-01-02")


def expectation(name: str, action: Action = Action.STOP) -> Expectation:
    return Expectation(table="sales", name=name, kind=Kind.NOT_NULL, columns=(f"column_{name}",), action=action)


EXPECTATIONS = {name: expectation(name, action) for name, action in zip(NAMES, Action, strict=True)}
FIGURES = st.sampled_from(["", "0", "0.5", "-12345678901234.567891"])


@st.composite
def verdicts(draw: st.DrawFn) -> list[Verdict]:
    found = []
    for name in draw(st.permutations(NAMES))[: draw(st.integers(0, 3))]:
        checked = draw(st.integers(0, 10**6))
        broken, outcome = draw(st.integers(0, checked)), draw(st.sampled_from(Outcome))
        figure, note = draw(FIGURES), draw(st.sampled_from(["", "Ada, now: “so”"]))
        each = EXPECTATIONS[name]
        found.append(
            Verdict(expectation=each, checked=checked, broken=broken, outcome=outcome, figure=figure, note=note)
        )
    return found


@given(found=verdicts(), written=st.integers(0, 10**6), others=st.none() | st.tuples(*[st.integers(0, 5)] * 2))
def test_what_a_commit_says_comes_back_as_rows(found, written, others):
    counts = {"written": written}
    if others:
        counts = {"read": written + sum(others), "written": written, "quarantined": others[0], "duplicates": others[1]}
    rows = list(results_of_commit(to_metadata(counts, found), PLACE, EXPECTATIONS))
    first, *of_rules = rows
    assert (first.expectation, first.checked, first.figure, first.outcome) == (
        WRITTEN,
        written,
        Decimal(written),
        Outcome.HELD,
    )
    if others:
        balance, *of_rules = of_rules
        assert (balance.expectation, balance.checked, balance.outcome) == (BALANCED, counts["read"], Outcome.HELD)
    assert of_rules == [
        result_of(each, PLACE, Stage.GATE, figure=Decimal(each.figure) if each.figure else None) for each in found
    ]
    assert len({row.key for row in rows}) == len(rows)


@pytest.mark.parametrize("off", [-1, 1])
def test_a_commit_that_does_not_balance_is_no_result_that_held(off: int):
    counts = {"read": 10 + off, "written": 7, "quarantined": 2, "duplicates": 1}
    rows = {row.expectation: row for row in results_of_commit(to_metadata(counts, []), PLACE, {})}
    assert rows[BALANCED].outcome is Outcome.STOPPED
    assert rows[BALANCED].observed == f"{10 + off} = 7 + 2 + 1"


def test_of_what_is_declared_no_more_there_is_its_name_and_what_was_seen():
    verdict = Verdict(expectation=EXPECTATIONS["other"], checked=9, broken=4, outcome=Outcome.WARNED)
    (_, row) = results_of_commit(to_metadata({"written": 9}, [verdict]), PLACE, {"one": EXPECTATIONS["one"]})
    assert (row.expectation, row.expected, row.action, row.checked, row.broken) == ("other", "", "", 9, 4)
    assert row.observed == "4 of 9 rows broke it"


def test_a_batch_that_was_kept_out_has_a_result_for_each_expectation_that_it_broke():
    hold = Hold(
        table="sales",
        job="split",
        since="1",
        tried_at="2",
        expectations=NAMES,
        reasons=tuple(f"rows of {n}" for n in NAMES),
    )
    place = ResultPlace(table="sales", instant=NO_INSTANT, day="2026-01-02", about="2")
    rows = list(results_of_hold(hold, place, EXPECTATIONS))
    assert [(row.expectation, row.observed, row.outcome) for row in rows] == [
        (name, f"rows of {name}", Outcome.STOPPED) for name in NAMES
    ]
    assert {row.action for row in rows} == {"stop"}
    assert len({row.key for row in rows}) == len(NAMES)


def test_the_key_tells_apart_what_is_about_other_things_and_nothing_else():
    verdict = Verdict(expectation=EXPECTATIONS["one"], checked=9, broken=4, outcome=Outcome.WARNED)
    other = Verdict(expectation=EXPECTATIONS["other"], checked=9, broken=4, outcome=Outcome.WARNED)
    places = [
        PLACE,
        ResultPlace(table="units", instant=Instant("7"), day="2026-01-02"),
        ResultPlace(table="sales", instant=Instant("8"), day="2026-01-02"),
        ResultPlace(table="sales", instant=NO_INSTANT, day="2026-01-02", about="2026-01-02"),
        ResultPlace(table="sales", instant=NO_INSTANT, day="2026-01-02", about="2026-01-03"),
    ]
    keys = {result_of(v, place, stage).key for v in (verdict, other) for place in places for stage in Stage}
    assert len(keys) == 2 * len(places) * len(Stage)
    again = Verdict(expectation=EXPECTATIONS["one"], checked=10, broken=0, outcome=Outcome.HELD)
    later = ResultPlace(table="sales", instant=Instant("7"), day="2026-01-03")
    assert result_of(again, later, Stage.GATE).key == result_of(verdict, PLACE, Stage.GATE).key


def test_what_did_not_hold_is_reported_line_by_line():
    outcomes = (Outcome.HELD, Outcome.WARNED, Outcome.QUARANTINED)
    found = [
        Verdict(expectation=EXPECTATIONS[name], checked=9, broken=4, outcome=outcome)
        for name, outcome in zip(NAMES, outcomes, strict=True)
    ]
    assert describe_verdicts("sales", found) == (
        "sales: warned: other (column_other not null): 4 of 9 rows broke it",
        "sales: quarantined: third (column_third not null): 4 of 9 rows broke it",
    )
