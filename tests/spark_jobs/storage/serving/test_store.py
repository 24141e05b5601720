"""Whole states of a mart, in each of the three databases.

The mart's n-th commit is n minutes after the first one; its rows are 40 + n agents whose totals all begin with n, so no
row of one state is a row of another.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import types as T

from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.serving.states import MartState
from tests.support.serving import (
    MART,
    SCHEMA,
    START,
    Place,
    assert_serves,
    file_of,
    instant,
    keyed,
    recorded,
    rows,
    seen,
    serve,
    state,
)


def test_a_state_takes_the_place_of_the_one_before(place: Place):
    store = place.store()
    assert store.served(MART) is None
    assert serve(store, 1) == len(rows(1))
    assert_serves(place, 1)
    assert serve(store, 2) == len(rows(2))
    assert_serves(place, 2)


def test_the_state_that_is_served_is_not_written_again(place: Place):
    store = place.store()
    serve(store, 1)
    assert serve(store, 1, [(1, "other", 1)]) is None
    assert_serves(place, 1)


def test_the_record_says_when_the_rows_are_true(place: Place):
    serve(place.store(), 1)
    served = place.store().served(MART)
    assert served is not None
    at = START + timedelta(minutes=1)
    assert (served.instant, served.true_at, served.clock) == ("20260102030505678", at, at)
    assert (served.row_count, served.served_at) == (41, at + timedelta(seconds=1))
    ((found,),) = place.query(f"SELECT DISTINCT true_at FROM {MART} JOIN served_marts ON mart = '{MART}'")
    found = datetime.fromisoformat(found) if isinstance(found, str) else found
    assert found.replace(tzinfo=found.tzinfo or UTC) == at


def test_a_state_may_have_been_brought_to_no_clock(place: Place):
    store = place.store()
    store.replace(replace(state(1), clock=None), SCHEMA, keyed(rows(1)), is_on_timeline=lambda _: False)
    served = store.served(MART)
    assert served is not None
    assert (served.clock, served.true_at) == (None, START + timedelta(minutes=1))
    assert_serves(place, 1)


def test_an_empty_state_is_a_state(place: Place):
    store = place.store()
    assert serve(store, 1, []) == 0
    assert (seen(place), recorded(place)) == ([], (instant(1), 0))
    serve(store, 2)
    serve(store, 3, [])
    assert (seen(place), recorded(place)) == ([], (instant(3), 0))


def test_more_rows_than_are_sent_at_a_time(place: Place):
    many = [(number, None, None) for number in range(2_501)]
    assert serve(place.store(), 1, iter(many)) == 2_501
    found = place.query(f"SELECT COUNT(DISTINCT agent_id), MIN(agent_id), MAX(agent_id) FROM {MART}")
    assert found == [(2501, 0, 2500)]


def test_a_late_retry_leaves_newer_rows(place: Place):
    """Commits 1, 2 and 3 are on the timeline and 3 is served, when a run that began at 2 goes on."""
    store = place.store()
    serve(store, 3)
    assert serve(store, 2, timeline=(1, 2, 3)) is None
    assert_serves(place, 3)


def test_a_restored_mart_is_served_as_it_is_now(place: Place):
    """The mart was restored to commit 2: 3, which is served, is not on its timeline any more."""
    store = place.store()
    serve(store, 3)
    assert serve(store, 2, timeline=(1, 2)) == len(rows(2))
    assert_serves(place, 2)


def test_a_table_that_was_dropped_comes_back(place: Place):
    store = place.store()
    serve(store, 1)
    place.query(f"DROP TABLE {MART}")
    assert store.served(MART) is None
    serve(store, 1)
    assert_serves(place, 1)


def test_the_clock_moves_on_without_new_rows(place: Place):
    store = place.store()
    serve(store, 1)
    later = START + timedelta(hours=5)
    store.keep(MartState(mart=MART, instant=instant(1), clock=later, served_at=later))
    served = store.served(MART)
    assert served is not None
    assert (served.instant, served.clock, served.served_at, served.row_count) == (instant(1), later, later, 41)
    store.keep(state(2))
    assert store.served(MART) == served, "the clock of a state that is not served says nothing"


def test_marts_know_nothing_of_each_other(place: Place):
    store = place.store()
    serve(store, 1)
    serve(store, 2, mart="other")
    assert_serves(place, 1)
    assert place.query("SELECT COUNT(*) FROM other") == [(42,)]


def test_a_failure_while_the_lake_is_read_changes_nothing(place: Place):
    store = place.store()
    serve(store, 1)

    def broken():
        yield from rows(2) * 60  # more than one chunk
        raise OSError("a file of the lake is gone")

    for schema in (SCHEMA, T.StructType([*SCHEMA.fields[:2], T.StructField("total", T.StringType())])):
        with pytest.raises(OSError, match="is gone"):
            serve(store, 2, broken() if schema is SCHEMA else ((a, b, str(c)) for a, b, c in broken()), schema=schema)
        assert_serves(place, 1)
    serve(store, 2)
    assert_serves(place, 2)


def test_no_table_but_the_stores_own_is_touched(place: Place):
    place.query(f"CREATE TABLE {MART} (agent_id INTEGER)")
    place.query(f"INSERT INTO {MART} VALUES (7)")
    with pytest.raises(ContractError, match=f"a table {MART} that is not the serving store's"):
        serve(place.store(), 1)
    assert place.query(f"SELECT agent_id FROM {MART}") == [(7,)]


@pytest.mark.parametrize("name", ["row__key", "Agent", "x; DROP TABLE y", 'a"b', "a`b", "_hoodie_file"])
def test_columns_with_names_that_cannot_be_served(tmp_path, name):
    store = file_of(tmp_path / "s").store()
    with pytest.raises(ContractError, match="column"):
        serve(store, 1, [(1,)], schema=T.StructType([T.StructField(name, T.LongType())]))


@pytest.mark.parametrize(("mart", "at"), [("served_marts", instant(1)), ("x;y", instant(1)), (MART, "now")])
def test_a_state_of_nothing(mart, at):
    with pytest.raises(ContractError):
        MartState(mart=mart, instant=at, clock=None, served_at=START)
