"""Only rows that changed are written, in each of the three databases, and in one transaction.

The mart's n-th commit changes agent 1 to the total n.0001, takes agent 2 + n away and brings agent 100 + n; as of
commit 1 there are 41 agents (tests/support/serving.py). A row's key is its agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T

from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.serving.changes import ChangesUncertainError, RowChange
from spark_jobs.storage.serving.states import Written
from tests.support.serving import (
    MART,
    SCHEMA,
    Dashboard,
    Place,
    assert_serves,
    instant,
    recorded,
    rows,
    seen,
    serve,
    state,
)

Row = tuple[int, str, Decimal]


def changes(number: int) -> list[RowChange]:
    """What the n-th commit changed."""
    found: list[tuple[int, bool, Row | None]] = [
        (1, True, (1, "é🏠 changed", Decimal(f"{number}.0001"))),
        (2 + number, True, None),
        (100 + number, False, (100 + number, "new", Decimal(number))),
    ]
    return [RowChange(key=str(agent), was_there=was_there, values=row) for agent, was_there, row in found]


def rows_after(number: int) -> list[Row]:
    """The rows as of the n-th commit, by agent."""
    found: dict[int, Row] = {row[0]: row for row in rows(1)}
    for each in range(2, number + 1):
        for change in changes(each):
            found.pop(int(change.key), None)
            if change.values:
                found[int(change.key)] = (change.values[0], change.values[1], change.values[2])
    return [found[agent] for agent in sorted(found)]


def test_changes_of_one_commit_after_the_other(place: Place):
    store = place.store()
    serve(store, 1)
    for number in (2, 3, 4):
        done = store.change(state(number), SCHEMA, changes(number), after=instant(number - 1))
        assert done == Written(rows=2, deleted=1)
        assert seen(place) == rows_after(number)
        assert recorded(place) == (instant(number), 41)
    assert store.change(state(4), SCHEMA, changes(4), after=instant(3)) is None, "it is served already"
    assert seen(place) == rows_after(4)


def test_more_changes_than_are_sent_at_a_time(place: Place):
    store = place.store()
    serve(store, 1)
    many = [RowChange(key=f"new {n}", was_there=False, values=(n, "", None)) for n in range(2_501)]
    gone = [RowChange(key=f"new {n}", was_there=True, values=None) for n in range(2_501)]
    assert store.change(state(2), SCHEMA, many, after=instant(1)) == Written(rows=2_501)
    assert recorded(place) == (instant(2), 2_542)
    assert store.change(state(3), SCHEMA, gone, after=instant(2)) == Written(rows=0, deleted=2_501)
    assert seen(place) == rows(1)


def test_a_row_that_came_and_went_is_no_row(place: Place):
    store = place.store()
    serve(store, 1)
    nothing = [RowChange(key="new", was_there=False, values=None)]
    assert store.change(state(2), SCHEMA, nothing, after=instant(1)) == Written(rows=0)
    assert (seen(place), recorded(place)) == (rows(1), (instant(2), 41))


@pytest.mark.parametrize("after", [0, 2])
def test_changes_after_another_instant_than_the_served_one(place: Place, after: int):
    store = place.store()
    serve(store, 1)
    with pytest.raises(ChangesUncertainError, match="another run served it meanwhile"):
        store.change(state(3), SCHEMA, changes(3), after=instant(after))
    assert_serves(place, 1)


@pytest.mark.parametrize("lost", ["agent_id = 40", "agent_id > 0"])
def test_a_table_that_lost_rows_is_found_by_their_number(place: Place, lost: str):
    store = place.store()
    serve(store, 1)
    place.query(f"DELETE FROM {MART} WHERE {lost}")
    before = seen(place)
    with pytest.raises(ChangesUncertainError, match=r"its table in the store has \d+ rows and not 41"):
        store.change(state(2), SCHEMA, changes(2), after=instant(1))
    assert seen(place) == before
    assert recorded(place) == (instant(1), 41)
    serve(store, 2)
    assert_serves(place, 2)


def test_columns_that_the_table_does_not_have(place: Place):
    store = place.store()
    serve(store, 1)
    for field in (T.StructField("more", T.LongType()), T.StructField("total", T.StringType())):
        schema = T.StructType([each for each in SCHEMA.fields if each.name != field.name] + [field])
        with pytest.raises(ChangesUncertainError, match="other columns"):
            store.change(state(2), schema, [], after=instant(1))
    assert_serves(place, 1)


def test_a_failure_while_changes_are_read_changes_nothing(place: Place):
    store = place.store()
    serve(store, 1)

    def broken() -> Iterator[RowChange]:
        yield from changes(2)
        yield from (RowChange(key=f"{n}", was_there=False, values=(n, "", None)) for n in range(1_000, 2_500))
        raise OSError("a file of the lake is gone")

    with pytest.raises(OSError, match="is gone"):
        store.change(state(2), SCHEMA, broken(), after=instant(1))
    assert_serves(place, 1)
    store.change(state(2), SCHEMA, changes(2), after=instant(1))
    assert seen(place) == rows_after(2)


def test_a_dashboard_sees_the_changes_of_a_commit_at_once_with_the_record(place: Place):
    store = place.store()
    serve(store, 1)
    totals = f"SELECT COUNT(*), MIN(instant), MAX(agent_id) FROM {MART} JOIN served_marts ON mart = '{MART}'"

    def slowly(dashboard: Dashboard, number: int) -> Iterator[RowChange]:
        dashboard.wait_for_next_query()
        first, *others = changes(number)
        yield first
        yield from (RowChange(key=f"none {n}", was_there=False, values=None) for n in range(1_000))
        dashboard.wait_for_next_query()
        yield from others

    with Dashboard(place, totals) as dashboard:
        for number in (2, 3, 4):
            store.change(state(number), SCHEMA, slowly(dashboard, number), after=instant(number - 1))
        dashboard.wait_for_next_query()
    expected: list[list[tuple[Any, ...]]] = [[(41, instant(1), 40)]]
    assert dashboard.answers == expected + [[(41, instant(number), 100 + number)] for number in (2, 3, 4)]


def test_keys_longer_than_a_database_can_index_and_hardly_different(place: Place):
    """Case, blanks at the end and accents make another key."""
    names = ["a" * 100_000, "A" * 100_000, "a" * 99_999, "", " ", "é", "e\u0301", "-", "\\-"]
    values = [(name, (place_, name[:9], None)) for place_, name in enumerate(names)]
    store = place.store()
    written = store.replace(state(1), SCHEMA, iter(values), is_on_timeline=lambda _: False)
    assert written == Written(rows=len(names))
    gone = [RowChange(key=name, was_there=True, values=None) for name in names[1:]]
    store.change(state(2), SCHEMA, gone, after=instant(1))
    assert place.query(f"SELECT agent_id FROM {MART}") == [(0,)]


def test_two_rows_of_one_key_are_a_mistake_in_the_mart(place: Place):
    store = place.store()
    serve(store, 1)
    twice = iter([("1", (1, "a", None)), ("1", (2, "b", None))])
    with pytest.raises(ContractError, match="mart agent_totals has two rows with the same values"):
        store.replace(state(2), SCHEMA, twice, is_on_timeline=lambda _: False)
    assert_serves(place, 1)


def test_a_table_of_an_earlier_release_gets_its_key(place: Place):
    """It had the instant in every row, and no key."""
    store = place.store()
    serve(store, 1)
    place.query(f"DROP TABLE {MART}")
    columns = "agent_id BIGINT, agent_name TEXT, total DECIMAL(38, 4), true_for VARCHAR(17) NOT NULL, true_at TIMESTAMP"
    place.query(f"CREATE TABLE {MART} ({columns})")
    place.query(f"INSERT INTO {MART} SELECT 1, 'old', 1, instant, true_at FROM served_marts")
    served = store.served(MART)
    assert served is not None
    assert (served.is_keyed, served.instant) == (False, instant(1))
    with pytest.raises(ChangesUncertainError):
        store.change(state(2), SCHEMA, changes(2), after=instant(1))
    assert serve(store, 1, timeline=(1,)) == 41, "the instant that it has, once more"
    assert_serves(place, 1)
    with place.session() as connection:
        result = connection.exec_driver_sql(f"SELECT * FROM {MART}")
        assert list(result.keys()) == [*SCHEMA.names, "row__key"]
    store.change(state(2), SCHEMA, changes(2), after=instant(1))
    assert seen(place) == rows_after(2)
    assert place.tables() == {MART, "served_marts"}
