"""The law of versions: what SQLite makes of the SELECT is what plain Python makes of the events, one after another.

In ``a`` null is a value, in ``b`` nothing, ``c`` is not in the events at all: its column came later. An event may say
nothing of a column. Events come in any order and some twice, each to the row of its key and order; times go back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.lake_spec.versions import history_columns, versions_select
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.oracle_versions import RowChange, Version, in_order, versions_of

COLUMNS = ("id", "a", "b", "c")
STORED = ("history__key", *COLUMNS, "row_order", "is_deleted", "history__time", "history__unsaid")
SPEC = parse_lake_spec(
    {
        "lake": "things",
        "source": {
            "topics": ["THINGS"],
            "key": "id",
            "columns": [{"name": name, "source": name, "type": "bigint"} for name in COLUMNS],
        },
        "log": "log",
        "quarantine": "bad",
        "tables": [
            {
                "name": "things",
                "key": "id",
                "columns": [*COLUMNS[1:]],
                "deletes": "tombstone",
                "nulls": {"default": "value", "columns": {"b": "unknown"}},
                "history": True,
            }
        ],
    }
)
TABLE = SPEC.table("things")
SAYS = st.fixed_dictionaries({}, optional={"a": st.none() | st.integers(0, 1), "b": st.integers(0, 1)})
EVENTS = st.lists(
    st.builds(
        RowChange,
        key=st.tuples(st.integers(1, 2)),
        order=st.integers(0, 9).map("o{:02d}".format),
        time=st.integers(0, 5),
        is_delete=st.sampled_from((True, False, False, False)),
        values=SAYS,
    ),
    max_size=14,
    unique_by=lambda event: (event.key, event.order),
)


def versions_by_sql(delivered: Sequence[RowChange]) -> list[Version]:
    """What the SELECT says of a table into which the events were upserted as they came."""
    columns = history_columns(TABLE, STORED)
    select = versions_select(TABLE, columns, SPEC, source='"things_history"', quote='"')
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE things_history ({STORED[0]} TEXT PRIMARY KEY, {', '.join(STORED[1:])})")
        for event in delivered:
            says = {} if event.is_delete else event.values
            absent = "".join(f",{name}," for name in "ab" if name not in says and not event.is_delete)
            values = (*event.key, says.get("a"), says.get("b"), None, event.order, event.is_delete, event.time, absent)
            row = (f"{event.order}|{event.key[0]}", *values)
            database.execute("INSERT OR REPLACE INTO things_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return in_order(database.execute(select))


@settings(max_examples=60)
@given(EVENTS, st.data())
def test_versions_are_what_the_events_say_one_after_another(events, data):
    again = data.draw(st.lists(st.sampled_from(events), max_size=3)) if events else []
    found = versions_by_sql(data.draw(st.permutations([*events, *again])))
    assert found == versions_of(events, COLUMNS[1:])
    for moment in range(6):
        now = [key for key, *_, begin, end in found if begin <= moment and (end is None or moment < end)]
        assert len(now) == len({*now}), "two versions count at one moment"
