"""The kinds of values in a SELECT, clause by clause: whether both engines compare, group, order and add them alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_jobs.sql_analysis.local_kinds import (
    TRUTH,
    WHOLE,
    Kind,
    LocalColumn,
    are_comparable,
    literal_column,
    sum_of,
)

if TYPE_CHECKING:
    from sqlglot import exp

Schema = Mapping[str, Mapping[str, LocalColumn]]
"""Of each table, the columns that readers see, in their order."""


class UnlikeError(Exception):
    """Two engines might see the values otherwise."""


class Typing:
    """Of one statement whose columns all name their table, as sqlglot qualifies them."""

    def __init__(self, schema: Schema) -> None:
        self._given: dict[str, Mapping[str, LocalColumn]] = dict(schema)
        self.whole_sums: set[int] = set()
        """Ids of the nodes that add whole numbers, once they were seen."""

    def columns_of(self, select: exp.Expr) -> dict[str, LocalColumn]:
        """The columns of the answer; UnlikeError when something in it is not certain."""
        from sqlglot import exp

        if not isinstance(select, exp.Select):
            raise UnlikeError
        for cte in select.ctes:
            self._given[cte.alias] = self.columns_of(cte.this)
        sources: dict[str, Mapping[str, LocalColumn]] = {}
        joins = select.args.get("joins") or []
        for each in (select.args["from_"].this, *(join.this for join in joins)) if select.args.get("from_") else ():
            is_query = isinstance(each, exp.Subquery)
            sources[each.alias_or_name] = self.columns_of(each.this) if is_query else self._table(each.name)
        scope = _Scope(sources, self.whole_sums)
        for condition in (*(join.args.get("on") for join in joins), *_conditions(select)):
            if condition is not None:
                scope.check_condition(condition)
        return scope.check_answer(select)

    def _table(self, name: str) -> Mapping[str, LocalColumn]:
        if name not in self._given:
            raise UnlikeError
        return self._given[name]


def _conditions(select: exp.Select) -> list[exp.Expr | None]:
    clauses = (select.args.get("where"), select.args.get("having"))
    return [clause.this for clause in clauses if clause is not None]


class _Scope:
    """The tables of one SELECT under their names in it."""

    def __init__(self, sources: Mapping[str, Mapping[str, LocalColumn]], whole_sums: set[int]) -> None:
        self._sources, self._whole_sums = sources, whole_sums

    def check_answer(self, select: exp.Select) -> dict[str, LocalColumn]:
        """The columns it gives, once they and GROUP BY, DISTINCT and ORDER BY are seen to be certain."""
        from sqlglot import exp

        answer: dict[str, LocalColumn] = {}
        for each in select.selects:
            value = each.this if isinstance(each, exp.Alias) else each
            answer[each.alias_or_name] = self.kind_of(value)
        grouped = [self.kind_of(each) for each in (select.args.get("group") or exp.Group()).expressions]
        if select.args.get("distinct"):
            if select.args["distinct"].args.get("expressions"):
                raise UnlikeError
            grouped += answer.values()
        for each in (select.args.get("order") or exp.Order()).expressions:
            value = each.this
            is_of_answer = isinstance(value, exp.Column) and not value.table and value.name in answer
            grouped.append(answer[value.name] if is_of_answer else self.kind_of(value))
        if not all(each.is_grouped for each in grouped):
            raise UnlikeError
        return answer

    def kind_of(self, node: exp.Expr) -> LocalColumn:
        """What a column or an aggregate is."""
        from sqlglot import exp

        if isinstance(node, exp.Paren):
            return self.kind_of(node.this)
        if isinstance(node, exp.Column):
            found = self._sources.get(node.table, {}).get(node.name)
            if found is not None and found.kind is not Kind.NESTED:
                return found
        if isinstance(node, exp.Count):
            return self._count(node)
        if isinstance(node, exp.Min | exp.Max) and isinstance(node.this, exp.Column):
            found = self.kind_of(node.this)
            if found.is_grouped and found != TRUTH:
                return found
        if isinstance(node, exp.Sum) and isinstance(node.this, exp.Column):
            added = sum_of(self.kind_of(node.this))
            if added is not None:
                self._whole_sums |= {id(node)} if added == WHOLE else set()
                return added
        raise UnlikeError

    def _count(self, node: exp.Count) -> LocalColumn:
        from sqlglot import exp

        counted = node.this
        if isinstance(counted, exp.Distinct):
            if len(counted.expressions) != 1 or not isinstance(counted.expressions[0], exp.Column):
                raise UnlikeError
            if not self.kind_of(counted.expressions[0]).is_grouped:
                raise UnlikeError
        elif isinstance(counted, exp.Column):
            self.kind_of(counted)
        elif not (isinstance(counted, exp.Star) or (isinstance(counted, exp.Literal) and counted.name == "1")):
            raise UnlikeError
        return WHOLE

    def check_condition(self, node: exp.Expr) -> None:
        """Raise UnlikeError unless it is true, false and null for the same rows."""
        from sqlglot import exp

        if isinstance(node, exp.And | exp.Or):
            self.check_condition(node.this)
            self.check_condition(node.expression)
        elif isinstance(node, exp.Not | exp.Paren):
            self.check_condition(node.this)
        elif isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            self._check_alike(node.this, node.expression)
        elif isinstance(node, exp.Between):
            self._check_alike(node.this, node.args["low"])
            self._check_alike(node.this, node.args["high"])
        elif isinstance(node, exp.In) and node.expressions:
            for each in node.expressions:
                self._check_alike(node.this, each)
        elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            self.kind_of(node.this)
        elif not isinstance(node, exp.Boolean) and self.kind_of(node) != TRUTH:
            raise UnlikeError

    def _check_alike(self, one: exp.Expr, other: exp.Expr) -> None:
        """Two values of one kind; one of them may be a literal."""
        from sqlglot import exp

        if isinstance(one, exp.Literal | exp.Neg | exp.Boolean):
            one, other = other, one
        kind = self.kind_of(one)
        other = other.this if isinstance(other, exp.Neg) and not other.this.is_string else other
        if isinstance(other, exp.Boolean):
            beside: LocalColumn | None = TRUTH
        elif isinstance(other, exp.Literal):
            beside = literal_column(other, kind)
        else:
            beside = self.kind_of(other)
        if beside is None or not are_comparable(kind, beside):
            raise UnlikeError
