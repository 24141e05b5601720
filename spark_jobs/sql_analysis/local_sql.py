"""Which SELECTs mean the same to DuckDB as to Spark, beyond doubt; all others are Spark's.

The grammar below is what is allowed, and nothing else: columns, comparisons of one kind of value, joins ON, GROUP BY
columns, COUNT, MIN, MAX, SUM, ORDER BY, LIMIT. Functions, casts, arithmetic, windows and comparisons of mixed kinds
differ between the engines in some value, so they are not in it (ADR 52).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show
from spark_jobs.sql_analysis.local_typing import Schema, Typing, UnlikeError
from spark_jobs.sql_analysis.mart_sql_text import DIALECT, parse_sql

if TYPE_CHECKING:
    from sqlglot import exp


class Reason(StrEnum):
    """Why Spark answers, for people."""

    SHAPE = "its SQL has parts that only Spark answers"
    KINDS = "it compares or adds values of kinds that only Spark answers"
    NAMES = "it names columns or tables that are not plain"


class NotLocalError(Exception):
    """The local engine might answer otherwise than Spark."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(str(reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSelect:
    """The SELECT as DuckDB has it, and the names that Spark gives the columns of the answer."""

    sql: str
    columns: tuple[str, ...]


def localize(query: exp.Query, schema: Schema, views: Mapping[str, str]) -> LocalSelect:
    """The same SELECT for DuckDB.

    Args:
        query: as it was parsed.
        schema: the tables that it names, those behind views too.
        views: the SELECT of each view, by its name.

    Raises:
        NotLocalError: it is not certain that the answer would be the same.
        ContractError: no table has a column of that name.
    """
    from sqlglot import errors, exp
    from sqlglot.optimizer.qualify import qualify

    _check_shape(query)
    tree = _with_views(query.copy(), views)
    _check_shape(tree)
    _check_names(tree, schema)
    _check_columns(tree, schema)
    columns: dict[str, object] = {
        name: {column: each.type_name for column, each in of.items()} for name, of in schema.items()
    }
    names = _answer_names(tree)
    try:
        qualified = qualify(
            tree, schema=columns, dialect=DIALECT, quote_identifiers=True, validate_qualify_columns=True
        )
    except (errors.SqlglotError, KeyError, ValueError) as error:
        raise NotLocalError(Reason.NAMES) from error
    if not isinstance(qualified, exp.Select):
        raise NotLocalError(Reason.SHAPE)
    _check_shape(qualified)
    typing = Typing(schema)
    try:
        typing.columns_of(qualified)
    except UnlikeError as error:
        raise NotLocalError(Reason.KINDS) from error
    shown = tuple(names.get(at, each.alias_or_name) for at, each in enumerate(qualified.selects))
    return LocalSelect(sql=_with_whole_sums(qualified, typing.whole_sums).sql(dialect="duckdb"), columns=shown)


def _with_whole_sums(query: exp.Select, sums: Collection[int]) -> exp.Expr:
    """The sums of whole numbers in eight bytes, as Spark's are: one that is larger is an error here."""
    from sqlglot import exp

    for each in [node for node in query.find_all(exp.Sum) if id(node) in sums]:
        each.replace(exp.cast(each.copy(), "BIGINT"))
    return query


def _with_views(tree: exp.Query, views: Mapping[str, str]) -> exp.Query:
    """The query with the SELECT of each view in its place."""
    from sqlglot import exp

    while found := [each for each in tree.find_all(exp.Table) if each.name in views]:
        for table in found:
            inner = parse_sql(views[table.name]).copy()
            _check_shape(inner)
            alias = exp.TableAlias(this=exp.to_identifier(table.alias or table.name))
            table.replace(exp.Subquery(this=inner, alias=alias))
    return tree


_ARGUMENTS: Mapping[str, Collection[str]] = {
    "Select": {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "distinct", "with_"},
    "From": {"this"},
    "Join": {"this", "on", "side", "kind"},
    "Where": {"this"},
    "Group": {"expressions"},
    "Having": {"this"},
    "Order": {"expressions"},
    "Ordered": {"this", "desc", "nulls_first"},
    "Limit": {"expression"},
    "Distinct": {"expressions"},
    "With": {"expressions"},
    "CTE": {"this", "alias"},
    "Subquery": {"this", "alias"},
    "Table": {"this", "alias"},
    "TableAlias": {"this"},
    "Column": {"this", "table"},
    "Identifier": {"this", "quoted"},
    "Star": set(),
    "Alias": {"this", "alias"},
    "Literal": {"this", "is_string"},
    "Boolean": {"this"},
    "Null": set(),
    "Neg": {"this"},
    "And": {"this", "expression"},
    "Or": {"this", "expression"},
    "Not": {"this"},
    "Paren": {"this"},
    **dict.fromkeys(("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "Is"), ("this", "expression")),
    "In": {"this", "expressions"},
    "Between": {"this", "low", "high"},
    "Count": {"this", "big_int"},
    **dict.fromkeys(("Min", "Max", "Sum"), ("this",)),
}
"""Of each kind of node the clauses that it may have."""
_SIDES = ("LEFT", "RIGHT", "FULL")
_JOINS = {("", ""), ("", "INNER"), ("", "CROSS"), *((side, kind) for side in _SIDES for kind in ("", "OUTER"))}


def _check_shape(query: exp.Expr) -> None:
    """Raise NotLocalError unless every node is one of those above, and in a place where it is meant."""
    from sqlglot import exp

    for node in query.walk():
        allowed = _ARGUMENTS.get(type(node).__name__)
        if allowed is None or any(value and name not in allowed for name, value in node.args.items()):
            raise NotLocalError(Reason.SHAPE)
        if isinstance(node, exp.Join) and (node.side.upper(), node.kind.upper()) not in _JOINS:
            raise NotLocalError(Reason.SHAPE)
        if isinstance(node, exp.Subquery) and not isinstance(node.parent, exp.From | exp.Join):
            raise NotLocalError(Reason.SHAPE)
        if isinstance(node, exp.Limit) and not (
            isinstance(node.expression, exp.Literal) and node.expression.name.isdigit()
        ):
            raise NotLocalError(Reason.SHAPE)


def _check_names(tree: exp.Query, schema: Schema) -> None:
    """Raise NotLocalError for names by which the engines may find different things."""
    from sqlglot import exp

    columns = {column for of in schema.values() for column in of}
    identifiers = [each.name for each in tree.find_all(exp.Identifier)]
    is_plain = all(re.fullmatch(r"[a-z_][a-z0-9_]*", each) for each in (*identifiers, *columns, *schema))
    every = [cte.alias for cte in tree.find_all(exp.CTE)]
    given = {*every}
    renames = {each.alias for each in tree.find_all(exp.Alias) if each.this.name != each.alias}
    if not is_plain or len(every) > len(given) or given & schema.keys() or renames & columns:
        raise NotLocalError(Reason.NAMES)
    if any(each.name not in schema and each.name not in given for each in tree.find_all(exp.Table)):
        raise NotLocalError(Reason.NAMES)


def _check_columns(tree: exp.Query, schema: Schema) -> None:
    """Raise ContractError for a column that no table has, and that nothing in the SELECT is called; nor has Spark."""
    from sqlglot import exp

    known = {column for of in schema.values() for column in of}
    given = {each.alias for each in tree.find_all(exp.Alias)}
    for column in tree.find_all(exp.Column):
        if not column.is_star and column.name not in known | given:
            raise ContractError(
                f"query: none of its tables has a column {show(column.name)}; {one_of(column.name, sorted(known))}"
            )


def _answer_names(tree: exp.Query) -> dict[int, str]:
    """The names that Spark gives to aggregates without an alias, by their place."""
    from sqlglot import exp

    names = {}
    for at, each in enumerate(tree.selects):
        if isinstance(each, exp.AggFunc):
            names[at] = _spark_name(each)
    is_all = any(each.is_star and not isinstance(each, exp.AggFunc) for each in tree.selects)
    if names and is_all:  # their places are not yet known
        raise NotLocalError(Reason.NAMES)
    return names


def _spark_name(call: exp.AggFunc) -> str:
    from sqlglot import exp

    word = type(call).__name__.lower()
    if isinstance(call.this, exp.Star | exp.Literal):
        return f"{word}(1)"
    if isinstance(call.this, exp.Distinct):
        return f"{word}(DISTINCT {', '.join(each.name for each in call.this.expressions)})"
    return f"{word}({call.this.name})"
