"""What is refused in every mode, and in modes append, aggregate and full; each refusal beside what is right.

All over the shop of tests/support/shop.py: orders by number, each with a buyer; buyers with their city; the order_log.
"""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from tests.support.shop import BUYERS_LOOKED_UP, mart, scoped, shop

ORDERS, BUYERS, LOG = (ReadSpec(table=name) for name in ("orders", "buyers", "order_log"))
BOTH = {"reads": (ORDERS, BUYERS)}


def columns_of(declared: MartSpec, *others: MartSpec) -> tuple[str, ...]:
    return analyse_mart(declared, shop(declared, *others)).columns


def refusal(declared: MartSpec, *others: MartSpec) -> str:
    """Why the mart is refused: one line that begins with its name."""
    with pytest.raises(ContractError) as caught:
        columns_of(declared, *others)
    assert str(caught.value).startswith(f"mart {declared.name}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


FULL = {
    "joins, windows, DISTINCT, set operations": (
        "SELECT DISTINCT number, SUM(amount) OVER (ORDER BY paid_at) AS s FROM orders CROSS JOIN buyers "
        "UNION SELECT 1, 2 FROM buyers",
        BOTH,
    ),
    "the greatest three": ("SELECT number FROM orders ORDER BY amount DESC, number LIMIT 3 OFFSET 1", {}),
    "sub-queries": ("SELECT number FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)", {}),
    "brackets and a semicolon": ("(SELECT number FROM orders) UNION ALL (SELECT buyer_id FROM orders); -- all", {}),
    "* inside": ("WITH o AS (SELECT * FROM orders) SELECT number FROM o", {}),
    "lists in an order of their own": (
        "SELECT number, sort_array(collect_set(amount), false) AS a, array_sort(collect_list(paid_at) FILTER "
        "(WHERE amount > 0)) AS b, transform(array_sort(collect_list(buyer_id)), x -> x + 1) AS c, max_by(amount, "
        "paid_at) AS d FROM orders GROUP BY number",
        {},
    ),
    "lists and values along a window": (
        "SELECT number, collect_list(amount) OVER (PARTITION BY buyer_id ORDER BY paid_at) AS a, first(amount) IGNORE "
        "NULLS OVER (ORDER BY paid_at) AS b, sort_array(collect_set(amount) OVER (PARTITION BY buyer_id)) AS c "
        "FROM orders",
        {},
    ),
    "names that only look like clocks": (
        "SELECT number, paid_at AS current_date, 'now' AS b, `localtimestamp`, o.current_timestamp, DATE '2026-01-01' "
        "AS c, unix_timestamp(paid_at) AS d FROM orders AS o",
        {},
    ),
}


@pytest.mark.parametrize(("sql", "changes"), FULL.values(), ids=FULL)
def test_mode_full_takes_any_select_that_gives_the_same_every_time(sql, changes):
    assert columns_of(mart(sql, **changes))[0] == "number"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "its SQL has 0 statements; give one SELECT"),
        ("SELECT number FROM orders; SELECT 2 AS number", "its SQL has 2 statements"),
        ("SELECT number FROM orders WHERE", "its SQL cannot be read ("),
        ("SELECT 'number FROM orders", "its SQL cannot be read ("),
        ("DROP TABLE orders", "is no SELECT"),
        ("INSERT INTO orders SELECT number FROM orders", "is no SELECT"),
        ("DELETE FROM orders", "is no SELECT"),
        ("VALUES (1)", "is no SELECT"),
        ("SELECT number FROM orders, buyers", "reads buyers, which is not among its reads ['orders']; add it there"),
        ("SELECT number, RULE('share') AS s FROM orders", "its SQL uses RULE(…), and it does not have rules: true"),
        ("SELECT number FROM lake.orders", "its SQL reads lake.orders; it may read tables by their plain names"),
        ("SELECT number FROM orders VERSION AS OF 3", "plain names, as they are now"),
        ("SELECT number FROM orders, range(10)", "it may read tables by their plain names"),
        ("SELECT 1 AS number", "its SQL never reads orders; take it out of reads"),
        ("WITH orders AS (SELECT 1 AS number) SELECT number FROM orders", "WITH gives ['orders'] the name of a table"),
        ("WITH RECURSIVE a AS (SELECT number FROM orders) SELECT number FROM a", "WITH RECURSIVE"),
        ("SELECT number, amount + 1 FROM orders", "column 2 of its SQL (amount + 1) has no name; give it one with AS"),
        ("SELECT number, posexplode(array(1)) AS (a, b) FROM orders", "column 2 of its SQL"),
        ("SELECT number, amount AS number FROM orders", "gives the columns ['number'] twice"),
        ("SELECT number, amount AS `The Amount` FROM orders", "column 'The Amount' is not a snake_case identifier"),
        ("SELECT number, amount AS a__b FROM orders", "column 'a__b' is a name kept for technical columns"),
        ("SELECT number, amount AS cell_id FROM orders", "'cell_id' is a name kept"),
        ("SELECT * FROM orders", "its SQL selects *"),
        ("SELECT o.*, 1 AS number FROM orders o", "its SQL selects *"),
        ("SELECT number FROM orders UNION ALL SELECT * FROM orders", "its SQL selects *"),
        ("SELECT amount FROM orders", "grain ['number'] is not among the columns ['amount'] of its SQL; select it"),
        (
            "SELECT number FROM orders WHERE paid_at > :clock",
            "has the parameter :clock; the only one there is is :time_zone",
        ),
        ("SELECT number FROM orders WHERE amount > ?", "has the parameter ?"),
        ("SELECT number FROM orders WHERE amount > ${least}", "has the parameter"),
        ("SELECT number FROM orders LIMIT 3", "LIMIT and OFFSET without ORDER BY"),
        ("SELECT number FROM (SELECT number FROM orders LIMIT 3) ORDER BY number", "LIMIT and OFFSET without ORDER BY"),
        ("SELECT number FROM orders TABLESAMPLE (5 PERCENT)", "TABLESAMPLE does not give the same"),
        ("SELECT number, first(amount) AS a FROM orders GROUP BY 1", "first depends on the order in which rows come"),
        ("SELECT number, any_value(amount) AS a FROM orders GROUP BY 1", "any_value depends on the order"),
        ("SELECT number, last_value(amount) OVER (PARTITION BY 1) AS a FROM orders", "last_value depends on the order"),
        ("SELECT number, collect_list(amount) AS a FROM orders GROUP BY 1", "array_sort(…)"),
        ("SELECT number, size(array_agg(amount)) AS a FROM orders GROUP BY 1", "array_sort(…)"),
        (
            "SELECT number, array_sort(collect_set(amount), (a, b) -> 0) AS a FROM orders GROUP BY 1",
            "without a comparison of your own",
        ),
    ],
)
def test_what_no_mode_takes(sql, message):
    assert message in refusal(mart(sql))


@pytest.mark.parametrize(
    "clock",
    [
        *("now()", "current_date", "current_date()", "current_timestamp", "CURRENT_TIMESTAMP()", "localtimestamp"),
        *("localtimestamp()", "curdate()", "unix_timestamp()", "DATE 'today'", "TIMESTAMP 'Now'", "rand()", "randn(7)"),
        *("uuid()", "`rand`()", "shuffle(array(1, 2))", "monotonically_increasing_id()", "input_file_name()"),
        *("current_user()", "current_timezone()", "percentile_approx(amount, 0.5)", "mode(amount)"),
    ],
)
def test_functions_that_do_not_give_the_same_every_time(clock):
    line = refusal(mart(f"WITH o AS (SELECT number, {clock} AS value FROM orders) SELECT number FROM o"))
    assert "does not give the same for the same rows" in line


def test_declared_columns_have_to_be_selected():
    day = {"time": TimeSpec(column="day", unit=TimeUnit.DAY)}
    assert "time ['day'] is not among" in refusal(mart("SELECT number FROM orders", **day))
    assert "partition ['month'] is not among" in refusal(mart("SELECT number FROM orders", partition="month"))
    both = "SELECT number, amount AS day, 'm' AS month FROM orders"
    assert columns_of(mart(both, partition="month", **day)) == ("number", "day", "month")
    declared = scoped("SELECT number FROM orders", scope="day", grain=("number", "day"))
    assert "grain ['day'] is not among" in refusal(declared)


def test_limits_need_all_rows():
    declared = scoped("SELECT number FROM orders ORDER BY number LIMIT 3")
    assert "LIMIT or OFFSET, for which all rows are needed; use mode full" in refusal(declared)


def append(sql: str, **changes) -> MartSpec:
    return mart(sql, MartMode.APPEND, **{"reads": (LOG,), "grain": ("event_id",), **changes})


def test_append_maps_and_filters():
    sql = "SELECT l.event_id, upper(city) AS town, CASE op WHEN 'd' THEN 1 END AS d FROM order_log l WHERE op <> 'r'"
    assert columns_of(append(sql)) == ("event_id", "town", "d")


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("JOIN (SELECT 1 AS x) ON true", "a join"),
        ("GROUP BY event_id", "GROUP BY"),
        ("HAVING true", "HAVING"),
        ("ORDER BY event_id", "ORDER BY"),
        ("SORT BY event_id", "SORT BY"),
        ("LATERAL VIEW explode(array(1)) AS x", "LATERAL VIEW"),
        ("WHERE event_id IN (SELECT event_id FROM order_log)", "a sub-query"),
        ("UNION ALL SELECT event_id FROM order_log", "more than one SELECT"),
        ("PIVOT (MAX(amount) FOR op IN ('c'))", "something else than one table after FROM"),
    ],
)
def test_append_refuses_clauses(clause, found):
    line = refusal(append(f"SELECT event_id FROM order_log {clause}"))
    assert f"mode append maps and filters rows one by one, and its SQL has {found}; take it out, or use" in line


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT DISTINCT event_id FROM order_log", "DISTINCT"),
        ("SELECT MAX(event_id) AS event_id FROM order_log", "an aggregate"),
        ("SELECT every(event_id = '') AS event_id FROM order_log", "an aggregate"),
        ("SELECT event_id, RANK() OVER (ORDER BY event_id) AS r FROM order_log", "a window function"),
        ("SELECT event_id, explode(array(1, 2)) AS x FROM order_log", "a function that makes several rows of one"),
        ("WITH l AS (SELECT event_id FROM order_log) SELECT event_id FROM l", "WITH"),
        ("SELECT event_id FROM (SELECT event_id FROM order_log)", "a sub-query"),
    ],
)
def test_append_refuses_selects(sql, found):
    assert f"and its SQL has {found}; take it out" in refusal(append(sql))


def test_stitch_requires_no_more_than_full():
    days = mart(
        "SELECT buyer_id, string(paid_at) AS day, SUM(amount) AS total FROM orders GROUP BY 1, 2",
        MartMode.AGGREGATE,
        name="days",
        grain=("buyer_id", "day"),
        time=TimeSpec(column="day", unit=TimeUnit.DAY),
    )
    year = {"mode": MartMode.STITCH, "grain": ("buyer_id",), "window": WindowSpec(length=1, unit=TimeUnit.YEAR)}
    sql = "SELECT buyer_id, SUM(total) AS total FROM days GROUP BY buyer_id"
    assert columns_of(mart(sql, reads=(ReadSpec(table="days"),), **year), days) == ("buyer_id", "total")
    cut = mart(sql, reads=(ReadSpec(table="days", partition="substr(day, 1, 7)"),), **year)
    assert columns_of(cut, days) == ("buyer_id", "total")
    wrong = mart(sql, reads=(ReadSpec(table="days", partition="substr(buyer_id, 1, 7)"),), **year)
    assert "make it of the column day alone" in refusal(wrong, days)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (ReadSpec(table="orders", scope="number", partition="number DIV 10"), None),
        (ReadSpec(table="orders", scope="number", partition="amount DIV 10"), "make it of the column number alone"),
        (ReadSpec(table="orders", scope="number", partition="'all'"), "make it of the column number alone"),
        (ReadSpec(table="orders", scope="number", partition="MAX(number)"), "is not one value of one row"),
        (ReadSpec(table="orders", scope="town"), "orders: scope is 'town'; make it of its columns ['number', "),
        (ReadSpec(table="orders", scope="'all'"), "make it of its columns"),
        (ReadSpec(table="orders", scope="number, amount"), "cannot be read"),
        (ReadSpec(table="orders", scope="MAX(number)"), "is not one value of one row"),
    ],
)
def test_expressions_of_reads(read, message):
    declared = scoped("SELECT number FROM orders", read)
    assert columns_of(declared) == ("number",) if message is None else message in refusal(declared)


def test_what_reads_a_broken_mart_names_it():
    broken = mart("SELECT FROM", name="broken")
    declared = scoped("SELECT number FROM broken", ReadSpec(table="broken", scope="number"))
    assert "it reads mart broken, which is wrong itself (its SQL cannot be read" in refusal(declared, broken)


def test_a_lookup_needs_one_key_and_a_column_that_points_to_it():
    sql = "SELECT number FROM orders JOIN {0} ON {0}.buyer_id = orders.buyer_id"
    of_orders = ReadSpec(table="orders", scope="number")
    assert columns_of(scoped(sql.format("buyers"), of_orders, BUYERS_LOOKED_UP)) == ("number",)
    assert "by is 'town', which is no column" in refusal(
        scoped(sql.format("buyers"), of_orders, ReadSpec(table="buyers", by="town"))
    )
    line = refusal(scoped(sql.format("order_log"), of_orders, ReadSpec(table="order_log", by="buyer_id")))
    assert "order_log cannot be looked up, because it has no key of one column" in line
    per_buyer = {"name": "per_buyer", "reads": (ORDERS,)}
    known = mart("SELECT buyer_id, number FROM orders", grain=("buyer_id",), **per_buyer)
    looked_up = scoped(sql.format("per_buyer"), of_orders, ReadSpec(table="per_buyer", by="buyer_id"))
    looked_up_twice = refusal(looked_up, mart(known.sql, grain=("buyer_id", "number"), **per_buyer))
    assert "per_buyer cannot be looked up" in looked_up_twice
