"""Rules in the SQL of marts, run by Spark: exact decimals, and a result that its type does not hold stops the query.

``paid`` has 300 rows made from a seed: six months and none, kinds 0 to 5 and none, amounts with four digits after the
point.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.sql_analysis.mart_sql import MartQuery, analyse_mart
from tests.support.rule_files import case_of
from tests.support.ruled_marts import PAID, book_of, ruled
from tests.support.shop import shop

pytestmark = pytest.mark.spark

MONTHS = [f"2026-{number:02}" for number in range(1, 7)]
PAID_ROW = "number bigint, month string, buyer_id bigint, kind bigint, amount decimal(18,4)"
GREATEST = "SELECT month, kind, MAX(RULE('share')) AS share FROM paid GROUP BY month, kind"
EXACT = Context(prec=100)
Row = tuple[int, str | None, int, int | None, Decimal]
NUMBERS = st.integers(0, 999_999_999).map(lambda units: f"{units // 10**6}.{units % 10**6:06}")
RESULTS = st.sampled_from(["0", "1", "0.5", "999.999999", "0.000001"]) | NUMBERS
CASES = st.tuples(st.sampled_from(["kind", "buyer_id"]), st.dictionaries(st.integers(0, 6), RESULTS), RESULTS)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    chance = random.Random(7)
    return [
        (
            number,
            chance.choice([*MONTHS, None]),
            chance.randrange(7),
            chance.choice([None, *range(6)]),
            Decimal(chance.randrange(-(10**7), 10**7)) / 10**4,
        )
        for number in range(300)
    ]


@pytest.fixture(scope="module")
def paid(spark: SparkSession, rows: list[Row]) -> str:
    """The name of the rows in Spark."""
    spark.createDataFrame(rows, PAID_ROW).createOrReplaceTempView("paid_rows")
    return "paid_rows"


@settings(max_examples=8)
@given(st.dictionaries(st.sampled_from(["v1", "v2", "other"]), CASES, min_size=1), st.data())
def test_totals_are_those_of_plain_python(
    spark: SparkSession, paid: str, rows: list[Row], versions: dict[str, Any], data: st.DataObject
) -> None:
    months = data.draw(st.dictionaries(st.sampled_from(MONTHS), st.sampled_from(sorted(versions))))
    declared = ruled()
    book = book_of(**{version: case_of(*case) for version, case in versions.items()})
    query = analyse_mart(declared, shop(PAID, declared), book)
    found_df = spark.sql(query.sql({"paid": paid}, time_zone="UTC", months=months))
    expected: dict[tuple[Any, Any], list[Any]] = {}
    for _, month, buyer_id, kind, amount in rows:
        if month not in months:
            continue
        column, results, otherwise = versions[months[month]]
        share = Decimal(results.get({"kind": kind, "buyer_id": buyer_id}[column], otherwise))
        if share:
            cell = expected.setdefault((month, kind), [Decimal(0), 0, months[month]])
            cell[0] = EXACT.add(cell[0], EXACT.multiply(amount, share))
            cell[1] += 1
    assert {(row.month, row.kind): [row.total, row.n, row.counted_by] for row in found_df.collect()} == expected


def greatest(type_: str, sql: str) -> MartQuery:
    declared = ruled(GREATEST)
    return analyse_mart(declared, shop(PAID, declared), book_of(type_, v1=sql))


def rounded(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


@pytest.mark.parametrize(
    ("type_", "sql", "value"),
    [
        ("decimal(18,6)", "ROUND(amount * 0.001, 6)", lambda kind, amount: rounded(amount / 1000, 6)),
        ("decimal(18,6)", "kind", lambda kind, amount: kind),
        ("decimal(9,6)", "IF(kind < 3, 0.25, kind)", lambda kind, amount: Decimal("0.25") if kind < 3 else kind),
        ("decimal(9,4)", "COALESCE(NULL, amount)", lambda kind, amount: amount),
        ("bigint", "kind DIV 2", lambda kind, amount: kind // 2),
        ("string", "CONCAT('k', SUBSTR('abcdef', kind + 1, 1))", lambda kind, amount: "k" + "abcdef"[kind]),
        ("boolean", "amount > 0 AND kind > 1", lambda kind, amount: amount > 0 and kind > 1),
    ],
)
def test_a_result_of_columns_is_what_it_is(
    spark: SparkSession, paid: str, rows: list[Row], type_: str, sql: str, value: Callable[[int, Decimal], Any]
) -> None:
    months = dict.fromkeys(MONTHS[:4], "v1")
    text = greatest(type_, sql).sql({"paid": paid}, time_zone="UTC", months=months)
    found = {(row.month, row.kind): row.share for row in spark.sql(text).where("kind IS NOT NULL").collect()}
    expected: dict[tuple[Any, Any], Any] = {}
    for _, month, _, kind, amount in rows:
        if kind is not None:
            shares = [expected.get((month, kind)), value(kind, amount) if month in months else None]
            expected[month, kind] = max((share for share in shares if share is not None), default=None)
    assert found == expected


@pytest.mark.parametrize(
    ("type_", "sql"),
    [
        ("decimal(9,6)", "amount * 0.001"),
        ("decimal(9,6)", "ABS(amount) * 1000000"),
        ("decimal(9,6)", "CONCAT('0.', '5')"),
        ("decimal(9,6)", "amount > 0"),
        ("bigint", "amount"),
        ("bigint", "kind * 0.5"),
        ("string", "kind"),
        ("boolean", "kind"),
    ],
)
def test_a_result_that_its_type_does_not_hold_stops_the_query(
    spark: SparkSession, paid: str, type_: str, sql: str
) -> None:
    text = greatest(type_, sql).sql({"paid": paid}, time_zone="UTC", months=dict.fromkeys(MONTHS, "v1"))
    with pytest.raises(Exception, match="rules v1: share has a result that is no"):
        spark.sql(text).collect()


def test_an_empty_choice_of_months_has_the_type_all_the_same(spark: SparkSession, paid: str) -> None:
    query = greatest("decimal(9,6)", "0.5")
    some, none = (
        spark.sql(query.sql({"paid": paid}, time_zone="UTC", months=months)) for months in ({"2026-01": "v1"}, {})
    )
    assert some.schema == none.schema
    assert {row.share for row in none.collect()} == {None}
