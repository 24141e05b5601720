"""A dashboard polls while a mart is replaced eight times: it sees the state before or the one after.

The rows of each state come slowly on purpose: half-way through, nothing goes on before the dashboard has queried again.
A state holds 40 rows and its number, all with its number in them (tests/support/serving.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

from pyspark.sql import types as T

from tests.support.serving import MART, SCHEMA, Dashboard, Place, assert_serves, instant, rows, serve

STATES = 8
_TABLE = f"SELECT agent_id, agent_name, total FROM {MART}"
_WITH_RECORD = (
    f"SELECT agent_id, agent_name, total, instant, row_count FROM {MART} LEFT JOIN served_marts ON mart = '{MART}'"
)
_WIDER = T.StructType([*SCHEMA.fields[:2], T.StructField("total", T.DecimalType(38, 6))])


def slowly(dashboard: Dashboard, values: list[Any]) -> Iterator[Any]:
    """The rows, with a query and its answer in the middle."""
    yield from values[: len(values) // 2]
    dashboard.wait_for_next_query()
    yield from values[len(values) // 2 :]


def answer(number: int, *, is_recorded: bool) -> list[tuple[Any, ...]]:
    """What a dashboard sees of the n-th state, decimals as numbers."""
    record = (instant(number), len(rows(number))) if is_recorded else ()
    return [(*row, *record) for row in rows(number)]


def numbers(answers: list[list[tuple[Any, ...]]]) -> list[list[tuple[Any, ...]]]:
    """Answers with decimals as numbers, as SQLite does not keep them."""
    return [[(*row[:2], Decimal(row[2]), *row[3:]) for row in rows_seen] for rows_seen in answers]


def test_a_dashboard_sees_whole_states_with_the_record_that_goes_with_them(place: Place):
    store = place.store()
    serve(store, 1)
    with Dashboard(place, _WITH_RECORD) as dashboard:
        for number in range(2, STATES + 2):
            dashboard.wait_for_next_query()
            serve(store, number, slowly(dashboard, rows(number)))
        dashboard.wait_for_next_query()
    expected = [answer(number, is_recorded=True) for number in range(1, STATES + 2)]
    assert numbers(dashboard.answers) == expected
    assert_serves(place, STATES + 1)


def test_a_dashboard_sees_whole_states_while_tables_are_rebuilt(place: Place):
    """Every state has another type of amount than the one before, so that its table takes the other's place."""
    store = place.store()
    serve(store, 1)
    with Dashboard(place, _TABLE) as dashboard:
        for number in range(2, STATES + 2):
            dashboard.wait_for_next_query()
            serve(store, number, slowly(dashboard, rows(number)), schema=SCHEMA if number % 2 else _WIDER)
        dashboard.wait_for_next_query()
    assert numbers(dashboard.answers) == [answer(number, is_recorded=False) for number in range(1, STATES + 2)]
    assert place.tables() == {MART, "served_marts"}


def test_a_dashboard_sees_whole_states_while_columns_come(place: Place):
    store = place.store()
    serve(store, 0)
    with Dashboard(place, _TABLE) as dashboard:
        for number in range(1, 6):
            dashboard.wait_for_next_query()
            more = [T.StructField(f"more_{each}", T.LongType()) for each in range(number)]
            values = [(*row, *range(number)) for row in rows(number)]
            serve(store, number, slowly(dashboard, values), schema=T.StructType([*SCHEMA.fields, *more]))
        dashboard.wait_for_next_query()
    assert numbers(dashboard.answers) == [answer(number, is_recorded=False) for number in range(6)]


def test_a_dashboard_does_not_wait_for_a_state_that_no_memory_holds(place: Place):
    """So many rows that the database has to write them to its files before it commits."""
    many = [(agent, "long " * 20, Decimal(1)) for agent in range(40_000)]
    store = place.store()
    serve(store, 1)
    count = f"SELECT COUNT(*), MIN(instant), MAX(instant) FROM {MART} JOIN served_marts ON mart = '{MART}'"
    with Dashboard(place, count) as dashboard:
        dashboard.wait_for_next_query()
        serve(store, 2, chain(many, slowly(dashboard, rows(2))))
        dashboard.wait_for_next_query()
    assert dashboard.answers == [[(41, instant(1), instant(1))], [(40_042, instant(2), instant(2))]]
