"""What is held, let pass, accepted and let go, of two tables with two expectations each, against a plain account of it.

No acceptance for one table counts for another one, and none of one expectation for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Action, Expectation, Figure, Kind
from spark_jobs.quality.holds import Acceptance, Holds, accepted_of, let_pass
from spark_jobs.quality.verdicts import Outcome, Verdict

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)
TABLES, NAMES = ("sales", "sales_by_day"), ("one", "other")


def expectation(name: str, table: str = "sales") -> Expectation:
    return Expectation(table=table, name=name, kind=Kind.NOT_NULL, columns=("id",), action=Action.STOP)


def verdict(name: str, outcome: Outcome = Outcome.STOPPED, *, broken: int = 1, table: str = "sales") -> Verdict:
    return Verdict(expectation=expectation(name, table), checked=9, broken=broken, outcome=outcome)


def acceptance(table: str, *names: str, most: tuple[int, ...] = ()) -> Acceptance:
    return Acceptance(table=table, expectations=names, because="so it is", by="Ada", at="now", most=most)


@dataclass
class Account:
    """What ought to be there: of each table what it is held for and since when, and what was accepted."""

    holds: Holds
    settings: Settings
    held: dict[str, tuple[set[str], datetime, bool]] = field(default_factory=dict)
    accepted: dict[str, set[str]] = field(default_factory=dict)
    clock: datetime = CLOCK

    def batch(self, found: dict[str, set[str]]) -> None:
        """A run's batch: by table the expectations that rows of it broke."""
        self.clock += timedelta(minutes=1)
        verdicts = {
            table: [verdict(n, Outcome.STOPPED if n in broken else Outcome.HELD, table=table) for n in NAMES]
            for table, broken in found.items()
        }
        stopped = {table: left for table, broken in found.items() if (left := broken - self.accepted.get(table, set()))}
        if stopped:
            with pytest.raises(GateStoppedError) as caught:
                let_pass(verdicts, job="split", clock=self.clock, settings=self.settings)
            assert {t: {line.split()[0] for line in lines} for t, lines in caught.value.stopped.items()} == stopped
            for table, broken in stopped.items():
                since = self.held[table][1] if table in self.held else self.clock
                self.held[table] = (broken, since, False)
            return
        passed = let_pass(verdicts, job="split", clock=self.clock, settings=self.settings)
        for table, broken in found.items():
            out = {each.expectation.name: each.outcome for each in passed[table]}
            assert out == {n: Outcome.ACCEPTED if n in broken else Outcome.HELD for n in NAMES}
        self.release(set(found))

    def release(self, tables: set[str]) -> None:
        self.holds.release(tables)
        for table in tables:
            if table in self.held and self.held[table][2]:
                continue
            self.held.pop(table, None)
            self.accepted.pop(table, None)

    def accept(self, table: str, names: frozenset[str]) -> None:
        self.holds.accept(acceptance(table, *sorted(names)))
        self.accepted[table] = set(names)

    def found_wrong(self, table: str, names: frozenset[str]) -> None:
        """After a commit, by another job."""
        self.clock += timedelta(minutes=1)
        verdicts = [verdict(name, table=table) for name in sorted(names)]
        self.holds.hold(table, "validate", verdicts, self.clock, instant=Instant("7"))
        since = self.held[table][1] if table in self.held else self.clock
        self.held[table] = (set(names), since, True)

    def let_go(self, table: str) -> None:
        self.holds.let_go(table)
        self.held.pop(table, None)

    def check(self) -> None:
        facts = {h.table: (set(h.expectations), h.since, bool(h.instant)) for h in self.holds.held()}
        assert facts == {t: (names, format_clock(at), later) for t, (names, at, later) in self.held.items()}
        known = {table: self.holds.accepted(table) for table in TABLES}
        assert {t: set(each.expectations) for t, each in known.items() if each} == self.accepted


BROKEN = st.sets(st.sampled_from(NAMES))
TABLE, SOME = st.sampled_from(TABLES), st.frozensets(st.sampled_from(NAMES), min_size=1)
STEPS = st.one_of(
    st.tuples(st.just("batch"), st.dictionaries(TABLE, BROKEN, min_size=1)),
    st.tuples(st.just("accept"), TABLE, SOME),
    st.tuples(st.just("found_wrong"), TABLE, SOME),
    st.tuples(st.just("let_go"), TABLE),
    st.tuples(st.just("release"), st.sets(TABLE)),
)


@settings(max_examples=120)
@given(steps=st.lists(STEPS, max_size=12))
def test_what_is_held_and_accepted_is_what_was_found_and_decided(tmp_path_factory, steps):
    own = Settings(base_path=str(tmp_path_factory.mktemp("lake")))
    account = Account(holds=Holds(own), settings=own)
    for name, *words in steps:
        getattr(account, name)(*words)
        account.check()


@pytest.mark.parametrize(("broken", "is_covered"), [(0, True), (1, True), (3, True), (4, False), (-1, False)])
def test_known_rows_are_accepted_up_to_their_number(broken: int, is_covered: bool):
    known = acceptance("sales", "one", "other", most=(3, 7))
    assert known.covers(verdict("one", broken=broken)) is is_covered
    (found,) = accepted_of([verdict("one", broken=broken)], known)
    assert found.outcome is (Outcome.ACCEPTED if is_covered else Outcome.STOPPED)
    assert known.covers(verdict("other", broken=broken + 4)) is (0 <= broken + 4 <= 7)


def test_what_was_accepted_of_one_expectation_says_nothing_of_another():
    for most in ((), (5,)):
        found = accepted_of([verdict("one"), verdict("other")], acceptance("sales", "one", most=most))
        assert [each.outcome for each in found] == [Outcome.ACCEPTED, Outcome.STOPPED]
        assert [each.note for each in found] == ["Ada, now: so it is", ""]


@pytest.mark.parametrize("outcome", [Outcome.HELD, Outcome.WARNED, Outcome.QUARANTINED])
def test_only_what_stops_is_accepted(outcome: Outcome):
    (found,) = accepted_of([verdict("one", outcome)], acceptance("sales", "one"))
    assert found.outcome is outcome


def test_a_figure_of_a_day_is_accepted_for_that_day_alone(tmp_path):
    """What is held for the history of a table has no number of rows that could be accepted."""
    holds = Holds(Settings(base_path=str(tmp_path)))
    usual = Expectation(table="sales", name="as_usual", kind=Kind.USUAL, usual=Figure.ROWS, action=Action.STOP)
    of_day = Verdict(expectation=usual, checked=9, broken=0, outcome=Outcome.STOPPED, figure="9 on a day")
    holds.hold("sales", "validate", [verdict("one", broken=4), of_day], CLOCK, instant=Instant("7"))
    hold = holds.hold_of("sales")
    assert hold is not None
    fields: dict[str, Any] = {"table": "sales", "expectations": hold.expectations, "most": hold.broken}
    holds.accept(Acceptance(because="so", by="Ada", at="now", **fields))
    known = holds.known("sales")
    assert known is not None
    assert [each.outcome for each in accepted_of([verdict("one", broken=4), of_day], known)] == [
        Outcome.ACCEPTED,
        Outcome.STOPPED,
    ]
    holds.forget_known("sales_by_day")
    assert holds.known("sales") == known
    holds.forget_known("sales")
    assert holds.known("sales") is None


def test_a_hold_that_an_earlier_release_wrote_is_read(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    holds = Holds(settings)
    holds.hold("sales", "split", [verdict("one")], CLOCK)
    (file,) = tmp_path.rglob("sales.json")
    text = file.read_text(encoding="utf-8")
    assert '"reasons"' in text
    now = holds.hold_of("sales")
    file.write_text(text.replace('"reasons"', '"told"'), encoding="utf-8")
    assert holds.hold_of("sales") == now
