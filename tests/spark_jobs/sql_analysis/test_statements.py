"""Which tables a statement names."""

from __future__ import annotations

import pytest

from spark_jobs.sql_analysis.statements import names_in, reached, read_select


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM Sales", {"sales"}),
        ("SELECT * FROM a JOIN b ON a.x = b.x WHERE EXISTS (SELECT 1 FROM c)", {"a", "b", "c"}),
        ("WITH x AS (SELECT * FROM a) SELECT * FROM x, b", {"a", "b"}),
        ("SELECT 1", set()),
        ("SELECT * FROM db.a", None),
        ("SELECT * FROM range(3)", None),
    ],
)
def test_names_are_those_of_tables_and_views(sql: str, names: set[str] | None) -> None:
    query = read_select(sql)
    assert query is not None
    assert names_in(query) == names


@pytest.mark.parametrize("text", ["DROP TABLE a", "SELECT (", "SELECT 1; SELECT 2", "TABLE a", ""])
def test_what_is_no_select_is_left_to_spark(text: str) -> None:
    assert read_select(text) is None


def test_what_is_behind_views_is_reached() -> None:
    assert reached(["v"], {"v": {"w", "a"}, "w": {"b"}}) == {"v", "w", "a", "b"}
