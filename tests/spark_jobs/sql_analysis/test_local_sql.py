"""What the local engine may answer: the grammar, kinds of values, names. Everything else is Spark's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.local_kinds import TRUTH, WHOLE, Kind, LocalColumn
from spark_jobs.sql_analysis.local_sql import LocalSelect, NotLocalError, Reason, localize
from spark_jobs.sql_analysis.statements import read_select

MONEY = LocalColumn(kind=Kind.DECIMAL, digits=12, scale=2)
TEXT = LocalColumn(kind=Kind.TEXT)
SALES = {
    "sale_id": WHOLE,
    "agent_id": WHOLE,
    "price": MONEY,
    "name": TEXT,
    "day": LocalColumn(kind=Kind.DATE),
    "at": LocalColumn(kind=Kind.TIMESTAMP),
    "weight": LocalColumn(kind=Kind.SHOWN),
    "tags": LocalColumn(kind=Kind.NESTED),
    "is_open": TRUTH,
}
SCHEMA = {"sales": SALES, "agents": {"agent_id": WHOLE, "agent_name": TEXT}}
VIEWS = {
    "named": "SELECT sales.sale_id, agents.agent_name FROM sales LEFT JOIN agents ON sales.agent_id = agents.agent_id"
}


def localized(sql: str) -> LocalSelect:
    query = read_select(sql)
    assert query is not None
    return localize(query, SCHEMA, VIEWS)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT sale_id, price FROM sales", ("sale_id", "price")),
        ("SELECT * FROM agents LIMIT 3", ("agent_id", "agent_name")),
        ("SELECT count(*), count(name), sum(price) FROM sales", ("count(1)", "count(name)", "sum(price)")),
        ("SELECT count(DISTINCT name), max(day) AS d FROM sales", ("count(DISTINCT name)", "d")),
        ("SELECT * FROM named ORDER BY agent_name DESC", ("sale_id", "agent_name")),
        ("SELECT weight FROM sales WHERE weight IS NULL", ("weight",)),
        ("SELECT s.name FROM sales s WHERE s.at >= '2026-01-01 10:00:00' AND day < '2026-02-01'", ("name",)),
        (
            "WITH x AS (SELECT name FROM sales) SELECT x.name FROM x JOIN agents ON x.name = agents.agent_name",
            ("name",),
        ),
        ("SELECT name, count(*) AS n FROM sales GROUP BY name HAVING count(*) > 2 ORDER BY n DESC", ("name", "n")),
    ],
)
def test_columns_are_called_as_spark_calls_them(sql: str, columns: tuple[str, ...]) -> None:
    assert localized(sql).columns == columns


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT price + 1 FROM sales", Reason.SHAPE),
        ("SELECT avg(price) FROM sales", Reason.SHAPE),
        ("SELECT upper(name) FROM sales", Reason.SHAPE),
        ("SELECT CAST(price AS INT) FROM sales", Reason.SHAPE),
        ("SELECT count(*) OVER () FROM sales", Reason.SHAPE),
        ("SELECT name FROM sales TABLESAMPLE (1 PERCENT)", Reason.SHAPE),
        ("SELECT name FROM sales UNION ALL SELECT agent_name FROM agents", Reason.SHAPE),
        ("SELECT name FROM sales WHERE sale_id IN (SELECT agent_id FROM agents)", Reason.SHAPE),
        ("SELECT name FROM sales JOIN agents USING (agent_id)", Reason.SHAPE),
        ("SELECT name FROM sales NATURAL JOIN agents", Reason.SHAPE),
        ("SELECT name FROM sales LEFT SEMI JOIN agents ON sales.agent_id = agents.agent_id", Reason.SHAPE),
        ("SELECT name FROM sales WHERE name LIKE 'a%'", Reason.SHAPE),
        ("SELECT CASE WHEN is_open THEN 1 END FROM sales", Reason.SHAPE),
        ("SELECT name FROM sales GROUP BY name WITH ROLLUP", Reason.SHAPE),
        ("SELECT name FROM sales LIMIT 1 OFFSET 2", Reason.SHAPE),
        ("SELECT name FROM sales WHERE name = 1", Reason.KINDS),
        ("SELECT name FROM sales WHERE sale_id = '1'", Reason.KINDS),
        ("SELECT name FROM sales WHERE day = '2026-1-5'", Reason.KINDS),
        ("SELECT name FROM sales WHERE day = at", Reason.KINDS),
        ("SELECT name FROM sales WHERE price > 1e3", Reason.KINDS),
        ("SELECT name FROM sales WHERE weight > 1", Reason.KINDS),
        ("SELECT DISTINCT weight FROM sales", Reason.KINDS),
        ("SELECT name FROM sales ORDER BY weight", Reason.KINDS),
        ("SELECT sum(weight) FROM sales", Reason.KINDS),
        ("SELECT tags FROM sales", Reason.KINDS),
        ("SELECT * FROM sales", Reason.KINDS),
        ("SELECT name FROM sales WHERE sale_id", Reason.KINDS),
        (r"SELECT name FROM sales WHERE name = 'a\\b'", Reason.KINDS),
        ("SELECT Name FROM sales", Reason.NAMES),
        ("SELECT name AS price FROM sales", Reason.NAMES),
        ("WITH agents AS (SELECT name FROM sales) SELECT name FROM agents", Reason.NAMES),
        ("SELECT agent_id FROM sales JOIN agents ON sales.agent_id = agents.agent_id", Reason.NAMES),
    ],
)
def test_what_is_not_certain_is_sparks(sql: str, reason: Reason) -> None:
    with pytest.raises(NotLocalError) as refused:
        localized(sql)
    assert refused.value.reason is reason


def test_a_column_that_no_table_has_is_a_mistake_with_the_nearest_name() -> None:
    with pytest.raises(ContractError, match="none of its tables has a column 'prise'; write 'price'"):
        localized("SELECT prise FROM sales")


def test_a_sum_of_whole_numbers_that_is_too_large_is_an_error_and_so_sparks() -> None:
    assert "CAST(SUM" in localized("SELECT sum(sale_id) FROM sales").sql
    assert "CAST" not in localized("SELECT sum(price) FROM sales").sql


def test_nulls_come_where_spark_has_them() -> None:
    ascending, descending = (localized(f"SELECT name FROM sales ORDER BY name {way}").sql for way in ("ASC", "DESC"))
    assert ascending.endswith("NULLS FIRST")
    assert "NULLS FIRST" not in descending


@settings(max_examples=25, deadline=None)
@given(st.text("abc'=(),. 1", max_size=20))
def test_any_text_is_taken_or_refused_and_never_an_accident(text: str) -> None:
    query = read_select(f"SELECT name FROM sales WHERE name = {text}")
    if query is not None:
        try:
            localize(query, SCHEMA, VIEWS)
        except (NotLocalError, ContractError):
            return
