"""What the checks promise, held against Spark: SQL that mode scoped takes gives each scope from its own rows alone.

The shop has 60 events of 7 orders and of none (their number is not known), made from a seed; 6 orders, one of them not
paid; 4 buyers. Buyer 1 moves, buyer 2 goes, buyer 9 comes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake_spec.marts import MartMode, ReadSpec
from spark_jobs.sql_analysis.mart_sql import MartQuery, analyse_mart, expression_sql
from tests.support.scoped_sqls import well_scoped
from tests.support.shop import mart, shop

pytestmark = pytest.mark.spark

ZONE = "Asia/Kolkata"
START = datetime(2026, 1, 1, 17, tzinfo=UTC)
TYPES = "number bigint, buyer_id bigint, city string, amount decimal(10,2), paid_at timestamp"
LOG = f"event_id string, op string, event_order string, event_time timestamp, {TYPES}"
ORDERS = "number bigint, buyer_id bigint, amount decimal(10,2), paid_at timestamp"
SOME = ("None", "1", "2", "4", "5", "2026-01-01")
"""The scopes that are looked at alone: numbers or days."""
WELL = well_scoped()
OF_SPARK = (
    *("group by alias", "windows and a chain of queries", "lateral view", "a named window", "using"),
    *("semi and anti join", "lookup after a choice of one value", "day: alias of the expression", "day: rank"),
)
"""Those that another engine could not check (test_law.py)."""

Tables = Mapping[str, DataFrame]
Answer = Counter[tuple[str, ...]]
Rows = Callable[..., list[Answer]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Tables:
    chance = random.Random(4)
    events = []
    for place in range(60):
        number, buyer = chance.choice([None, *range(1, 8)]), chance.choice([None, 1, 2, 3, 4])
        amount, paid = Decimal(chance.randrange(-500, 900)) / 100, START + timedelta(hours=chance.randrange(40))
        op, city = chance.choice("ccud"), chance.choice([None, "aden", "oslo"])
        events.append((f"e{place}", op, f"{place:03}", START, number, buyer, city, amount, paid))
    orders = [(n, chance.choice([1, 2, 3, 8, None]), Decimal(n), START + timedelta(hours=3 * n)) for n in range(1, 6)]
    return {
        "order_log": spark.createDataFrame(events, LOG),
        "orders": spark.createDataFrame([*orders, (6, 1, Decimal(6), None)], ORDERS),
        "buyers": spark.createDataFrame(
            [(1, "aden"), (2, "oslo"), (3, "lima"), (4, None)], "buyer_id bigint, city string"
        ),
    }


@pytest.fixture
def rows_of(spark: SparkSession) -> Rows:
    """Runs a query over several states of the tables at once; the answers come in their order."""

    def run(query: MartQuery, *states: Tables) -> list[Answer]:
        answers = []
        for number, tables in enumerate(states):
            for name, rows_df in tables.items():
                rows_df.createOrReplaceTempView(f"{name}_{number}")
            answer_df = spark.sql(query.sql({name: f"{name}_{number}" for name in tables}, time_zone=ZONE))
            answers.append(answer_df.withColumn("state", F.lit(number)))
        found: list[Answer] = [Counter() for _ in states]
        for *values, number in reduce(lambda one, other: one.union(other), answers).collect():
            found[number][tuple(str(value) for value in values)] += 1
        return found

    return run


def scope_of(read: ReadSpec) -> Column:
    return F.expr(expression_sql(read.scope, time_zone=ZONE)).cast("string")


@pytest.mark.parametrize("what", WELL)
def test_every_one_is_sql_that_spark_knows(what, spark, tables):
    query = analyse_mart(WELL[what], shop(WELL[what]))
    for name, rows_df in tables.items():
        rows_df.createOrReplaceTempView(f"{name}_seen")
    seen_df = spark.sql(query.sql({name: f"{name}_seen" for name in tables}, time_zone=ZONE))
    assert tuple(seen_df.columns) == query.columns


@pytest.mark.parametrize("what", OF_SPARK)
def test_scopes_come_out_alone_as_they_do_among_others(what, tables, rows_of):
    declared = WELL[what]
    query = analyse_mart(declared, shop(declared))
    place = query.columns.index(declared.scope)
    part = dict(tables)
    for read in declared.scoped_reads:
        part[read.table] = tables[read.table].where(F.coalesce(scope_of(read), F.lit("None")).isin(*SOME))
    everything, alone = rows_of(query, tables, part)
    assert alone == Counter({row: n for row, n in everything.items() if row[place] in SOME})
    assert 0 < alone.total() < everything.total()


@pytest.mark.parametrize("what", ["lookup after a choice of one value", "day: lookup in groups"])
def test_a_change_of_what_is_looked_up_concerns_those_that_point_to_it(what, spark, tables, rows_of):
    declared = WELL[what]
    query = analyse_mart(declared, shop(declared))
    place = query.columns.index(declared.scope)
    moved_df = spark.createDataFrame([(1, "rome"), (3, "lima"), (4, None), (9, "x")], "buyer_id bigint, city string")
    before, after = rows_of(query, tables, {**tables, "buyers": moved_df})
    assert before != after
    concerned = set()
    for read in declared.scoped_reads:
        pointing_df = tables[read.table].where(F.col("buyer_id").isin(1, 2, 9)).select(scope_of(read))
        concerned |= {str(row[0]) for row in pointing_df.collect()}
    assert {row[place] for row in (before - after) + (after - before)} <= concerned


def test_what_mode_scoped_refuses_does_mix_scopes(tables, rows_of):
    """The same question in mode full, so that the tests above are seen to be able to fail."""
    sql = "SELECT number, RANK() OVER (ORDER BY event_order) AS place FROM order_log"
    query = analyse_mart(mart(sql, reads=(ReadSpec(table="order_log"),)), shop())
    everything, alone = rows_of(query, tables, {"order_log": tables["order_log"].where("number = 7")})
    assert alone != Counter({row: n for row, n in everything.items() if row[0] == "7"})


def test_the_state_of_cells(spark, tables):
    sql = (
        "SELECT number, SUM(amount) AS total, buyer_id AS buyer, AVG(amount * 2) mean, COUNT(city) AS n "
        "FROM order_log WHERE op <> 'd' GROUP BY 1, buyer -- in the end"
    )
    grain = ("number", "buyer")
    declared = mart(sql, MartMode.AGGREGATE, reads=(ReadSpec(table="order_log"),), grain=grain)
    query = analyse_mart(declared, shop(declared))
    tables["order_log"].createOrReplaceTempView("order_log_seen")
    state_df = spark.sql(query.partial_sql({"order_log": "order_log_seen"}, time_zone=ZONE))
    assert set(state_df.columns) == {
        *query.columns,
        *("rows__count", "total__count", "mean__sum", "mean__count"),
    }
    events = [row for row in tables["order_log"].collect() if row.op != "d"]
    cells = {(row.number, row.buyer): row for row in state_df.collect()}
    assert set(cells) == {(row.number, row.buyer_id) for row in events}
    for (number, buyer), cell in cells.items():
        own = [row for row in events if (row.number, row.buyer_id) == (number, buyer)]
        total = sum(row.amount for row in own)
        assert (cell.rows__count, cell.total, cell.total__count) == (len(own), total, len(own))
        assert (cell.mean__sum, cell.mean__count, cell.n) == (2 * total, len(own), len([r for r in own if r.city]))
