"""The statement that is run is the one that was declared, with tables, parameter and state columns put in.

All over the shop of tests/support/shop.py: orders by number, each with a buyer; buyers with their city.
"""

from __future__ import annotations

import re

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, ReadSpec, TimeSpec, TimeUnit
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mart_sql import Measure, MeasureKind, analyse_mart, expression_sql
from tests.support.shop import BUYERS_LOOKED_UP, DAY, mart, scoped, shop

TOTALS = """
-- What each buyer paid; the ), and :time_zone of this comment mean nothing.
SELECT ALL
    SUM(amount) AS total,   -- of all
    buyer_id,
    date_format(from_utc_timestamp(paid_at, :time_zone), 'yyyy-MM-dd') AS day,
    AVG(COALESCE(amount, /* or ( */ 0)) mean,
    COUNT(*) AS orders,
    count(paid_at) AS paid,
    MIN(amount) AS least,
    max(amount) AS most     -- in the end
FROM `Orders`
WHERE string(number) <> 'a FROM, b) :time_zone'
GROUP BY 2, day
; -- that is all
"""


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def query_of(sql: str, mode: MartMode = MartMode.FULL, **changes):
    declared = mart(sql, mode, **changes)
    return analyse_mart(declared, shop(declared))


def test_every_mart_that_is_shipped_is_right_for_its_mode():
    spec = load_lake_spec(Settings().lake_spec)
    queries = {declared.name: analyse_mart(declared, spec) for declared in spec.marts}
    assert {declared.mode for declared in spec.marts} == {MartMode.SCOPED, MartMode.AGGREGATE, MartMode.STITCH}
    assert all(set(query.mart.grain) <= set(query.columns) for query in queries.values())
    days = queries["stitch_agent_days"]
    assert days.groups == ("agent_id", "day", "month")
    assert [measure.kind for measure in days.measures] == [MeasureKind.COUNT, MeasureKind.SUM]


def test_tables_take_other_names_and_keep_their_own_as_alias():
    query = query_of(
        "WITH northern AS (SELECT buyer_id FROM buyers AS b WHERE b.city = 'buyers')\n"
        "SELECT /*+ BROADCAST(orders) */ orders.number -- of orders\n"
        "FROM orders JOIN northern USING (buyer_id) WHERE EXISTS (SELECT 1 FROM `Orders` o);",
        reads=(ReadSpec(table="orders"), ReadSpec(table="buyers")),
    )
    assert query.sql({"orders": "orders_1", "buyers": "global_temp.x"}, time_zone="UTC") == (
        "WITH northern AS (SELECT buyer_id FROM global_temp.x AS b WHERE b.city = 'buyers')\n"
        "SELECT /*+ BROADCAST(orders) */ orders.number -- of orders\n"
        "FROM orders_1 AS orders JOIN northern USING (buyer_id) WHERE EXISTS (SELECT 1 FROM orders_1 o)"
    )
    with pytest.raises(ContractError, match="the SQL reads buyers, for which no rows were given"):
        query.sql({"orders": "orders_1"}, time_zone="UTC")


def test_the_parameter_is_filled_in_where_it_is_one():
    sql = "SELECT number, date_format(paid_at, {}) AS a, ':time_zone; ü' AS b -- é :time_zone\n FROM {}"
    query = query_of(sql.format(":time_zone", "orders"))
    filled = sql.format("'a\\'b\\\\c'", "o AS orders")
    assert query.sql({"orders": "o"}, time_zone="a'b\\c") == filled


def test_an_aggregate_mart_has_groups_and_measures_and_what_they_are_gone_on_from():
    query = query_of(
        TOTALS, MartMode.AGGREGATE, grain=("day", "buyer_id"), time=TimeSpec(column="day", unit=TimeUnit.DAY)
    )
    assert query.columns == ("total", "buyer_id", "day", "mean", "orders", "paid", "least", "most")
    assert query.groups == ("buyer_id", "day")
    assert query.measures == tuple(
        Measure(name=name, kind=MeasureKind(kind))
        for name, kind in [
            ("total", "sum"),
            ("mean", "avg"),
            ("orders", "count"),
            ("paid", "count"),
            ("least", "min"),
            ("most", "max"),
        ]
    )
    assert squeezed(query.partial_sql({"orders": "o"}, time_zone="Europe/Paris")) == squeezed(
        """
        SELECT ALL
            SUM(amount) AS total, -- of all
            buyer_id,
            date_format(from_utc_timestamp(paid_at, 'Europe/Paris'), 'yyyy-MM-dd') AS day,
            AVG(COALESCE(amount, /* or ( */ 0)) mean,
            COUNT(*) AS orders,
            count(paid_at) AS paid,
            MIN(amount) AS least,
            max(amount) AS most, COUNT(*) AS rows__count, COUNT(amount) AS total__count,
            SUM(COALESCE(amount, /* or ( */ 0)) AS mean__sum,
            COUNT(COALESCE(amount, /* or ( */ 0)) AS mean__count -- in the end
        FROM o AS `Orders`
        WHERE string(number) <> 'a FROM, b) :time_zone'
        GROUP BY 2, day
        """
    )


def aggregate(sql: str, **changes) -> str:
    """Why a mart of mode aggregate with the grain ``buyer_id`` is refused; "" when it is not."""
    try:
        query_of(sql, MartMode.AGGREGATE, **{"grain": ("buyer_id",), **changes})
    except ContractError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("grain", "sql"),
    [
        ("buyer_id", "SELECT buyer_id, COUNT(1) AS n FROM orders GROUP BY buyer_id"),
        (
            "buyer_id,last",
            "SELECT o.buyer_id, `Amount` % 10 AS last FROM orders AS o GROUP BY (BUYER_ID), (o.amount % 10)",
        ),
        (
            "buyer_id",
            "SELECT buyer_id, SUM(IF(amount > 0, amount, 0)) AS total FROM orders WHERE number > 7 GROUP BY 1",
        ),
        (
            "buyer_id,word",
            "SELECT buyer_id, word, COUNT(*) n FROM orders LATERAL VIEW explode(array(1)) w AS word GROUP BY 1, word",
        ),
        ("buyer_id", "SELECT buyer_id, (orders.buyer_id) % 7 AS part, COUNT(*) AS n FROM orders GROUP BY 1, 2"),
        ("day", "SELECT date(paid_at) AS day, year(date(paid_at)) AS y, COUNT(*) AS n FROM orders GROUP BY 1, 2"),
    ],
)
def test_mode_aggregate_takes_groups_and_plain_measures(grain, sql):
    assert aggregate(sql, grain=tuple(grain.split(","))) == ""


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT buyer_id, COUNT(*) AS n FROM orders", "and its SQL has no GROUP BY; use mode scoped"),
        ("SELECT DISTINCT buyer_id FROM orders GROUP BY 1", "and its SQL has DISTINCT"),
        ("SELECT buyer_id FROM orders GROUP BY 1 HAVING COUNT(*) > 1", "and its SQL has HAVING"),
        ("SELECT buyer_id FROM orders GROUP BY 1 ORDER BY 1", "and its SQL has ORDER BY"),
        ("SELECT /*+ COALESCE(1) */ buyer_id FROM orders GROUP BY 1", "and its SQL has a hint"),
        ("SELECT o.buyer_id FROM orders o JOIN orders p USING (number) GROUP BY 1", "and its SQL has a join"),
        ("SELECT buyer_id FROM (SELECT buyer_id FROM orders) GROUP BY 1", "and its SQL has a sub-query"),
        ("WITH o AS (SELECT buyer_id FROM orders) SELECT buyer_id FROM o GROUP BY 1", "and its SQL has WITH"),
        ("SELECT buyer_id FROM orders GROUP BY 1 UNION ALL SELECT 1 FROM orders", "has more than one SELECT"),
        ("SELECT buyer_id, SUM(amount) OVER () AS s FROM orders GROUP BY 1, amount", "and its SQL has a window"),
        ("SELECT buyer_id, COUNT(DISTINCT amount) AS n FROM orders GROUP BY 1", "n is COUNT(DISTINCT amount): neither"),
        ("SELECT buyer_id, SUM(amount) + 1 AS n FROM orders GROUP BY 1", "n is SUM(amount) + 1: neither a group nor"),
        ("SELECT buyer_id, CAST(SUM(amount) AS INT) AS n FROM orders GROUP BY 1", "neither a group nor one COUNT"),
        ("SELECT buyer_id, COUNT(*) FILTER (WHERE amount > 0) AS n FROM orders GROUP BY 1", "neither a group nor"),
        ("SELECT buyer_id, stddev(amount) AS n FROM orders GROUP BY 1", "use mode scoped, or compute it in a view"),
        (
            "SELECT upper(buyer_id) AS buyer_id, COUNT(*) AS n FROM orders GROUP BY buyer_id",
            "buyer_id is UPPER(buyer_id)",
        ),
        ("SELECT buyer_id, 1 AS one FROM orders GROUP BY buyer_id", "one is 1: neither a group"),
        ("SELECT buyer_id, COUNT(*) AS n FROM orders GROUP BY 1, amount", "it groups by amount, which is not among"),
        (
            "SELECT MAX(buyer_id) AS buyer_id, number FROM orders GROUP BY 2",
            "buyer_id is no group of its SQL, as grain",
        ),
        ("SELECT buyer_id, number FROM orders GROUP BY 1, 2", "number is a group that the grain does not decide"),
        ("SELECT buyer_id, buyer_id + number AS n FROM orders GROUP BY 1, 2", "n is a group that the grain does not"),
        ("SELECT buyer_id FROM orders GROUP BY ALL", "ALL, CUBE, ROLLUP or GROUPING SETS; name the columns"),
        ("SELECT buyer_id FROM orders GROUP BY ROLLUP (buyer_id)", "ALL, CUBE, ROLLUP or GROUPING SETS"),
        ("SELECT buyer_id FROM orders GROUP BY buyer_id WITH CUBE", "ALL, CUBE, ROLLUP or GROUPING SETS"),
        ("SELECT buyer_id FROM orders GROUP BY buyer_id GROUPING SETS (buyer_id)", "GROUPING SETS"),
    ],
)
def test_what_mode_aggregate_refuses(sql, message):
    assert message in aggregate(sql)


def test_time_and_partition_of_cells_are_groups():
    sql = "SELECT buyer_id, MAX(paid_at) AS day FROM orders GROUP BY buyer_id"
    assert "day is no group of its SQL" in aggregate(sql, partition="day")
    assert "day is no group of its SQL" in aggregate(sql, time=TimeSpec(column="day", unit=TimeUnit.DAY))


def test_only_an_aggregate_mart_has_cells():
    with pytest.raises(ContractError, match="mart answers has no cells"):
        query_of("SELECT number FROM orders").partial_sql({"orders": "o"}, time_zone="UTC")


def test_columns_that_may_matter():
    declared = scoped(
        f"SELECT {DAY} AS day, COUNT(O.Number) AS n FROM orders AS O JOIN buyers USING (buyer_id) GROUP BY 1",
        ReadSpec(table="orders", scope=DAY),
        BUYERS_LOOKED_UP,
        scope="day",
    )
    query = analyse_mart(declared, shop(declared))
    assert query.used_columns("orders", ["number", "buyer_id", "amount", "paid_at"]) == {
        "number",
        "buyer_id",
        "paid_at",
    }
    assert query.used_columns("buyers", ("buyer_id", "city")) == {"buyer_id"}
    assert query.used_columns("orders", []) == set()


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("SELECT number, COUNT(*) AS n FROM orders GROUP BY number", {"number"}),
        ("SELECT number, 'amount' AS what FROM orders -- amount", {"number"}),
        ("SELECT number FROM (SELECT * FROM orders) WHERE number > 1", {"number", "amount"}),
        ("SELECT number FROM (SELECT o.* FROM orders o)", {"number", "amount"}),
        ("SELECT number, COUNT(orders.*) AS n FROM orders GROUP BY number", {"number", "amount"}),
        ("SELECT number FROM orders NATURAL JOIN (SELECT number FROM orders)", {"number", "amount"}),
    ],
)
def test_a_star_is_every_column_unless_it_is_counted(sql, used):
    assert query_of(sql).used_columns("orders", ("number", "amount")) == used


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("buyer_id", "buyer_id"),
        (" date_trunc('hour', paid_at) -- the hour", "date_trunc('hour', paid_at)"),
        (DAY, "date_format(from_utc_timestamp(paid_at, 'Europe/Paris'), 'yyyy-MM-dd')"),
        (
            "CASE WHEN city IS NULL THEN ':time_zone' ELSE city END",
            "CASE WHEN city IS NULL THEN ':time_zone' ELSE city END",
        ),
        ("number % 16", "number % 16"),
    ],
)
def test_a_scope_is_one_value_of_one_row(text, filled):
    assert expression_sql(text, time_zone="Europe/Paris") == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its SQL has 0 statements"),
        ("day, month", "cannot be read"),
        ("date_trunc('hour', paid_at", "cannot be read"),
        ("paid_at AS day", "is not one value of one row"),
        ("SELECT day FROM orders", "is not one value of one row"),
        ("(SELECT MAX(day) FROM orders)", "is not one value of one row"),
        ("number IN (SELECT 1)", "is not one value of one row"),
        ("MAX(number)", "is not one value of one row"),
        ("RANK() OVER (ORDER BY number)", "is not one value of one row"),
        ("explode(array(number))", "is not one value of one row"),
        ("*", "is not one value of one row"),
        ("number; DROP TABLE orders", "2 statements"),
        ("to_date(:zone)", "has the parameter :zone"),
        ("date_format(now(), 'yyyy')", "now does not give the same"),
    ],
)
def test_what_is_no_scope(text, message):
    with pytest.raises(ContractError, match=message):
        expression_sql(text, time_zone="UTC")
