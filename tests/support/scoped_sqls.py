"""SQL for which mode scoped is right: each row of the answer is made of one scope. By what it shows."""

from __future__ import annotations

from spark_jobs.lake_spec.marts import MartSpec, ReadSpec
from tests.support.shop import BUYERS_LOOKED_UP, DAY, scoped

LOG, OF_LOG = ReadSpec(table="order_log", scope="number"), ReadSpec(table="orders", scope="number")
OF_DAY = ReadSpec(table="orders", scope=DAY)

BY_NUMBER = {
    "group": ("SELECT number, COUNT(*) AS events FROM order_log GROUP BY number", (LOG,)),
    "group by place": ("SELECT number AS number, city, COUNT(*) AS n FROM order_log GROUP BY 1, city", (LOG,)),
    "group by alias": ("SELECT upper(city) AS c, number, COUNT(*) AS n FROM order_log GROUP BY c, number", (LOG,)),
    "names in capitals": ("SELECT L.NUMBER AS number, COUNT(*) AS n FROM Order_Log AS L GROUP BY `Number`", (LOG,)),
    "distinct": ("SELECT DISTINCT number, city FROM order_log", (LOG,)),
    "filter and having": (
        "SELECT number, MAX(amount) AS most FROM order_log WHERE op <> 'd' GROUP BY number HAVING COUNT(*) > 1",
        (LOG,),
    ),
    "windows and a chain of queries": (
        """
        WITH marked AS (
            SELECT *, MAX(CASE WHEN op = 'd' THEN event_order END) OVER (PARTITION BY number) AS deleted_order
            FROM order_log
        ),
        cities AS (
            SELECT number, city, MIN(event_order) AS since
            FROM marked WHERE deleted_order IS NULL OR event_order > deleted_order GROUP BY number, city
        ),
        paths AS (
            SELECT number, transform(array_sort(collect_list(struct(since, city))), step -> step.city) AS path
            FROM cities GROUP BY number
        ),
        sums AS (SELECT number, SUM(amount) AS total FROM marked GROUP BY number)
        SELECT paths.number, path, size(path) AS steps, total
        FROM paths LEFT JOIN sums ON total IS NOT NULL AND (paths.number = sums.number)
        """,
        (LOG,),
    ),
    "lateral view": (
        """
        WITH pairs AS (SELECT number, array(city, op) AS words FROM order_log)
        SELECT number, place, word FROM pairs LATERAL VIEW OUTER posexplode(words) exploded AS place, word
        """,
        (LOG,),
    ),
    "explode in the list": ("SELECT number, explode(array(city, op)) AS word FROM order_log", (LOG,)),
    "a named window": (
        "SELECT number, first_value(city) OVER w AS first_city, COUNT(*) OVER (PARTITION BY op, number) AS n "
        "FROM order_log WINDOW w AS (PARTITION BY number ORDER BY event_order)",
        (LOG,),
    ),
    "two scoped tables": (
        "SELECT o.number, o.amount, l.event_order FROM orders o JOIN order_log l ON o.number = l.number AND l.op = 'c'",
        (LOG, OF_LOG),
    ),
    "using": (
        "WITH both_of AS (SELECT * FROM orders JOIN order_log USING (number)) "
        "SELECT number, COUNT(*) AS n FROM both_of GROUP BY number",
        (LOG, OF_LOG),
    ),
    "semi and anti join": (
        "SELECT l.number, l.event_id FROM order_log l LEFT SEMI JOIN orders o ON l.number <=> o.number "
        "UNION ALL SELECT l.number, l.event_id FROM order_log l LEFT ANTI JOIN orders USING (number)",
        (LOG, OF_LOG),
    ),
    "sub-query with names of its own": (
        "SELECT n AS number, c FROM (SELECT number, COUNT(*) AS events FROM order_log GROUP BY number) AS t(n, c)",
        (LOG,),
    ),
    "lookup": (
        "SELECT number, amount, buyers.city FROM orders LEFT JOIN buyers ON buyers.buyer_id = orders.buyer_id",
        (OF_LOG, BUYERS_LOOKED_UP),
    ),
    "lookup after a choice of one value": (
        """
        WITH northern AS (SELECT buyer_id AS id, upper(city) AS city FROM buyers WHERE city < 'n'),
        newest AS (SELECT number, max_by(buyer_id, event_order) AS buyer FROM order_log GROUP BY number)
        SELECT newest.number, northern.city FROM newest JOIN northern ON newest.buyer = northern.id
        """,
        (LOG, BUYERS_LOOKED_UP),
    ),
    "lookup by using": (
        "SELECT number, COUNT(city) AS n FROM orders JOIN buyers USING (buyer_id) GROUP BY number",
        (OF_LOG, BUYERS_LOOKED_UP),
    ),
}
BY_DAY = {
    "expression": (f"SELECT {DAY} AS day, SUM(amount) AS total FROM orders GROUP BY {DAY}", (OF_DAY,)),
    "alias of the expression": (
        "SELECT date_format(from_utc_timestamp(o.paid_at, :time_zone), 'yyyy-MM-dd') AS day, MIN(amount) AS least "
        "FROM orders o GROUP BY day",
        (OF_DAY,),
    ),
    "rank": (
        f"WITH days AS (SELECT {DAY} AS day, buyer_id, SUM(amount) AS total FROM orders GROUP BY 1, 2) "
        "SELECT day, buyer_id, total, RANK() OVER (PARTITION BY day ORDER BY total DESC) AS place FROM days",
        (OF_DAY,),
    ),
    "lookup in groups": (
        f"SELECT {DAY} AS day, city, COUNT(*) AS n FROM orders LEFT JOIN buyers ON orders.buyer_id = buyers.buyer_id "
        f"GROUP BY {DAY}, city",
        (OF_DAY, BUYERS_LOOKED_UP),
    ),
}


def well_scoped() -> dict[str, MartSpec]:
    """Every one as a mart, by what it shows."""
    found = {what: scoped(sql, *reads) for what, (sql, reads) in BY_NUMBER.items()}
    return found | {f"day: {what}": scoped(sql, *reads, scope="day") for what, (sql, reads) in BY_DAY.items()}
