"""Declared marts refuse nonsense. Every case is one of the four marts below with something changed.

The shop of tests/support/shop.py: orders paid per day (scoped), the cells of buyers and days and what is stitched of
them, events as they come (append).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec, sort_marts
from spark_jobs.lake_spec.tables import TableType
from tests.support.shop import BUYERS_LOOKED_UP, DAY, mart, scoped

OF_DAY, OF_CELL = TimeSpec(column="day", unit=TimeUnit.DAY), TimeSpec(column="day", unit=TimeUnit.DAY)
PER_DAY = scoped(
    f"SELECT {DAY} AS day, city, COUNT(*) AS n FROM orders LEFT JOIN buyers USING (buyer_id) GROUP BY 1, 2",
    *(ReadSpec(table="orders", scope=DAY), BUYERS_LOOKED_UP),
    scope="day",
    grain=("day", "city"),
    name="per_day",
    time=OF_DAY,
    window=WindowSpec(length=1, unit=TimeUnit.DAY),
)
CELLS = mart(
    f"SELECT buyer_id, {DAY} AS day, SUM(amount) AS total FROM orders GROUP BY 1, 2",
    MartMode.AGGREGATE,
    name="cells",
    grain=("buyer_id", "day"),
    time=OF_CELL,
)
YEAR = mart(
    "SELECT buyer_id, SUM(total) AS total FROM cells GROUP BY 1",
    MartMode.STITCH,
    name="year",
    reads=(ReadSpec(table="cells"),),
    grain=("buyer_id",),
    window=WindowSpec(length=1, unit=TimeUnit.YEAR),
)
EVENTS = mart(
    "SELECT event_id FROM order_log",
    MartMode.APPEND,
    name="events",
    reads=(ReadSpec(table="order_log"),),
    grain=("event_id",),
)
OF_MONTH = TimeSpec(column="day", unit=TimeUnit.MONTH)
BY_MONTH = replace(PER_DAY, window=None, time=OF_MONTH, rules=True)
TWO_READS = {"reads": (ReadSpec(table="orders"), ReadSpec(table="buyers"))}


def test_what_a_scoped_mart_reads():
    assert [read.table for read in PER_DAY.scoped_reads] == ["orders"]
    assert [read.table for read in PER_DAY.lookups] == ["buyers"]
    assert (CELLS.scoped_reads, CELLS.lookups) == ((), ())


@pytest.mark.parametrize(
    ("declared", "change", "message"),
    [
        (PER_DAY, {"name": "Per Day"}, "mart 'Per Day' is not a snake_case identifier"),
        (PER_DAY, {"layer": "../fast"}, "mart per_day: layer '../fast' is not"),
        (PER_DAY, {"grain": ()}, "mart per_day: grain needs columns, each once"),
        (PER_DAY, {"grain": ("day", "day")}, "grain needs columns, each once"),
        (PER_DAY, {"grain": ("day", "city;")}, "column 'city;' is not a snake_case identifier"),
        (PER_DAY, {"grain": ("day", "city__x")}, "column 'city__x' is a name kept for technical columns"),
        (PER_DAY, {"partition": "cell_id"}, "column 'cell_id' is a name kept"),
        (PER_DAY, {"reads": ()}, "reads needs tables, each once"),
        (PER_DAY, {"reads": (*PER_DAY.reads, BUYERS_LOOKED_UP)}, "reads needs tables, each once"),
        (PER_DAY, {"buckets": 0}, "buckets and max_commits_after_cut must be at least 1"),
        (YEAR, {"max_commits_after_cut": 0}, "buckets and max_commits_after_cut must be at least 1"),
        (PER_DAY, {"scope": ""}, "scope is needed in mode scoped"),
        (CELLS, {"scope": "day"}, "means nothing in another"),
        (PER_DAY, {"scope": "n"}, "its scope 'n' must be part of its grain"),
        (PER_DAY, {"reads": (BUYERS_LOOKED_UP,)}, "one of its reads has to say its scope"),
        (PER_DAY, TWO_READS, "one of its reads has to say its scope"),
        (
            PER_DAY,
            {"reads": (*PER_DAY.scoped_reads, ReadSpec(table="buyers"))},
            "buyers: give either its scope, or by for a lookup",
        ),
        (
            PER_DAY,
            {"reads": (*PER_DAY.scoped_reads, ReadSpec(table="buyers", by="buyer_id", scope="city"))},
            "buyers: give either its scope, or by for a lookup",
        ),
        (CELLS, {"reads": (ReadSpec(table="orders", scope="number"),)}, "orders: scope and by mean nothing in mode"),
        (CELLS, {"reads": (ReadSpec(table="orders", by="number"),)}, "orders: scope and by mean nothing in mode"),
        (CELLS, TWO_READS, "mode aggregate reads one table; join in mode scoped"),
        (EVENTS, TWO_READS, "mode append reads one table"),
        (YEAR, TWO_READS, "mode stitch reads one table"),
        (YEAR, {"window": None}, "mode stitch needs a window of days, months or years"),
        (YEAR, {"window": WindowSpec(length=1, unit=TimeUnit.HOUR)}, "mode stitch needs a window of days"),
        (YEAR, {"window": WindowSpec(length=0, unit=TimeUnit.DAY)}, "a window is at least 1 long"),
        (PER_DAY, {"window": WindowSpec(length=0, unit=TimeUnit.DAY)}, "a window is at least 1 long"),
        (PER_DAY, {"window": WindowSpec(length=1, unit=TimeUnit.MONTH)}, "the scope column and the same unit"),
        (PER_DAY, {"time": None}, "a window needs mode scoped, and time with the scope column"),
        (PER_DAY, {"time": TimeSpec(column="city", unit=TimeUnit.DAY)}, "a window needs mode scoped, and time"),
        (CELLS, {"window": WindowSpec(length=1, unit=TimeUnit.DAY)}, "a window needs mode scoped"),
        (PER_DAY, {"rules": True}, "rules count by month: they need mode scoped, and time with the scope column"),
        (CELLS, {"rules": True, "time": OF_MONTH}, "rules count by month"),
        (BY_MONTH, {"time": OF_DAY}, "rules count by month"),
        (CELLS, {"time": TimeSpec(column="the day", unit=TimeUnit.DAY)}, "column 'the day' is not"),
    ],
)
def test_marts_that_contradict_themselves(declared, change, message):
    with pytest.raises(ContractError) as caught:
        replace(declared, **change)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "change"),
    [
        (PER_DAY, {"sql": PER_DAY.sql.replace("COUNT(*)", "SUM(amount)")}),
        (PER_DAY, {"sql": PER_DAY.sql + " HAVING city <> 'a -- b'"}),
        (PER_DAY, {"window": WindowSpec(length=2, unit=TimeUnit.DAY)}),
        (PER_DAY, {"grain": ("day",)}),
        (PER_DAY, {"reads": (*PER_DAY.scoped_reads, ReadSpec(table="buyers", by="number"))}),
        (PER_DAY, {"partition": "day"}),
        (BY_MONTH, {"rules": False}),
        (CELLS, {"mode": MartMode.FULL}),
        (CELLS, {"time": None}),
    ],
)
def test_another_definition_makes_other_rows(declared, change):
    assert replace(declared, **change).definition != declared.definition


def test_text_in_quotes_belongs_to_the_definition_and_comments_do_not():
    sqls = ["SELECT 'a -- b' AS x", "SELECT 'a -- c' AS x", "SELECT 'a  -- b' AS x", "SELECT 'a -- b''' AS x"]
    assert len({replace(CELLS, sql=sql).definition for sql in sqls}) == len(sqls)
    written_otherwise = "-- What it's about\nSELECT   'a -- b' -- 'quoted\n\tAS x\n"
    assert replace(CELLS, sql=written_otherwise).definition == replace(CELLS, sql=sqls[0]).definition


@pytest.mark.parametrize(
    "change", [{"layer": "slow"}, {"type": TableType.MERGE_ON_READ}, {"buckets": 4}, {"max_commits_after_cut": 7}]
)
def test_how_a_mart_is_kept_is_no_definition(change):
    assert replace(YEAR, **change).definition == YEAR.definition


def chain(*names: str) -> list[MartSpec]:
    """Marts of which each reads the one before; the first reads the last."""
    return [
        replace(EVENTS, name=name, reads=(ReadSpec(table=before),), mode=MartMode.FULL)
        for before, name in zip((names[-1], *names), names, strict=False)
    ]


def test_each_mart_comes_after_those_it_reads():
    assert [declared.name for declared in sort_marts([YEAR, PER_DAY, CELLS])] == ["per_day", "cells", "year"]
    first, *others = chain("a", "b", "c", "d")
    begun = replace(first, reads=(ReadSpec(table="orders"),))
    assert [declared.name for declared in sort_marts([*others[::-1], begun])] == ["a", "b", "c", "d"]
    assert sort_marts([]) == ()


def test_marts_in_a_circle():
    with pytest.raises(ContractError, match=r"marts \['a', 'b'\] read each other in a circle"):
        sort_marts([CELLS, *chain("a", "b")])
    with pytest.raises(ContractError, match=r"marts \['a'\] read each other"):
        sort_marts(chain("a"))
