"""Questions about parsed SQL: which aggregates and windows a SELECT has, what it groups by, what is the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError

if TYPE_CHECKING:
    from sqlglot import exp

# Aggregates of Spark that sqlglot takes for ordinary functions.
_AGGREGATES = """
    any bool_and bool_or count_min_sketch every histogram_numeric hll_sketch_agg hll_union_agg mean some std
    try_avg try_sum
"""


def own_nodes(select: exp.Expr) -> Iterator[exp.Expr]:
    """Everything in a SELECT, without what is inside other queries; those queries themselves are among it."""
    from sqlglot import exp

    yield from select.walk(prune=lambda node: node is not select and isinstance(node, exp.Query))


def aggregate_calls(select: exp.Expr) -> Iterator[exp.Expr]:
    """Aggregates of a SELECT (or expression) that turn its rows into groups; window functions do not."""
    from sqlglot import exp

    for node in own_nodes(select):
        is_comparison = isinstance(node, exp.Any) and isinstance(node.parent, exp.Binary)
        is_named = isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES.split()
        if (isinstance(node, exp.AggFunc | exp.Any) or is_named) and not is_comparison and window_over(node) is None:
            yield node


def wrapped(call: exp.Expr) -> exp.Expr:
    """The call together with its FILTER, WITHIN GROUP, IGNORE NULLS."""
    from sqlglot import exp

    around = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
    while isinstance(call.parent, around) and call.parent.this is call:
        call = call.parent
    return call


def window_over(call: exp.Expr) -> exp.Window | None:
    """The window a function is computed over, with its ``OVER``; None for a plain call."""
    from sqlglot import exp

    call = wrapped(call)
    window = call.parent
    return window if isinstance(window, exp.Window) and window.this is call else None


def window_definition(window: exp.Window) -> exp.Window:
    """Where a window's partition and order are: ``OVER w`` is defined in the clause WINDOW."""
    from sqlglot import exp

    name = window.alias
    select = window.find_ancestor(exp.Select)
    if not name or select is None or window.args.get("partition_by") or window.args.get("order"):
        return window
    named = [each for each in select.args.get("windows") or () if each.name.lower() == name.lower()]
    return named[0] if named else window


def group_items(select: exp.Select, is_input: Callable[[str], bool]) -> list[exp.Expr]:
    """What a SELECT groups by. Places (``GROUP BY 1``) and aliases are resolved as Spark does, input columns first."""
    from sqlglot import exp

    group = select.args.get("group")
    if group is None:
        return []
    several = [group.args.get(name) for name in ("all", "cube", "rollup", "grouping_sets")]
    if any(several) or group.find(exp.Cube, exp.Rollup, exp.GroupingSets):
        raise ContractError("GROUP BY has ALL, CUBE, ROLLUP or GROUPING SETS; name the columns it groups by")
    return [_group_item(item, select, is_input) for item in group.expressions]


def _group_item(item: exp.Expr, select: exp.Select, is_input: Callable[[str], bool]) -> exp.Expr:
    from sqlglot import exp

    if isinstance(item, exp.Literal) and not item.is_string and 1 <= int(item.name) <= len(select.expressions):
        return _without_alias(select.expressions[int(item.name) - 1])
    if isinstance(item, exp.Column) and not item.table and not is_input(item.name.lower()):
        return next((_without_alias(each) for each in select.expressions if _is_named(each, item.name)), item)
    return item


def _without_alias(item: exp.Expr) -> exp.Expr:
    found: exp.Expr = item.unalias()
    return found


def _is_named(item: exp.Expr, name: str) -> bool:
    from sqlglot import exp

    return isinstance(item, exp.Alias) and item.alias.lower() == name.lower()


def normalised(expression: exp.Expr, tables: Collection[str]) -> exp.Expr:
    """The same expression in one way of writing: no brackets, names in lower case and not qualified by these tables."""
    from sqlglot import exp

    whole = exp.Paren(this=expression.copy())
    while bracket := whole.this.find(exp.Paren):
        bracket.replace(bracket.this)
    for name in list(whole.find_all(exp.Identifier)):
        name.replace(exp.Identifier(this=name.name.lower(), quoted=False))
    for column in whole.find_all(exp.Column):
        if column.table in tables and not column.args.get("db"):
            column.set("table", None)
    found: exp.Expr = whole.this
    return found


def is_star(item: exp.Expr) -> bool:
    """True for ``*`` and ``t.*``."""
    from sqlglot import exp

    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def reads_all_columns(query: exp.Expr) -> bool:
    """True when columns come without being named: ``SELECT *``, ``NATURAL JOIN``."""
    from sqlglot import exp

    has_star = any(not isinstance(star.parent, exp.Count) for star in query.find_all(exp.Star))
    return has_star or any(join.args.get("method") for join in query.find_all(exp.Join))
