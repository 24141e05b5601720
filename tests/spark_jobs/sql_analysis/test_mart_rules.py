"""Rules in the SQL of marts: what a use becomes, whose columns it may have, and what does not fit together.

``totals`` over ``paid`` is that of tests/support/ruled_marts.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartSpec, ReadSpec
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.sql_analysis.mart_rules import rule_mistakes
from spark_jobs.sql_analysis.mart_sql import MartQuery, analyse_mart
from tests.support.ruled_marts import OF_MONTH, PAID, TOTALS, book_of, ruled
from tests.support.shop import BUYERS_LOOKED_UP, shop

BOOK = book_of(v1="CASE kind WHEN 1 THEN 1 ELSE 0 END", v2="CASE kind WHEN 2 THEN 0.5 ELSE 0 END -- half")
MONTHS = {"2026-03": "v1", "2026-01": "v1", "2026-02": "v2"}
JOINED = "SELECT p.month, p.kind, {} AS x FROM paid AS p LEFT JOIN buyers b ON p.buyer_id = b.buyer_id"


def analysed(declared: MartSpec, book: RuleBook = BOOK) -> MartQuery:
    return analyse_mart(declared, shop(PAID, declared), book)


def filled(declared: MartSpec, months: dict[str, str], book: RuleBook = BOOK) -> str:
    names = {read.table: read.table for read in declared.reads}
    return analysed(declared, book).sql(names, time_zone="UTC", months=months)


def refusals(declared: MartSpec, book: RuleBook) -> list[tuple[str, tuple[Any, ...]]]:
    return [(str(error), error.at) for error in rule_mistakes(declared, shop(PAID, declared), book)]


def test_a_use_becomes_the_values_of_the_versions_of_the_months():
    share = (
        "CASE WHEN paid.month IN ('2026-01', '2026-03') THEN CAST((CASE paid.kind WHEN 1 THEN 1 ELSE 0 END) AS "
        "DECIMAL(9,6)) WHEN paid.month IN ('2026-02') THEN CAST((CASE paid.kind WHEN 2 THEN 0.5 ELSE 0 END) AS "
        "DECIMAL(9,6)) END"
    )
    version = "CASE WHEN paid.month IN ('2026-01', '2026-03') THEN 'v1' WHEN paid.month IN ('2026-02') THEN 'v2' END"
    assert filled(ruled(), MONTHS) == (
        f"SELECT month, kind, SUM(amount * {share}) AS total, COUNT(*) AS n, MAX({version}) AS counted_by\n"
        f"FROM paid AS paid WHERE {share} <> 0 GROUP BY month, kind"
    )


def test_without_a_month_every_value_is_null():
    assert filled(ruled(), {}) == (
        "SELECT month, kind, SUM(amount * CAST(NULL AS DECIMAL(9,6))) AS total, COUNT(*) AS n, "
        "MAX(CAST(NULL AS STRING)) AS counted_by\nFROM paid AS paid WHERE CAST(NULL AS DECIMAL(9,6)) <> 0 "
        "GROUP BY month, kind"
    )


def test_the_month_is_the_scope_that_the_read_declares():
    month = "date_format(from_utc_timestamp(paid_at, :time_zone), 'yyyy-MM')"
    sql = f"SELECT {month} AS month, buyer_id AS kind, RULE('version') AS v FROM orders o"
    text = filled(ruled(sql, ReadSpec(table="orders", scope=month)), {"2026-01": "v1"})
    there = "date_format(from_utc_timestamp(o.paid_at, 'UTC'), 'yyyy-MM')"
    assert f"buyer_id AS kind, CASE WHEN {there} IN ('2026-01') THEN 'v1' END AS v" in text


@pytest.mark.parametrize(
    ("sql", "resolved"),
    [
        ("IF(kind = 1, 1, 0)", "IF(p.kind = 1, 1, 0)"),
        ("IF(Kind = 1, 1, 0)", "IF(p.Kind = 1, 1, 0)"),
        ("IF(`kind` = 1, 1, 0)", "IF(p.`kind` = 1, 1, 0)"),
        ("IF(city = 'kind', 1, 0)", "IF(b.city = 'kind', 1, 0)"),
        ("IF(city = 'x' AND kind = 1, 1, 0)", "IF(b.city = 'x' AND p.kind = 1, 1, 0)"),
        ("IF(paid.buyer_id = 1, 1, 0)", "IF(p.buyer_id = 1, 1, 0)"),
        ("IF( paid . kind = buyers.buyer_id , 1, 0)", "IF( p.kind = b.buyer_id , 1, 0)"),
        ("/* all */ IF(kind = -- of\n 1, 1, 0) -- them", "IF(p.kind = -- of\n 1, 1, 0)"),
    ],
)
def test_columns_are_those_of_the_tables_that_the_select_reads(sql, resolved):
    declared = ruled(JOINED.format("RULE('share')"), OF_MONTH, BUYERS_LOOKED_UP)
    text = filled(declared, {"2026-01": "v1"}, book_of(v1=sql))
    assert f"CASE WHEN p.month IN ('2026-01') THEN CAST(({resolved}) AS DECIMAL(9,6)) END AS x" in text


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("IF(knd = 1, 1, 0)", "there is no column 'knd' in ['buyers', 'paid']; write 'kind'"),
        ("IF(paid.city = 'x', 1, 0)", "there is no column 'paid.city' in ['buyers', 'paid']; give one of ['number', "),
        ("IF(p.kind = 1, 1, 0)", "there is no column 'p.kind' in ['buyers', 'paid']; begin with one of"),
        ("IF(orders.kind = 1, 1, 0)", "there is no column 'orders.kind' in"),
        ("IF(lake.paid.kind = 1, 1, 0)", "'lake.paid.kind' is more than a table and its column; write table.column"),
        ("IF(buyer_id = 1, 1, 0)", "'buyer_id' is a column of each of ['buyers', 'paid']; write buyers.buyer_id"),
    ],
)
def test_columns_that_are_none_or_more_than_one(sql, message):
    declared = ruled(JOINED.format("RULE('share')"), OF_MONTH, BUYERS_LOOKED_UP)
    ((text, at),) = refusals(declared, book_of(v1="1", v2=sql))
    assert text.startswith(f"rules v2: share: {message}")
    assert text.endswith("(mart answers uses it)")
    assert at == ("rules", "v2", "values", "share", "sql")
    with pytest.raises(ContractError, match="rules v2: share: "):
        analysed(declared, book_of(v1="1", v2=sql))


def test_values_that_are_not_there():
    declared = ruled(TOTALS.replace("COUNT(*)", "SUM(RULE('fctor'))"))
    book = book_of(v1={"share": "1"}, v2={"share": "1", "factor": "1"}, v3={"factor": "2"})
    assert refusals(declared, book) == [
        (
            "rules v3: value 'share' is not there, which mart answers uses; add it",
            ("rules", "v3", "values"),
        ),
        ("mart answers: there is no rule value 'fctor'; write 'factor'", ("marts", "answers", "sql", 1)),
    ]
    right = ruled(TOTALS.replace("'share'", "'factor'"))
    assert [at[:2] for _, at in refusals(right, book)] == [("rules", "v1")]


def test_a_version_that_is_not_there_any_more():
    with pytest.raises(ContractError, match=r"there are no rules 'v3'; there are \['v1', 'v2'\]"):
        filled(ruled(), {"2026-01": "v3"})


def test_a_month_that_is_none():
    with pytest.raises(ContractError, match="is not a month; give yyyy-MM"):
        filled(ruled(), {"2026-01') OR ('1' = '1": "v1"})


def test_rules_have_to_be_given():
    declared = ruled()
    for query in (analyse_mart(declared, shop(PAID, declared)), analysed(declared)):
        with pytest.raises(ContractError, match="mart answers needs rules; give the versions and each month's"):
            query.sql({"paid": "paid"}, time_zone="UTC", months=None if query.rules else MONTHS)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH p AS (SELECT month, kind, amount FROM paid) SELECT month, kind, RULE('share') AS x FROM p",
        "SELECT month, kind, RULE('share') AS x FROM (SELECT * FROM paid) AS p",
        "SELECT m AS month, k AS kind, RULE('share') AS x FROM paid AS p(number, m, buyer_id, k, amount)",
    ],
)
def test_a_use_belongs_to_a_select_that_reads_a_table_with_the_scope(sql):
    declared = ruled(sql)
    with pytest.raises(ContractError, match=r"RULE\('share'\) is in no SELECT that itself reads .* \['paid'\]"):
        analyse_mart(declared, shop(PAID, declared))


def test_a_use_inside_a_query_of_its_own():
    sql = "WITH p AS (SELECT month, kind, RULE('share') AS s FROM paid AS q) SELECT month, kind, s FROM p"
    text = filled(ruled(sql), {"2026-01": "v1"})
    assert "CASE WHEN q.month IN ('2026-01') THEN CAST((CASE q.kind WHEN 1 THEN 1 ELSE 0 END)" in text
    assert text.endswith("FROM paid AS q) SELECT month, kind, s FROM p")


def test_a_use_that_names_no_value_has_its_line():
    declared = ruled("SELECT month, kind,\nRULE(share) AS x FROM paid")
    with pytest.raises(ContractError, match=r"^mart answers: RULE takes the name of one value in quotes") as caught:
        analyse_mart(declared, shop(PAID, declared))
    assert caught.value.at == ("sql", 2)


def test_rules_have_to_be_declared_and_used():
    declared = ruled(rules=False)
    with pytest.raises(ContractError, match=r"its SQL uses RULE\(…\), and it does not have rules: true; add that"):
        analyse_mart(declared, shop(PAID, declared))
    declared = ruled("SELECT month, kind FROM paid")
    with pytest.raises(ContractError, match=r"it has rules: true, and its SQL uses no RULE\('…'\); take that out"):
        analyse_mart(declared, shop(PAID, declared))


def test_columns_of_every_version_matter_to_the_mart():
    known = ("number", "month", "buyer_id", "kind", "amount")
    other = book_of(v1="1", v2={"share": "CASE Number WHEN 1 THEN 1 ELSE 0 END", "idle": "buyer_id"})
    assert analysed(ruled()).used_columns("paid", known) == {"month", "kind", "amount"}
    assert analysed(ruled(), other).used_columns("paid", known) == {"month", "kind", "amount", "number"}
