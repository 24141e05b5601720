"""Joins of versions in a scoped mart by a moment: which row is joined to which version, and that nothing else counts.

A row of a scope that is joined to the version of its own moment, and sees nothing of when that version began or ends,
depends only on what the values were at this moment. So a change of versions concerns the rows whose moment falls where
the values have changed, not every row with the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.table_spec import VALID
from spark_jobs.sql_analysis.mart_sql_relations import Relation, Sources
from spark_jobs.sql_analysis.mart_sql_tree import reads_all_columns

if TYPE_CHECKING:
    from sqlglot import exp

_BOUNDS_IN_A_JOIN = 3
"""How often a join names ``valid_from`` and ``valid_to``: once and twice."""


def check_bounds(query: exp.Expr, tables: Mapping[str, Relation]) -> None:
    """ContractError when a query sees more of its versions than their values at a moment."""
    from sqlglot import exp

    joined = [
        join
        for join in query.find_all(exp.Join)
        if isinstance(join.this, exp.Table) and (table := tables.get(join.this.name.lower())) and table.at
    ]
    named = [column for column in query.find_all(exp.Column) if column.name.lower() in VALID]
    if len(named) > _BOUNDS_IN_A_JOIN * len(joined) or reads_all_columns(query):
        lookup = next(table.lookup for table in tables.values() if table.at)
        raise ContractError(
            f"at is given for {lookup}, so {VALID[0]} and {VALID[1]} may be in its ON only, and * may not be "
            f"anywhere; take them out, or take at out"
        )


def check_as_of(condition: exp.Expr | None, alias: str, sources: Sources) -> None:
    """ContractError unless a join gives each row the version of its moment: both of the row's columns are its own."""
    versions = sources.relations[alias]
    parts = [part.unnest() for part in _parts(condition)]
    begin, end = (f"{alias}.{name}" for name in VALID)
    for host, relation in sources.relations.items():
        if relation.table and all(name in relation.columns for name in (versions.by, versions.at)):
            moment = (host, versions.at)
            is_keyed = any(_is_key(part, (host, versions.by), alias, sources) for part in parts)
            has_begun = any(_is_at_or_after(part, moment, (alias, VALID[0]), sources) for part in parts)
            is_open = any(_is_not_over(part, moment, (alias, VALID[1]), sources) for part in parts)
            if is_keyed and has_begun and is_open:
                return
    by, at = versions.by, versions.at
    raise ContractError(
        f"{versions.lookup} has at: {at}, and its ON does not fit it; join it to the table that has {by} and {at}: "
        f"ON … AND {at} >= {begin} AND ({end} IS NULL OR {at} < {end}), or take at out"
    )


def _parts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """What is true together."""
    from sqlglot import exp

    whole = condition.unnest() if condition is not None else None
    if isinstance(whole, exp.And):
        yield from _parts(whole.this)
        yield from _parts(whole.expression)
    elif whole is not None:
        yield whole


def _is_column(expression: exp.Expr, wanted: tuple[str, str], sources: Sources) -> bool:
    from sqlglot import exp

    plain, (alias, name) = expression.unnest(), wanted
    return isinstance(plain, exp.Column) and sources.owner(plain) == alias and plain.name.lower() == name


def _is_key(part: exp.Expr, by: tuple[str, str], alias: str, sources: Sources) -> bool:
    from sqlglot import exp

    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return False
    pairs = ((part.this, part.expression), (part.expression, part.this))
    return any(_is_column(one, by, sources) and sources.is_key(other, alias) for one, other in pairs)


def _is_at_or_after(part: exp.Expr, moment: tuple[str, str], begin: tuple[str, str], sources: Sources) -> bool:
    from sqlglot import exp

    if isinstance(part, exp.GTE):
        return _is_column(part.this, moment, sources) and _is_column(part.expression, begin, sources)
    is_turned = isinstance(part, exp.LTE)
    return is_turned and _is_column(part.this, begin, sources) and _is_column(part.expression, moment, sources)


def _is_not_over(part: exp.Expr, moment: tuple[str, str], end: tuple[str, str], sources: Sources) -> bool:
    """True for ``end IS NULL OR moment < end``, in any order."""
    from sqlglot import exp

    if not isinstance(part, exp.Or):
        return False
    sides = [part.this.unnest(), part.expression.unnest()]
    has_none = any(
        isinstance(side, exp.Is) and isinstance(side.expression, exp.Null) and _is_column(side.this, end, sources)
        for side in sides
    )
    return has_none and any(_is_before(side, moment, end, sources) for side in sides)


def _is_before(side: exp.Expr, moment: tuple[str, str], end: tuple[str, str], sources: Sources) -> bool:
    from sqlglot import exp

    if isinstance(side, exp.LT):
        return _is_column(side.this, moment, sources) and _is_column(side.expression, end, sources)
    is_turned = isinstance(side, exp.GT)
    return is_turned and _is_column(side.this, end, sources) and _is_column(side.expression, moment, sources)
