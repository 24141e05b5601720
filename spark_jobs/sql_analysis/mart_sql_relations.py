"""What a SELECT of a scoped mart reads: which columns hold the scope, which hold a key that may be looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.sql_analysis.mart_sql_tree import normalised

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table, a query of WITH or a sub-query: rows that belong to one scope each, or rows that are looked up.

    ``scope`` are columns that hold the scope of their row, ``expression`` is the scope over the columns of a table.
    ``origins`` says whose values a column holds: those of a column of a scoped table. Of a ``lookup``, ``keys`` are
    the columns that hold its key, and ``by`` the column of the scoped tables that points to it; of versions ``at`` is
    the column with the moment. ``table`` is the scoped table of which these are the rows as they are.
    """

    columns: tuple[str, ...]
    scope: frozenset[str] = frozenset()
    expression: exp.Expr | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    lookup: str = ""
    by: str = ""
    at: str = ""
    table: str = ""
    keys: frozenset[str] = frozenset()

    def renamed(self, names: Sequence[str]) -> Relation:
        """The same with other names for its columns, in order; itself when there are none."""
        if not names:
            return self
        new = dict(zip(self.columns, names, strict=False))
        return replace(
            self,
            columns=tuple(new.values()),
            table="",
            scope=frozenset(new[name] for name in self.scope),
            expression=None,
            origins={new[name]: origin for name, origin in self.origins.items()},
            keys=frozenset(new[name] for name in self.keys),
        )

    def outer(self) -> Relation:
        """The same behind a LEFT JOIN: where it has no row its scope is null."""
        return replace(self, scope=frozenset(), expression=None)


class Sources:
    """The relations after FROM by their aliases, and the columns that ``*`` selects."""

    def __init__(self, aliases: Mapping[str, exp.Expr]) -> None:
        self.relations: dict[str, Relation] = {}
        self.star: list[tuple[str, str]] = []
        self._aliases = aliases
        self._shared: set[str] = set()

    def add(self, alias: str, relation: Relation, using: Sequence[str] = ()) -> None:
        """Join a relation; columns named in USING are those of both sides and come first."""
        if alias in self.relations:
            raise ContractError(f"two of its tables are called {show(alias)}; give each a name of its own with AS")
        shared = [entry for name in using for entry in self.star if entry[1] == name][: len(using)]
        self.relations[alias] = relation
        rest = [entry for entry in self.star if entry not in shared]
        self.star = [*shared, *rest, *((alias, name) for name in relation.columns if name not in using)]
        self._shared |= set(using)

    def remove(self, alias: str) -> None:
        """Forget a relation that a SEMI or ANTI JOIN only looked at."""
        del self.relations[alias]
        self.star = [entry for entry in self.star if entry[0] != alias]

    def is_input(self, name: str) -> bool:
        """True when a relation has a column of this name."""
        return any(name in relation.columns for relation in self.relations.values())

    def owner(self, column: exp.Column) -> str | None:
        """The alias of the relation whose column this is; None for anything else, such as a field of a struct."""
        name, table = column.name.lower(), column.table.lower()
        if column.args.get("db"):
            return None
        if table:
            return table if table in self.relations and name in self.relations[table].columns else None
        found = [alias for alias, relation in self.relations.items() if name in relation.columns]
        return found[0] if len(found) == 1 or (found and name in self._shared) else None

    def scope_owner(self, expression: exp.Expr) -> str | None:
        """The alias of the relation whose scope this expression is; None when it is none."""
        from sqlglot import exp

        plain = self._plain(expression)
        owners = {self.owner(column) for column in plain.find_all(exp.Column)}
        alias = owners.pop() if len(owners) == 1 else None
        if alias is None:
            return None
        relation = self.relations[alias]
        if isinstance(plain, exp.Column):
            return alias if plain.name.lower() in relation.scope else None
        is_scope = relation.expression is not None and normalised(plain, self.relations) == relation.expression
        return alias if is_scope else None

    def origin(self, expression: exp.Expr) -> str | None:
        """The column of a scoped table whose values this expression holds: a column itself, or one of its values."""
        from sqlglot import exp

        choices = (exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.FirstValue, exp.LastValue, exp.Window, exp.IgnoreNulls)
        plain = self._plain(expression)
        while isinstance(plain, choices):
            plain = self._plain(plain.this)
        alias = self.owner(plain) if isinstance(plain, exp.Column) else None
        return self.relations[alias].origins.get(plain.name.lower()) if alias else None

    def is_key(self, expression: exp.Expr, alias: str) -> bool:
        """True for the column by which rows of this relation are looked up."""
        from sqlglot import exp

        plain = self._plain(expression)
        is_own = isinstance(plain, exp.Column) and self.owner(plain) == alias
        return is_own and plain.name.lower() in self.relations[alias].keys

    def _plain(self, expression: exp.Expr) -> exp.Expr:
        """Without brackets; an alias of the same SELECT is replaced by its expression, unless a column has its name."""
        from sqlglot import exp

        plain = expression.unnest()
        if isinstance(plain, exp.Column) and not plain.table and not self.is_input(plain.name.lower()):
            return self._aliases.get(plain.name.lower(), plain).unnest()
        return plain
