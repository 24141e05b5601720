"""What is the matter with a table, in all combinations: the worst gives the colour, and comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.overview.models import TableKind, TableOverview
from spark_jobs.overview.states import Level, state_of
from spark_jobs.quality.freshness import TableFreshness
from spark_jobs.quality.holds import Hold
from spark_jobs.storage.consumer_places import ConsumerPlace, PlaceState
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline_steps import REQUESTED, Step

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LAYOUT = TableLayout(name="units", record_key="id", form=StorageForm.KEYED)
HOLD = Hold(table="units", job="split", since="2026", tried_at="2026", expectations=(), reasons=())
LOST = ConsumerPlace(consumer="a", table="units", checkpoint="1", behind=1, state=PlaceState.LOST)
STEP = Step(time=NO_INSTANT, action="commit", state=REQUESTED, modified_ns=0)
LEVELS = {"problem": "bad", "held": "bad", "behind": "bad", "silent": "warn", "lost": "warn", "pending": "note"}
FIRST_WORDS = {
    "problem": "cannot be used: broken",
    "held": "held back since",
    "behind": "behind: something waits",
    "silent": "silent: no event is newer than",
    "lost": "a consumer's place",
    "pending": "1 pending",
}


def table(matters: set[str]) -> TableOverview:
    hour = timedelta(hours=1)
    freshness = TableFreshness(
        table="units",
        promise=FreshnessPromise(behind_minutes=60, event_minutes=60),
        newest_event=NOW - hour * (2 if "silent" in matters else 1),
        waiting_since=NOW - hour * (2 if "behind" in matters else 1),
        is_made=True,
    )
    return TableOverview(
        name="units",
        kind=TableKind.TABLE,
        layout=LAYOUT,
        last=Instant("1"),
        commits=1,
        problem="broken" if "problem" in matters else "",
        held=HOLD if "held" in matters else None,
        freshness=freshness,
        consumers=(LOST,) if "lost" in matters else (),
        pending=(STEP,) if "pending" in matters else (),
    )


@given(matters=st.sets(st.sampled_from(sorted(LEVELS))))
def test_all_that_is_the_matter_is_named_and_the_worst_is_its_level(matters: set[str]):
    level, words = state_of(table(matters), NOW)
    worst = next((each for each in ("bad", "warn", "note") if each in {LEVELS[name] for name in matters}), "ok")
    assert level.value == worst
    assert {name for name, begin in FIRST_WORDS.items() if begin in words} == matters
    assert matters or words == "fresh"
    places = [words.index(FIRST_WORDS[name]) for name in sorted(matters, key=[*LEVELS].index)]
    assert places == sorted(places)


def test_a_table_without_a_commit_was_never_made():
    assert state_of(TableOverview(name="units", kind=TableKind.TABLE, layout=LAYOUT), NOW) == (
        Level.NONE,
        "never made",
    )
