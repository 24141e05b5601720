"""Mode scoped is refused for SQL in which a row may be made of several scopes. What is right is in scoped_sqls.py.

All over the shop of tests/support/shop.py. The scope is an order's number, or where it says so the day it was paid.
"""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartSpec, ReadSpec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from tests.support.scoped_sqls import LOG, OF_DAY, OF_LOG, well_scoped
from tests.support.shop import BUYERS_LOOKED_UP, DAY, mart, scoped, shop

WELL = well_scoped()
GROUP, WINDOW = "an aggregate without the scope in its GROUP BY", "a window without the scope in its PARTITION BY"
NOT_THE_SCOPE = "its column number is not the scope that its reads declare; select that very expression AS number"
LOOKUP = "the lookup buyers is joined otherwise than by"
CHAIN = (
    "WITH a AS (SELECT number, buyer_id FROM order_log), "
    "b AS (SELECT number, MAX(amount) AS most FROM order_log GROUP BY number) "
)


def refusal(declared: MartSpec, *others: MartSpec) -> str:
    with pytest.raises(ContractError) as caught:
        analyse_mart(declared, shop(declared, *others))
    assert str(caught.value).startswith("mart answers: ")
    return str(caught.value)


@pytest.mark.parametrize("what", WELL)
def test_what_is_right(what):
    assert analyse_mart(WELL[what], shop(WELL[what])).mart is WELL[what]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT MAX(number) AS number FROM order_log", GROUP),
        ("SELECT MAX(number) AS number FROM order_log GROUP BY city", GROUP),
        ("SELECT number % 2 AS number, COUNT(*) AS n FROM order_log GROUP BY number % 2", GROUP),
        ("SELECT city AS number, COUNT(*) AS n FROM order_log GROUP BY 1", GROUP),
        ("SELECT some(op = 'd') AS number FROM order_log", GROUP),
        ("SELECT upper(city) AS c, 1 AS number FROM order_log HAVING COUNT(*) > 1", GROUP),
        ("SELECT number FROM order_log GROUP BY number, city WITH ROLLUP", "ALL, CUBE, ROLLUP or GROUPING SETS"),
        (
            "WITH totals AS (SELECT city, COUNT(*) AS n FROM order_log GROUP BY city) "
            "SELECT number, n FROM order_log l JOIN totals t ON l.city = t.city",
            "in WITH totals: " + GROUP,
        ),
        ("SELECT number, n FROM (SELECT city AS number, COUNT(*) AS n FROM order_log GROUP BY city) AS t", GROUP),
        ("SELECT number, RANK() OVER (ORDER BY amount) AS place FROM order_log", WINDOW),
        ("SELECT number, COUNT(*) OVER (PARTITION BY city) AS n FROM order_log", WINDOW),
        ("SELECT number, COUNT(*) OVER w AS n FROM order_log WINDOW w AS (PARTITION BY op)", WINDOW),
        ("SELECT number FROM order_log ORDER BY COUNT(*) OVER ()", WINDOW),
        (
            "SELECT number FROM (SELECT DISTINCT city FROM order_log) JOIN order_log USING (city)",
            "SELECT DISTINCT without",
        ),
        ("SELECT city AS number FROM order_log", NOT_THE_SCOPE),
        ("SELECT number + 0 AS number FROM order_log", NOT_THE_SCOPE),
        ("SELECT coalesce(number, 0) AS number FROM order_log", NOT_THE_SCOPE),
        ("SELECT info.number FROM order_log", NOT_THE_SCOPE),
        ("SELECT number FROM order_log UNION ALL SELECT buyer_id FROM order_log", NOT_THE_SCOPE),
        ("SELECT city AS c, number FROM order_log UNION ALL SELECT number, city FROM order_log", NOT_THE_SCOPE),
        ("SELECT number FROM (SELECT city, number FROM order_log) AS t(number, city)", NOT_THE_SCOPE),
        ("SELECT number FROM order_log LATERAL VIEW explode(array(1)) t AS number", NOT_THE_SCOPE),
        ("SELECT number FROM order_log UNION SELECT number FROM order_log", "UNION, EXCEPT and INTERSECT compare rows"),
        ("SELECT number FROM order_log EXCEPT SELECT number FROM order_log", "use UNION ALL, or mode full"),
        ("SELECT number FROM order_log UNION ALL SELECT 1 AS number", "a SELECT without FROM belongs to no scope"),
        (
            "SELECT number FROM order_log WHERE amount > (SELECT AVG(amount) FROM order_log)",
            "a sub-query inside an expr",
        ),
        ("SELECT number FROM order_log WHERE city IN (SELECT city FROM order_log)", "join it instead"),
        ("SELECT number FROM order_log PIVOT (MAX(amount) FOR op IN ('c', 'd'))", "cannot determine the scope of"),
        ("SELECT number FROM order_log, LATERAL (SELECT 1 AS x)", "a sub-query inside an expression"),
        ("SELECT number FROM (order_log JOIN order_log AS l USING (number))", "cannot determine the scope of"),
        ("SELECT number FROM order_log JOIN (VALUES (1)) AS v(x) ON true", "cannot determine the scope of"),
        ("WITH l AS (SELECT number, COUNT(*) FROM order_log GROUP BY 1) SELECT number FROM l", "COUNT(*) has no name"),
        ("WITH l AS (SELECT * EXCEPT (op) FROM order_log) SELECT number FROM l", "name the columns"),
        ("(SELECT MAX(number) AS number FROM order_log) UNION ALL (SELECT number FROM order_log)", GROUP),
        (
            "WITH l AS (SELECT posexplode(array(number)) AS (place, number) FROM order_log) SELECT number FROM l",
            NOT_THE_SCOPE,
        ),
        ("SELECT number FROM order_log CONNECT BY PRIOR number = op", "does not know the clause CONNECT; use mode"),
        (
            "SELECT number FROM order_log JOIN (SELECT city AS town FROM order_log) AS t USING (town)",
            "t is joined without an equality of the scope",
        ),
        ("SELECT number FROM order_log JOIN order_log USING (number)", "two of its tables are called 'order_log'"),
        (
            CHAIN + "SELECT a.number, most FROM a JOIN b ON a.buyer_id = b.most",
            "b is joined without an equality of the",
        ),
        (
            CHAIN + "SELECT a.number, most FROM a JOIN b ON a.number > b.number",
            "b is joined without an equality of the",
        ),
        (
            CHAIN + "SELECT a.number FROM a JOIN b ON a.number = b.number OR true",
            "b is joined without an equality of the",
        ),
        (CHAIN + "SELECT a.number FROM a JOIN b ON a.number = b.most", "add it to its ON"),
        (CHAIN + "SELECT a.number FROM a JOIN b ON a.number = a.number", "add it to its ON"),
        (CHAIN + "SELECT a.number FROM a JOIN b", "b is joined without an equality of the scope"),
        (CHAIN + "SELECT a.number FROM a, b WHERE a.number = b.number", "b is joined without ON"),
        (CHAIN + "SELECT a.number FROM a CROSS JOIN b", "b is joined without ON"),
        (CHAIN + "SELECT number FROM a NATURAL JOIN b", "b is joined without ON"),
        (CHAIN + "SELECT a.number FROM a RIGHT JOIN b ON a.number = b.number", "b comes by RIGHT JOIN, whose rows"),
        (CHAIN + "SELECT a.number FROM a FULL JOIN b USING (number)", "b comes by FULL JOIN"),
        (CHAIN + "SELECT b.number FROM a LEFT JOIN b ON a.number = b.number", NOT_THE_SCOPE),
        (CHAIN + "SELECT b.number FROM a LEFT JOIN b ON a.number = b.number GROUP BY b.number", GROUP),
    ],
)
def test_what_mixes_scopes(sql, message):
    assert message in refusal(scoped(sql, LOG))


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("FROM orders o JOIN buyers b ON o.number = b.buyer_id", LOOKUP + " b.buyer_id = buyer_id of the scoped rows"),
        ("FROM orders o JOIN buyers b ON o.buyer_id < b.buyer_id", LOOKUP),
        ("FROM orders o JOIN buyers b ON COALESCE(o.buyer_id, 0) = b.buyer_id", LOOKUP),
        ("FROM orders o JOIN buyers b ON b.city = o.buyer_id", LOOKUP),
        (
            "FROM orders o JOIN (SELECT buyer_id + 1 AS id FROM buyers) b ON b.id = o.buyer_id",
            "which it does not select",
        ),
        ("FROM orders o JOIN buyers b ON o.buyer_id = b.buyer_id JOIN buyers c ON b.buyer_id = c.buyer_id", LOOKUP),
        ("FROM orders o CROSS JOIN buyers b", "b is joined without ON"),
        ("FROM orders o RIGHT JOIN buyers b USING (buyer_id)", "b comes by RIGHT JOIN"),
        ("FROM buyers b JOIN orders o ON o.buyer_id = b.buyer_id", "begins with the lookup buyers; begin with rows"),
        ("FROM orders o JOIN (SELECT DISTINCT buyer_id FROM buyers) b USING (buyer_id)", "adds up rows of the lookup"),
        ("FROM orders o JOIN (SELECT MAX(buyer_id) AS buyer_id FROM buyers) b USING (buyer_id)", "adds up rows"),
        (
            "FROM orders o JOIN (SELECT buyer_id, RANK() OVER (ORDER BY city) AS n FROM buyers) b USING (buyer_id)",
            "adds up rows of the lookup buyers alone",
        ),
        (
            "FROM orders o JOIN (SELECT buyer_id FROM buyers UNION ALL SELECT buyer_id FROM buyers) b USING (buyer_id)",
            "UNION ALL has rows of the lookup buyers; join it instead",
        ),
    ],
)
def test_lookups_that_hide_whom_a_change_concerns(sql, message):
    assert message in refusal(scoped(f"SELECT o.number {sql}", OF_LOG, BUYERS_LOOKED_UP))


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT date(paid_at) AS day, COUNT(*) AS n FROM orders GROUP BY 1", GROUP),
        (f"SELECT substr({DAY}, 1, 7) AS day, COUNT(*) AS n FROM orders GROUP BY 1", GROUP),
        ("SELECT date_format(from_utc_timestamp(paid_at, 'UTC'), 'yyyy-MM-dd') AS day FROM orders", "its column day"),
        (f"SELECT {DAY.replace('dd', 'd')} AS day FROM orders", "its column day is not the scope"),
        (f"SELECT {DAY.replace('paid_at', 'o.paid_at.paid_at')} AS day FROM orders o", "its column day is not"),
        (f"SELECT {DAY} AS day FROM orders o JOIN orders p ON o.number = p.number", "p is joined without an equality"),
        (f"SELECT {DAY} AS day, year(paid_at) AS y, COUNT(*) OVER (PARTITION BY y) AS n FROM orders", WINDOW),
        (f"SELECT {DAY} AS day, {DAY} AS amount, COUNT(*) OVER (PARTITION BY amount) AS n FROM orders", WINDOW),
        (
            f"SELECT {DAY.replace('paid_at', 'o.paid_at')} AS day FROM orders o LEFT JOIN orders p ON "
            f"{DAY.replace('paid_at', 'p.paid_at')} = {DAY.replace('paid_at', 'o.paid_at')} GROUP BY p.number",
            GROUP,
        ),
    ],
)
def test_scopes_that_are_an_expression(sql, message):
    assert message in refusal(scoped(sql, OF_DAY, scope="day"))


def test_a_window_may_name_the_scope_by_its_alias():
    declared = scoped(f"SELECT {DAY} AS day, COUNT(*) OVER (PARTITION BY day) AS n FROM orders", OF_DAY, scope="day")
    assert analyse_mart(declared, shop(declared)).columns == ("day", "n")


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("(SELECT number FROM order_log) UNION ALL (SELECT number FROM order_log WHERE op = 'd')", ("number",)),
        (
            "WITH l AS (SELECT number, posexplode(array(city, op)) AS (place, word) FROM order_log) "
            "SELECT number, place, word FROM l",
            ("number", "place", "word"),
        ),
    ],
)
def test_brackets_and_one_function_for_several_columns_keep_the_scope(sql, columns):
    declared = scoped(sql, LOG)
    assert analyse_mart(declared, shop(declared)).columns == columns


def test_an_expression_joins_when_it_is_the_scope_on_both_sides():
    one, other = (DAY.replace("paid_at", f"{alias}.paid_at") for alias in "op")
    declared = scoped(f"SELECT {one} AS day FROM orders o LEFT JOIN orders p ON {one} = ({other})", OF_DAY, scope="day")
    assert analyse_mart(declared, shop(declared)).columns == ("day",)


def test_two_lookups_of_one_column_and_a_scope_through_a_mart():
    per_buyer = mart("SELECT buyer_id, MAX(number) AS n FROM orders GROUP BY 1", name="per_buyer", grain=("buyer_id",))
    declared = scoped(
        "SELECT o.number, city, n FROM orders o LEFT JOIN buyers ON o.buyer_id = buyers.buyer_id "
        "LEFT JOIN per_buyer p ON p.buyer_id = o.buyer_id",
        *(OF_LOG, BUYERS_LOOKED_UP, ReadSpec(table="per_buyer", by="buyer_id")),
    )
    assert analyse_mart(declared, shop(declared, per_buyer)).columns == ("number", "city", "n")
