"""SQL of rule values: what an expression may be made of, and the SQL that has the declared type and no other result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.rules import RuleValue
from spark_jobs.sql_analysis.rule_sql import check_value, typed_sql

RIGHT = {
    "a case of numbers": ("decimal(9,6)", "CASE kind WHEN 6 THEN 0.2 WHEN 7 THEN .3 ELSE 0 END"),
    "conditions": (
        "decimal(9,6)",
        "case when kind in (6, 7) and not (city = 'x') or amount between 1 and 2 then -0.5 else 999.999999 end",
    ),
    "nothing": ("decimal(9,6)", "CASE kind WHEN 8 THEN NULL END"),
    "choices inside choices": ("decimal(9,6)", "COALESCE(IF(kind = 1, (CASE WHEN big THEN 1 END), 0.1), 0.25)"),
    "arithmetic": ("decimal(18,6)", "ROUND(amount * 0.0000001 + GREATEST(amount, 1) - ABS(amount) % 3, 6)"),
    "a quotient of decimals": ("decimal(9,6)", "ROUND(CAST(part AS DECIMAL(18, 0)) / whole, 6)"),
    "a quotient by a decimal": ("decimal(9,6)", "ROUND(part / 100.0, 6)"),
    "a quotient in whole numbers": ("bigint", "part DIV 100"),
    "a whole number": ("bigint", "CASE WHEN kind > 8 THEN 9223372036854775807 ELSE -3 END"),
    "text": ("string", "CASE UPPER(TRIM(city)) WHEN 'OSLO' THEN 'north' ELSE CONCAT('of ', city) END"),
    "yes and no": ("boolean", "IF(kind = 3, TRUE, amount > 5 AND city LIKE 'a%')"),
    "days": ("bigint", "CASE WHEN paid_at < DATE '2026-02-01' THEN YEAR(paid_at) ELSE 0 END"),
    "a comment and a semicolon": ("decimal(9,6)", "1 -- all of it\n;"),
    "38 digits": ("decimal(38,6)", "12345678901234567890123456789012.123456"),
}


@pytest.mark.parametrize(("type_", "sql"), RIGHT.values(), ids=RIGHT)
def test_expressions_that_are_right(type_, sql):
    check_value(RuleValue(name="share", type=type_, sql=sql), "rules v1")


@pytest.mark.parametrize(
    ("type_", "sql", "message"),
    [
        ("decimal(9,6)", "", "its SQL has 0 statements; give one expression"),
        ("decimal(9,6)", "CASE kind WHEN 1 THEN", "its SQL cannot be read ("),
        ("decimal(9,6)", "1; 2", "its SQL has 2 statements; give one expression"),
        ("decimal(9,6)", "SELECT 1", "is not one value of one row; give an expression over its columns"),
        ("decimal(9,6)", "(SELECT MAX(share) FROM shares)", "is not one value of one row"),
        ("decimal(9,6)", "CASE WHEN kind IN (SELECT 1) THEN 1 END", "is not one value of one row"),
        ("decimal(9,6)", "SUM(amount)", "is not one value of one row"),
        ("decimal(9,6)", "RANK() OVER (ORDER BY kind)", "is not one value of one row"),
        ("decimal(9,6)", "EXPLODE(kinds)", "is not one value of one row"),
        ("decimal(9,6)", "*", "is not one value of one row"),
        ("decimal(9,6)", "kind AS share", "is not one value of one row"),
        ("decimal(9,6)", "rand()", "rand does not give the same for the same rows"),
        ("bigint", "CASE WHEN paid_at < current_date THEN 1 END", "does not give the same for the same rows"),
        ("bigint", "CASE WHEN paid_at < DATE 'today' THEN 1 END", "does not give the same for the same rows"),
        ("string", "current_user", "is no column and no constant; take it out"),
        ("decimal(9,6)", ":share", "has the parameter :share"),
        ("decimal(9,6)", "SQRT(amount)", "sqrt is not among the functions that rules may use; write it with some of"),
        ("decimal(9,6)", "POWER(2, 3)", "power is not among the functions"),
        ("decimal(9,6)", "RULE('share') * 2", "rule is not among the functions"),
        ("decimal(9,6)", "my_own(amount)", "my_own is not among the functions"),
        ("decimal(9,6)", "2e-1", "'2e-1' is no exact number; write it as digits with a point, for example 0.25"),
        ("decimal(9,6)", "amount * 1E3", "is no exact number"),
        ("decimal(9,6)", "0.2D", "DOUBLE is not exact; write decimals"),
        ("decimal(9,6)", "amount * 0.2F", "FLOAT is not exact; write decimals"),
        ("decimal(9,6)", "CAST(amount AS DOUBLE) * 2", "DOUBLE is not exact"),
        ("decimal(9,6)", "part / 100", "part / 100 may divide whole numbers, which gives a floating one; write CAST"),
        ("decimal(9,6)", "'0.2'", "'0.2' is no decimal(9,6); correct it, or give the value another type"),
        ("decimal(9,6)", "CASE kind WHEN 1 THEN 0.2000001 END", "0.2000001 is no decimal(9,6)"),
        ("decimal(9,6)", "IF(kind = 1, 1000, 0)", "1000 is no decimal(9,6)"),
        ("decimal(9,6)", "COALESCE(share, -(1000))", "1000) is no decimal(9,6)"),
        ("decimal(9,6)", "CASE kind WHEN 1 THEN TRUE ELSE 0 END", "TRUE is no decimal(9,6)"),
        ("bigint", "CASE kind WHEN 1 THEN 0.5 ELSE 0 END", "0.5 is no bigint"),
        ("bigint", "9223372036854775808", "9223372036854775808 is no bigint"),
        ("string", "CASE kind WHEN 1 THEN 2 ELSE 'x' END", "2 is no string"),
        ("boolean", "CASE kind WHEN 1 THEN 'true' ELSE FALSE END", "'true' is no boolean"),
    ],
)
def test_expressions_that_are_wrong(type_, sql, message):
    with pytest.raises(ContractError) as caught:
        check_value(RuleValue(name="share", type=type_, sql=sql), "rules v1")
    errors = [str(error) for error in caught.value.each]
    assert any(message in error for error in errors), errors
    assert all(error.startswith("rules v1: share: ") and "; " in error for error in errors)
    assert {error.at for error in caught.value.each} == {("sql",)}


def test_every_mistake_of_an_expression_at_once():
    with pytest.raises(ContractError) as caught:
        check_value(RuleValue(name="share", type="decimal(9,6)", sql="IF(sqrt(x) > 1e3, 0.1234567, 1000)"), "rules v1")
    assert len(caught.value.each) == 4


@given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))), st.data())
def test_a_constant_is_taken_exactly_when_its_type_holds_it(digits, data):
    precision, scale = digits
    units = data.draw(st.integers(0, 10**38 - 1))
    places = data.draw(st.integers(0, 20))
    text = f"{units // 10**places}.{units % 10**places:0{places}}" if places else str(units)
    value = RuleValue(name="share", type=f"decimal({precision},{scale})", sql=f"IF(kind = 1, {text}, 0)")
    holds = units * 10**scale % 10**places == 0 and units < 10 ** (precision - scale + places)
    assert is_taken(value) == holds


def is_taken(value: RuleValue) -> bool:
    try:
        check_value(value, "rules v1")
    except ContractError:
        return False
    return True


def test_constants_only_need_their_type():
    value = RuleValue(name="share", type="decimal(9,6)", sql="CASE kind WHEN 6 THEN 0.2 ELSE 0 END")
    sql = value.sql.replace("kind", "o.kind")
    assert typed_sql(value, sql, "v1") == "CAST((CASE o.kind WHEN 6 THEN 0.2 ELSE 0 END) AS DECIMAL(9,6))"


@pytest.mark.parametrize(
    ("type_", "pattern"),
    [("decimal(9,6)", "^decimal|int$"), ("bigint", "int$"), ("string", "^string$"), ("boolean", "^boolean$")],
)
def test_any_other_result_is_compared_with_its_type(type_, pattern):
    found = typed_sql(RuleValue(name="share", type=type_, sql="amount"), "o.amount", "v1")
    typed = f"CAST((o.amount) AS {type_.upper()})"
    assert found == (
        f"CASE WHEN (o.amount) IS NULL THEN NULL WHEN TYPEOF(o.amount) RLIKE '{pattern}' AND {typed} = (o.amount) THEN "
        f"{typed} ELSE RAISE_ERROR('rules v1: share has a result that is no {type_}; round or cast it there') END"
    )
