"""Where the SQL of a mart uses rules."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.rule_calls import masked, rule_calls

SQL = """SELECT amount * RULE('share') AS x, -- not RULE('this')
    rule ( "factor" ) AS y, 'RULE(''text'')' AS z, rule AS r, t.rule
FROM t WHERE `rule`('share') <> 0"""


def test_every_use_in_the_order_of_the_text():
    calls = rule_calls(SQL)
    assert [(call.value, call.line) for call in calls] == [("share", 1), ("factor", 2), ("share", 3)]
    assert [SQL[call.start : call.stop] for call in calls] == [
        "RULE('share')",
        'rule ( "factor" )',
        "`rule`('share')",
    ]


def test_a_use_is_a_column_that_is_found_again():
    text = masked(SQL, rule_calls(SQL))
    assert text.startswith("SELECT amount * rule__0 AS x, -- not RULE('this')\n    rule__1 AS y, 'RULE(")
    assert text.endswith("FROM t WHERE rule__2 <> 0")


@pytest.mark.parametrize(
    "call", ["RULE()", "RULE(share)", "RULE('a', 'b')", "RULE('a' || 'b')", "RULE(RULE('a'))", "RULE(", "RULE('a'"]
)
def test_a_use_that_names_no_value(call):
    with pytest.raises(
        ContractError, match=r"RULE takes the name of one value in quotes; write it as RULE\('share'\)"
    ) as caught:
        rule_calls(f"SELECT 1,\n{call}")
    assert caught.value.at == ("sql", 2)
