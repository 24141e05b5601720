"""What ``validate`` knows without an engine: the day that a state is of, what is checked, what it holds and lets go."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from spark_jobs.context import JobContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import NO_INSTANT, Instant, format_instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import validate
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.pipelines.validation import AuditFinding, Validation, count_to_check, plan_audits
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mirror_expectations import TableExpectations
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of
from tests.support.made_tables import MadeTable, at

SPEC = load_lake_spec(Settings().lake_spec)
CLOCK = datetime(2026, 3, 10, 12, tzinfo=UTC)
TABLES = ("sales", "units", "agents")
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Pacific/Auckland")


def context(own: Settings, clock: datetime = CLOCK, **options: Any) -> JobContext[Any]:
    return context_of("validate", own, spec=SPEC, clock=clock, **options)


@given(
    moment=st.integers(0, 10**5).map(lambda minutes: CLOCK + timedelta(minutes=7 * minutes)),
    zone=st.sampled_from(ZONES),
)
def test_a_state_is_of_a_day_of_the_lakes_time_zone(moment: datetime, zone: str):
    spec = replace(SPEC, time_zone=zone)
    run = Validation(
        context=replace(context(Settings()), lake=spec), expected=TableExpectations(spec=spec, columns_of=lambda _: ())
    )
    place = run._place("sales", format_instant(moment))
    assert place.day == moment.astimezone(ZoneInfo(zone)).date().isoformat()


def verdict(table: str, name: str, outcome: Outcome) -> Verdict:
    each = Expectation(table=table, name=name, kind=Kind.NOT_NULL, columns=("id",), action=Action.STOP)
    return Verdict(expectation=each, checked=5, broken=2, outcome=outcome)


def found(table: str, *outcomes: Outcome) -> AuditFinding:
    return AuditFinding(
        instant=Instant("7"), verdicts=tuple(verdict(table, f"rule_{n}", out) for n, out in enumerate(outcomes))
    )


def test_of_several_tables_those_are_held_that_are_wrong_and_those_let_go_that_are_right(tmp_path: Path):
    """``sales`` was held by this job and is right, ``units`` too and is wrong, ``agents`` is held by its gate."""
    own = Settings(base_path=str(tmp_path))
    holds = Holds(own)
    for table, job in zip(TABLES, ("validate", "validate", "split"), strict=True):
        holds.hold(
            table,
            job,
            [verdict(table, "rule_0", Outcome.STOPPED)],
            CLOCK,
            instant=Instant("1") if job != "split" else NO_INSTANT,
        )
    what = {
        "sales": found("sales", Outcome.HELD, Outcome.WARNED, Outcome.ACCEPTED),
        "units": found("units", Outcome.HELD, Outcome.STOPPED),
        "agents": found("agents", Outcome.HELD),
    }
    later = context(own, CLOCK + timedelta(hours=1))
    validate._hold(later, what)
    validate._let_go(later, what)
    left = {hold.table: (hold.job, hold.expectations, hold.instant) for hold in holds.held()}
    assert left == {"units": ("validate", ("rule_1",), "7"), "agents": ("split", ("rule_0",), "")}
    assert {hold.since for hold in holds.held()} == {format_clock(CLOCK)}


def test_a_table_that_was_not_checked_stays_held(tmp_path: Path):
    own = Settings(base_path=str(tmp_path))
    holds = Holds(own)
    holds.hold("units", "validate", [verdict("units", "rule_0", Outcome.STOPPED)], CLOCK, instant=Instant("1"))
    validate._let_go(context(own), {"sales": found("sales", Outcome.HELD)})
    assert [hold.table for hold in holds.held()] == ["units"]


def made(folder: Path, table: str, *numbers: int, **metadata: str) -> None:
    layout = next(each for each in all_layouts(SPEC) if each.name == table)
    table_made = MadeTable(layout, folder / table)
    table_made.commits(*numbers, action="commit", extraMetadata=metadata, operationType="UPSERT")


@pytest.mark.parametrize("is_increment", [False, True])
def test_increments_are_checked_of_tables_that_are_due_and_have_commits_since(tmp_path: Path, is_increment: bool):
    """``sales`` was checked up to its newest commit, ``units`` has one more, ``agents`` was checked just now."""
    minutes = SPEC.quality.every_minutes
    for table in TABLES:
        made(tmp_path, table, 1, 2)
    ago = format_clock(CLOCK - timedelta(minutes=minutes))
    just_now = format_clock(CLOCK - timedelta(minutes=minutes) + timedelta(seconds=1))
    known = {
        "sales": {"instant": at(2), "at": ago},
        "units": {"instant": at(1), "at": ago},
        "agents": {"instant": at(1), "at": just_now},
    }
    made(tmp_path, SPEC.quality.table, 3, **{"lakehouse.asked": json.dumps(known)})
    run = context(Settings(base_path=str(tmp_path)))
    audits = plan_audits(run, [*TABLES, "projects"], is_whole=not is_increment)
    new = {audit.table: [write.time for write in audit.timeline.changes_in(audit.new.window)] for audit in audits}
    assert new == ({"units": [at(2)]} if is_increment else {"sales": [], "units": [at(2)], "agents": [at(2)]})
    assert {audit.instant for audit in audits} == {at(2)}


@dataclass(frozen=True)
class Past:
    """Writes of a table (True: by a service), up to which of them it was checked (0: never), and how long ago."""

    writes: tuple[bool, ...]
    checked: int
    minutes: int

    @property
    def instant(self) -> Instant | None:
        """As jobs report it: of the newest write that changed rows."""
        return next((at(number) for number in range(len(self.writes), 0, -1) if not self.writes[number - 1]), None)

    @property
    def is_to_check(self) -> bool:
        """There are rows since the last check, and that is long enough ago."""
        is_due = not self.checked or self.minutes >= SPEC.quality.every_minutes
        return is_due and not all(self.writes[self.checked :])


PASTS = st.lists(st.booleans(), max_size=4).flatmap(
    lambda writes: st.builds(
        Past, writes=st.just(tuple(writes)), checked=st.integers(0, len(writes)), minutes=st.sampled_from([0, 29, 30])
    )
)


@hypothesis_settings(max_examples=50)
@given(pasts=st.tuples(PASTS, PASTS, PASTS))
def test_a_job_knows_how_many_of_its_tables_would_be_checked_after_it(pasts: tuple[Past, ...]):
    """So no task is started to find that it has nothing to do; quarantine, which is never checked, never counts."""
    with tempfile.TemporaryDirectory() as name:
        folder, outcomes = Path(name), [TableOutcome(table="quarantine", instant=at(1), rows=1, is_committed=True)]
        known = {}
        for table, past in zip(TABLES, pasts, strict=True):
            outcomes.append(TableOutcome(table=table, instant=past.instant, rows=0, is_committed=False))
            layout = next(each for each in all_layouts(SPEC) if each.name == table)
            made_table = MadeTable(layout, folder / table)
            for number, is_service in enumerate(past.writes, start=1):
                made_table.commits(number, action="commit", operationType="COMPACT" if is_service else "UPSERT")
            if past.checked:
                ago = format_clock(CLOCK - timedelta(minutes=past.minutes))
                known[table] = {"instant": at(past.checked), "at": ago}
        made(folder, SPEC.quality.table, 9, **{"lakehouse.asked": json.dumps(known)})
        run = context(Settings(base_path=str(folder)))
        assert count_to_check(run, outcomes) == sum(past.is_to_check for past in pasts)
