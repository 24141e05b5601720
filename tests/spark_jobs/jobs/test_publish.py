"""Letting a held batch pass: a person's word counts for the table it names, and for what that table is held for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict
from tests.support.contexts import context_of, run_in

CLOCK = datetime(2026, 1, 2, tzinfo=UTC)


def verdict(table: str, name: str, broken: int) -> Verdict:
    each = Expectation(table=table, name=name, kind=Kind.NOT_NULL, columns=("id",), action=Action.STOP)
    return Verdict(expectation=each, checked=9, broken=broken, outcome=Outcome.STOPPED)


def run(own: Settings, action: str, **options: Any) -> JobResult:
    return run_in(context_of("publish", own, clock=CLOCK, action=action, **options))


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    """``sales`` and ``units`` are held by their gates, ``agents`` for rows that are there."""
    own = Settings(base_path=str(tmp_path))
    for table, instant in (("sales", NO_INSTANT), ("units", NO_INSTANT), ("agents", Instant("7"))):
        found = [verdict(table, "one", 2), verdict(table, "other", 3)]
        Holds(own).hold(table, "validate" if instant else "split", found, CLOCK, instant=instant)
    return own


def held(own: Settings) -> list[str]:
    return [hold.table for hold in Holds(own).held()]


def test_a_batch_that_was_kept_out_stays_held_until_a_run_has_written_it(own: Settings):
    done = run(own, "accept", table="sales", because="so", by="Ada")
    assert done.messages == ("the next run of split writes sales; Ada accepted one, other",)
    assert held(own) == ["agents", "sales", "units"]
    word = Holds(own).accepted("sales")
    assert word is not None
    assert (word.expectations, word.because, word.by, word.most) == (("one", "other"), "so", "Ada", ())
    assert [Holds(own).accepted(table) for table in ("units", "agents")] == [None, None]
    assert Holds(own).known("sales") is None


def test_rows_that_are_there_are_accepted_by_their_number_and_published_at_once(own: Settings):
    done = run(own, "accept", table="agents", because="so", by="Ada")
    assert done.counters == {"held": 2}
    assert held(own) == ["sales", "units"]
    word = Holds(own).known("agents")
    assert word is not None
    assert dict(zip(word.expectations, word.most, strict=True)) == {"one": 2, "other": 3}
    assert Holds(own).accepted("agents") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "projects", "because": "so"}, "projects is not held"),
        ({"table": "nothing", "because": "so"}, "has no table 'nothing'"),
        ({"because": "so"}, "has no table"),
        ({"table": "sales"}, "accept needs --because"),
    ],
)
def test_an_incomplete_acceptance_changes_nothing(own: Settings, options: dict[str, str], message: str):
    with pytest.raises(ContractError, match=message):
        run(own, "accept", by="Ada", **options)
    assert held(own) == ["agents", "sales", "units"]
    assert [Holds(own).accepted(table) for table in ("sales", "units", "agents")] == [None] * 3


def test_the_list_shows_every_table_that_is_held_and_why(own: Settings, capsys: pytest.CaptureFixture[str]):
    assert run(own, "list").counters == {"held": 3}
    shown = capsys.readouterr().out
    for table in ("sales", "units", "agents"):
        (line,) = (line for line in shown.splitlines() if table in line.split())
        assert "one (id not null): 2 of 9 rows broke it; other (id not null): 3 of 9 rows broke it" in line
