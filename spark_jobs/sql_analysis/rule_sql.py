"""SQL of rule values: which expressions there may be, and the expression with a type that it has exactly.

An expression gives the same for the same row, and nothing in it is a floating number. Constants that it may come to are
compared with the declared type when the file is read. Anything else is compared row by row when it is computed: a
result that the type cannot hold exactly stops the run, it is neither rounded nor made null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.names import plain, show
from spark_jobs.lake_spec.rules import RuleValue, decimal_digits
from spark_jobs.sql_analysis.mart_sql_functions import parse_expression
from spark_jobs.sql_analysis.mart_sql_text import functions_in, parse_sql, quoted

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS = "and between case decimal else if in like not or rlike then when"
"""Words of SQL that may come before an opening bracket and are no functions."""
_FUNCTIONS = """
    abs bround cast ceil ceiling coalesce concat datediff day endswith floor greatest if ifnull isnotnull isnull least
    left length lower ltrim mod month nullif nvl nvl2 pmod quarter replace right round rtrim startswith substr substring
    trim upper year
"""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_LARGEST = 2**63
_SPARK_TYPES = {"bigint": "int$", "boolean": "^boolean$", "string": "^string$"}
"""What ``typeof`` says of a result that can be of a type; of decimals it is ``^decimal|int$``."""


def check_value(value: RuleValue, what: str) -> None:
    """Raise ContractError for each thing that is wrong with the expression of a value of ``what``: ``rules v2``."""
    raise_all(ContractError(f"{what}: {value.name}: {reason}", at=("sql",)) for reason in _reasons(value))


def _reasons(value: RuleValue) -> Iterator[str]:
    from sqlglot import exp

    try:
        tree = parse_expression(value.sql)
    except ContractError as error:
        yield str(error)
        return
    words = {word for word in functions_in(value.sql) if word[0].isalpha() or word[0] == "_"}
    if unknown := sorted(words.difference(_WORDS.split(), _FUNCTIONS.split())):
        known = sorted(_FUNCTIONS.split())
        yield f"{plain(unknown[0])} is not among the functions that rules may use; write it with some of {known}"
    for call in tree.find_all(exp.Func):
        if not any(call.iter_expressions()):
            yield f"{_words(call)} is no column and no constant; take it out"
    yield from _inexact(tree)
    for result in _results(tree):
        if _is_constant(result) and not _fits(result, value.type):
            yield f"{_words(result)} is no {value.type}; correct it, or give the value another type"


def typed_sql(value: RuleValue, sql: str, version: str) -> str:
    """The value's expression, written as ``sql`` where it is used, with the value's type and no other result."""
    type_ = value.type.upper()
    typed = f"CAST(({sql}) AS {type_})"
    if all(_is_constant(result) for result in _results(parse_sql(value.sql))):
        return typed
    pattern = quoted(_SPARK_TYPES.get(value.type, "^decimal|int$"))
    refusal = quoted(f"rules {version}: {value.name} has a result that is no {value.type}; round or cast it there")
    return (
        f"CASE WHEN ({sql}) IS NULL THEN NULL "
        f"WHEN TYPEOF({sql}) RLIKE {pattern} AND {typed} = ({sql}) THEN {typed} ELSE RAISE_ERROR({refusal}) END"
    )


def _inexact(tree: exp.Expr) -> Iterator[str]:
    """What makes floating numbers."""
    from sqlglot import exp

    for literal in tree.find_all(exp.Literal):
        if not literal.is_string and not _NUMBER.fullmatch(literal.name):
            yield f"{show(literal.name)} is no exact number; write it as digits with a point, for example 0.25"
    for cast in tree.find_all(exp.Cast):
        if _type_name(cast) in _FLOATING:
            yield f"{_type_name(cast)} is not exact; write decimals, for example 0.25, or CAST(x AS DECIMAL(9, 6))"
    for division in tree.find_all(exp.Div):
        if not any(_is_decimal(side) for side in (division.left, division.right)):
            yield (
                f"{_words(division)} may divide whole numbers, which gives a floating one; write "
                f"CAST(x AS DECIMAL(9, 6)) for one of the two, or multiply by a decimal"
            )


def _words(part: exp.Expr) -> str:
    return plain(part.sql("spark", comments=False))


def _is_decimal(side: exp.Expr) -> bool:
    """True for what is seen to be a decimal."""
    from sqlglot import exp

    plain_side = side.unnest()
    if isinstance(plain_side, exp.Cast):
        return _type_name(plain_side) == "DECIMAL"
    return isinstance(plain_side, exp.Literal) and not plain_side.is_string and "." in plain_side.name


def _type_name(cast: exp.Cast) -> str:
    return str(getattr(cast.to.this, "name", ""))


def _results(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What an expression may come to: what follows THEN and ELSE, and the choices of COALESCE."""
    from sqlglot import exp

    result = tree.unnest()
    if isinstance(result, exp.Case):
        choices = [branch.args["true"] for branch in result.args["ifs"]] + [result.args.get("default")]
    elif isinstance(result, exp.If):
        choices = [result.args["true"], result.args.get("false")]
    elif isinstance(result, exp.Coalesce):
        choices = [result.this, *result.expressions]
    else:
        yield result
        return
    for choice in choices:
        if choice is not None:
            yield from _results(choice)


def _is_constant(result: exp.Expr) -> bool:
    from sqlglot import exp

    negated = result.this.unnest() if isinstance(result, exp.Neg) else result
    return isinstance(negated, exp.Literal) or isinstance(result, exp.Boolean | exp.Null)


def _fits(result: exp.Expr, type_: str) -> bool:
    """True when a type holds a constant exactly."""
    from sqlglot import exp

    if isinstance(result, exp.Null):
        return True
    if isinstance(result, exp.Boolean):
        return type_ == "boolean"
    literal = result.this.unnest() if isinstance(result, exp.Neg) else result
    if literal.is_string:
        return type_ == "string" and literal is result
    if not _NUMBER.fullmatch(literal.name):
        return True  # refused for how it is written
    whole, _, fraction = literal.name.partition(".")
    digits = decimal_digits(type_)
    if digits is None:
        return type_ == "bigint" and whole == literal.name and int(whole) < _LARGEST
    precision, scale = digits
    return len(whole.lstrip("0")) <= precision - scale and len(fraction.rstrip("0")) <= scale
