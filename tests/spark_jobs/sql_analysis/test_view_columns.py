"""Which columns of a view name people: by every way that a name may go through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.view_columns import columns_of_view, people_in_view

SPEC = load_lake_spec(Settings().lake_spec)
COMPANY = load_lake_spec(str(PROJECT_ROOT / "include" / "lakes" / "company.yaml"))
INNER = "SELECT agent_id, agent_name AS seller FROM agents"


def roles(sql: str, *reads: str, spec=SPEC) -> set[str]:
    """The people in the column x of a view, beside a view ``sellers``."""
    texts = {"a_view": sql, "sellers": INNER}
    found = people_in_view("a_view", texts, {"a_view": frozenset(reads), "sellers": frozenset({"agents"})}, spec)
    return {*found["x"]}


@pytest.mark.parametrize(
    ("sql", "reads", "expected"),
    [
        ("SELECT agent_name AS x FROM agents", "agents", {"agent"}),
        ("SELECT a.agent_name AS x FROM sales s LEFT JOIN agents a ON s.agent_id = a.agent_id", "agents sales",
         {"agent"}),
        ("SELECT UPPER(SUBSTR(agent_name, 1, 3)) AS x FROM agents", "agents", {"agent"}),
        ("SELECT CONCAT(a.agent_name, c.customer_name) AS x FROM agents a, customers c", "agents customers",
         {"agent", "customer"}),
        ("SELECT CASE WHEN agent_id > 5 THEN agent_name ELSE 'x' END AS x FROM agents", "agents", {"agent"}),
        ("WITH w AS (SELECT agent_name AS n FROM agents) SELECT n AS x FROM w", "agents", {"agent"}),
        ("SELECT seller AS x FROM sellers", "sellers", {"agent"}),
        ("SELECT agent_name AS x FROM agents UNION ALL SELECT customer_name FROM customers", "agents customers",
         {"agent", "customer"}),
        ("SELECT customer_id AS x FROM sales", "sales", {"customer"}),
        ("SELECT agent_name AS x FROM sales_log", "sales_log", {"agent"}),
        ("SELECT status_name AS x FROM statuses", "statuses", set()),
        ("SELECT COUNT(*) AS x FROM agents", "agents", set()),
        ("SELECT s.unit_id AS x FROM sales s JOIN agents a ON s.agent_id = a.agent_id WHERE a.agent_name = 'b'",
         "sales agents", set()),
        ("SELECT y AS x FROM somewhere_else", "somewhere_else", {"agent", "customer"}),
        ("SELECT z.q AS x FROM (SELECT agent_id AS p FROM agents) z", "agents", {"agent", "customer"}),
    ],
)  # fmt: skip
def test_people_are_found_by_every_way_and_what_is_not_certain_names_all(sql: str, reads: str, expected: set[str]):
    assert roles(sql, *reads.split()) == expected


def test_columns_of_mirrors_name_people_by_their_own_names():
    assert roles("SELECT a.email AS x FROM accounts AS a", "accounts", spec=COMPANY) == {"customer"}
    assert roles("SELECT segment AS x FROM accounts", "accounts", spec=COMPANY) == set()
    assert roles("SELECT customer_id AS x FROM orders", "orders", spec=COMPANY) == {"customer"}


def test_a_table_has_the_people_of_its_own_columns():
    found = people_in_view("customers", {}, {}, SPEC)
    assert found == {"customer_id": {"customer"}, "customer_name": {"customer"}}


def test_a_table_whose_columns_only_its_source_knows_is_refused():
    with pytest.raises(ContractError, match="write a view over it"):
        columns_of_view("accounts", {}, COMPANY)


def test_the_shipped_views_name_agents_and_customers_where_they_say_so():
    views = load_views(Path(Settings().views_path))
    texts, reads = {view.name: view.text for view in views}, {view.name: view.reads for view in views}
    named = {
        (view.name, column): {*of}
        for view in views
        for column, of in people_in_view(view.name, texts, reads, SPEC).items()
        if of
    }
    assert all(column.split("_")[0] in of for (_, column), of in named.items())
    assert {column for _, column in named} == {"agent_name", "customer_name"}
