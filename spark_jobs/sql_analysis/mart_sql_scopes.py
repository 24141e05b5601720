"""Mode scoped: each row of the result must be made of rows of its own scope, and of rows looked up by a known key.

Then it is enough to compute the scopes again that a change touches. Every SELECT is looked at from the inside out, with
what is known of the columns it reads; what is not known to be right is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.mart_sql_relations import Relation, Sources
from spark_jobs.sql_analysis.mart_sql_tree import aggregate_calls, group_items, is_star, own_nodes, window_definition
from spark_jobs.sql_analysis.mart_sql_versions import check_as_of, check_bounds

if TYPE_CHECKING:
    from sqlglot import exp

_TABLE_PARTS = {"this", "alias"}
_CLAUSES = {
    *("with_", "kind", "hint", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "having"),
    *("qualify", "windows", "order", "sort", "cluster", "distribute", "operation_modifiers"),
}


def check_scoped(query: exp.Expr, tables: Mapping[str, Relation], scope: str) -> None:
    """ContractError unless every row of the result is made of one scope, which its column ``scope`` holds."""
    if any(table.at for table in tables.values()):
        check_bounds(query, tables)
    if scope not in _relation(query, tables).scope:
        raise ContractError(
            f"its column {scope} is not the scope that its reads declare; select that very expression AS {scope}"
        )


def _relation(query: exp.Expr, tables: Mapping[str, Relation]) -> Relation:
    from sqlglot import exp

    for cte in query.args["with_"].expressions if query.args.get("with_") else ():
        try:
            named = _relation(cte.this, tables).renamed(_column_names(cte))
        except ContractError as error:
            raise ContractError(f"in WITH {cte.alias}: {error}") from error
        tables = {**tables, cte.alias.lower(): named}
    if isinstance(query, exp.Select):
        return _select(query, tables)
    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        return _relation(query.this, tables)
    if isinstance(query, exp.Union) and not query.args.get("distinct") and not query.args.get("by_name"):
        return _union(_relation(query.this, tables), _relation(query.expression, tables))
    raise ContractError("UNION, EXCEPT and INTERSECT compare rows of all scopes; use UNION ALL, or mode full")


def _union(left: Relation, right: Relation) -> Relation:
    if left.lookup or right.lookup:
        raise ContractError(f"UNION ALL has rows of the lookup {left.lookup or right.lookup}; join it instead")
    same = right.renamed(left.columns[: len(right.columns)])
    origins = {name: origin for name, origin in left.origins.items() if same.origins.get(name) == origin}
    return Relation(columns=left.columns, scope=left.scope & same.scope, origins=origins)


def _select(select: exp.Select, tables: Mapping[str, Relation]) -> Relation:
    if unknown := [name for name, value in select.args.items() if value and name not in _CLAUSES]:
        raise ContractError(f"mode scoped does not know the clause {unknown[0].upper()}; use mode full")
    _refuse_subqueries(select)
    sources = _read(select, tables)
    first = next(iter(sources.relations.values()))
    is_grouped = bool(select.args.get("group") or select.args.get("having") or any(aggregate_calls(select)))
    if first.lookup and (is_grouped or select.args.get("distinct") or any(_windows(select))):
        raise ContractError(f"it adds up rows of the lookup {first.lookup} alone; join it to the rows of a scope first")
    outcome = _outcome(select, sources)
    if first.lookup:
        return outcome
    if is_grouped and not any(map(sources.scope_owner, group_items(select, sources.is_input))):
        raise ContractError("an aggregate without the scope in its GROUP BY mixes scopes; add it, or use mode full")
    for window in _windows(select):
        if not any(map(sources.scope_owner, window_definition(window).args.get("partition_by") or ())):
            raise ContractError("a window without the scope in its PARTITION BY mixes scopes; add it, or use mode full")
    if select.args.get("distinct") and not outcome.scope:
        raise ContractError(
            "SELECT DISTINCT without the scope among its columns mixes scopes; add it, or use mode full"
        )
    return outcome


def _read(select: exp.Select, tables: Mapping[str, Relation]) -> Sources:
    """What the SELECT reads, every join checked."""
    if not select.args.get("from_"):
        raise ContractError("a SELECT without FROM belongs to no scope; take it out, or use mode full")
    sources = Sources({item.alias.lower(): item.unalias() for item in select.expressions if item.alias})
    alias, first = _source(select.args["from_"].this, tables)
    sources.add(alias, first)
    joins = select.args.get("joins") or ()
    if first.lookup and first.at:
        raise ContractError(
            f"a FROM begins with the versions {first.lookup}, of which at is given; join them to rows of a scope, or "
            f"take at out"
        )
    if first.lookup and joins:
        raise ContractError(
            f"a FROM begins with the lookup {first.lookup}; begin with rows of a scope and join {first.lookup} to them"
        )
    for join in joins:
        _join(join, sources, tables)
    for number, lateral in enumerate(select.args.get("laterals") or ()):
        sources.add(lateral.alias.lower() or f"lateral {number}", Relation(columns=_column_names(lateral)))
    return sources


def _source(item: exp.Expr, tables: Mapping[str, Relation]) -> tuple[str, Relation]:
    """Alias and relation of an item after FROM or JOIN."""
    from sqlglot import exp

    is_plain = not {name for name, value in item.args.items() if value} - _TABLE_PARTS
    if isinstance(item, exp.Table) and is_plain and item.name.lower() in tables:
        return item.alias_or_name.lower(), tables[item.name.lower()].renamed(_column_names(item))
    if isinstance(item, exp.Subquery) and is_plain and isinstance(item.this, exp.Query):
        return item.alias.lower(), _relation(item.this, tables).renamed(_column_names(item))
    raise ContractError(
        f"mode scoped cannot determine the scope of {item.sql('spark')}; read plain tables, or use mode full"
    )


def _join(join: exp.Join, sources: Sources, tables: Mapping[str, Relation]) -> None:
    alias, right = _source(join.this, tables)
    side, kind = join.side.upper(), join.kind.upper()
    using = [name.name.lower() for name in join.args.get("using") or ()]
    if join.args.get("method") or kind == "CROSS" or not (using or join.args.get("on")):
        raise ContractError(f"{alias} is joined without ON, which mixes scopes; join it by an equality")
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER", "SEMI", "ANTI"):
        raise ContractError(
            f"{alias} comes by {side or kind} JOIN, whose rows without a partner have no scope; use LEFT JOIN the "
            f"other way round, or mode full"
        )
    sources.add(alias, right, using)
    pairs = [(one, other) for pair in _equalities(join, alias, using, sources) for one, other in (pair, pair[::-1])]
    if right.lookup:
        if not any(sources.is_key(one, alias) and sources.origin(other) == right.by for one, other in pairs):
            key = ", ".join(sorted(right.keys)) or "its key, which it does not select"
            raise ContractError(
                f"the lookup {right.lookup} is joined otherwise than by {alias}.{key} = {right.by} of the scoped rows, "
                f"so it is not known which scopes a change of it concerns; join it so, or use mode full"
            )
        if right.at:
            check_as_of(join.args.get("on"), alias, sources)
    elif not any(
        sources.scope_owner(one) == alias and sources.scope_owner(other) not in (None, alias) for one, other in pairs
    ):
        raise ContractError(f"{alias} is joined without an equality of the scope, which mixes scopes; add it to its ON")
    if kind in ("SEMI", "ANTI"):
        sources.remove(alias)
    elif side == "LEFT":
        sources.relations[alias] = right.outer()


def _equalities(join: exp.Join, alias: str, using: list[str], sources: Sources) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Pairs that are equal in every joined row."""
    from sqlglot import exp

    for name in using:
        left = next((entry for entry in sources.star if entry[1] == name), None)
        if left:
            yield exp.column(name, table=left[0]), exp.column(name, table=alias)
    condition = join.args.get("on")
    for part in (
        condition.unnest().flatten() if isinstance(condition, exp.And | exp.Paren) else filter(None, [condition])
    ):
        if isinstance(part.unnest(), exp.EQ | exp.NullSafeEQ):
            yield part.unnest().this, part.unnest().expression


def _outcome(select: exp.Select, sources: Sources) -> Relation:
    """What the SELECT's own columns are."""
    first = next(iter(sources.relations.values()))
    columns = list(_columns(select, sources))
    made = [(name, expression) for name, expression in columns if expression is not None]
    found = Relation(
        columns=tuple(name for name, _ in columns),
        scope=frozenset(name for name, expression in made if sources.scope_owner(expression)),
        origins={name: origin for name, expression in made if (origin := sources.origin(expression))},
    )
    if not first.lookup:
        return found
    alias = next(iter(sources.relations))
    keys = frozenset(name for name, expression in made if sources.is_key(expression, alias))
    return replace(found, lookup=first.lookup, by=first.by, keys=keys)


def _columns(select: exp.Select, sources: Sources) -> Iterator[tuple[str, exp.Expr | None]]:
    """Names and expressions of the SELECT's columns, ``*`` spread out."""
    from sqlglot import exp

    for item in select.expressions:
        if is_star(item):
            star = item.this if isinstance(item, exp.Column) else item
            if any(star.args.values()):
                raise ContractError("* with EXCEPT and the like is more than the engine knows; name the columns")
            table = item.table.lower() if isinstance(item, exp.Column) else ""
            entries = (
                [(table, name) for name in sources.relations[table].columns]
                if table in sources.relations
                else sources.star
            )
            yield from ((name, exp.column(name, table=alias)) for alias, name in entries)
        elif isinstance(item, exp.Aliases):
            yield from ((name.name.lower(), None) for name in item.expressions)
        elif isinstance(item, exp.Alias | exp.Column):
            yield item.alias_or_name.lower(), item.unalias()
        else:
            raise ContractError(f"{item.sql('spark')} has no name; give it one with AS")


def _windows(select: exp.Select) -> Iterator[exp.Window]:
    from sqlglot import exp

    return (node for node in own_nodes(select) if isinstance(node, exp.Window) and node.arg_key != "windows")


def _refuse_subqueries(select: exp.Select) -> None:
    from sqlglot import exp

    for node in own_nodes(select):
        if (
            isinstance(node, exp.Query)
            and node is not select
            and not isinstance(node.parent, exp.From | exp.Join | exp.CTE)
        ):
            raise ContractError("a sub-query inside an expression may see rows of other scopes; join it instead")


def _column_names(item: exp.Expr) -> tuple[str, ...]:
    """The names in ``AS t(a, b)``."""
    alias = item.args.get("alias")
    return tuple(name.name.lower() for name in alias.columns) if alias is not None else ()
