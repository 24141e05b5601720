"""The law of rules in SQL: what SQLite makes of the text is what plain Python makes of the rows and the versions.

Values are whole numbers here, which SQLite computes exactly; test_with_engine.py has the decimals.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.sql_analysis.mart_sql import analyse_mart
from tests.support.rule_files import case_of
from tests.support.ruled_marts import OF_MONTH, PAID, book_of, ruled
from tests.support.shop import BUYERS_LOOKED_UP, shop

MONTHS = ("2025-12", "2026-01", "2026-02", "2026-03")
CITIES = {1: 5, 2: 6, 3: None}
"""The city of each buyer; a number, so that values may be cases of it."""
NUMBERS = st.integers(0, 4)
ROWS = st.lists(
    st.tuples(st.none() | st.sampled_from(MONTHS), st.none() | NUMBERS, st.none() | st.integers(1, 5), NUMBERS),
    max_size=20,
)
VALUES = st.tuples(st.sampled_from(["kind", "amount", "city"]), st.dictionaries(st.integers(0, 6), NUMBERS), NUMBERS)
VERSIONS = st.dictionaries(st.sampled_from(["v1", "v2", "old", "other"]), st.tuples(VALUES, VALUES), min_size=1)
SQLS = (
    "SELECT paid.month, kind, SUM(amount * RULE('share') + RULE('more')) AS total, MAX(RULE('version')) AS v FROM paid "
    "LEFT JOIN buyers ON paid.buyer_id = buyers.buyer_id WHERE RULE('share') <> 0 GROUP BY paid.month, kind",
    "WITH counted AS (SELECT p.month, p.kind, amount * rule( 'share' ) + RULE(\"more\") AS x, RULE('version') AS v "
    "FROM paid p LEFT JOIN buyers AS b ON b.buyer_id = p.buyer_id WHERE 0 <> RULE('share')) "
    "SELECT month, kind, SUM(x) AS total, MAX(v) AS v FROM counted GROUP BY month, kind -- RULE('share')",
)


@settings(max_examples=40)
@given(ROWS, VERSIONS, st.data())
def test_each_month_counts_by_its_version(rows, versions, data):
    months = data.draw(st.dictionaries(st.sampled_from(MONTHS), st.sampled_from(sorted(versions))))
    sqls: dict[str, Any] = {
        version: {
            name: case_of(column, {number: str(result) for number, result in results.items()}, str(otherwise))
            for name, (column, results, otherwise) in zip(("share", "more"), values, strict=True)
        }
        for version, values in versions.items()
    }
    declared = ruled(data.draw(st.sampled_from(SQLS)), OF_MONTH, BUYERS_LOOKED_UP)
    query = analyse_mart(declared, shop(PAID, declared), book_of(**sqls))
    text = query.sql({"paid": "paid_7", "buyers": "buyers_7"}, time_zone="UTC", months=months)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE paid_7 (month TEXT, kind INTEGER, buyer_id INTEGER, amount INTEGER)")
        database.execute("CREATE TABLE buyers_7 (buyer_id INTEGER, city INTEGER)")
        database.executemany("INSERT INTO paid_7 VALUES (?, ?, ?, ?)", rows)
        database.executemany("INSERT INTO buyers_7 VALUES (?, ?)", CITIES.items())
        found = {(month, kind): rest for month, kind, *rest in database.execute(text)}
    totals: dict[tuple[str, int | None], int] = defaultdict(int)
    for month, kind, buyer, amount in rows:
        if month not in months:
            continue
        row = {"kind": kind, "amount": amount, "city": CITIES.get(buyer)}
        share, more = (results.get(row[column], otherwise) for column, results, otherwise in versions[months[month]])
        if share:
            totals[month, kind] += amount * share + more
    assert found == {cell: [total, months[cell[0]]] for cell, total in totals.items()}
