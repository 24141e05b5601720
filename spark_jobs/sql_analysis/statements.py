"""A SELECT that a person types: which tables it names, so that no other has to be opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.sql_analysis.mart_sql_text import parse_sql, tables_in, with_names

if TYPE_CHECKING:
    from sqlglot import exp


def read_select(text: str) -> exp.Query | None:
    """The one SELECT in the text; None when it is something else, or cannot be read: Spark then says why."""
    from sqlglot import exp

    try:
        parsed = parse_sql(text)
    except ContractError:
        return None
    return parsed if isinstance(parsed, exp.Query) else None


def names_in(query: exp.Query) -> frozenset[str] | None:
    """Tables and views that it names, in lower case; None when that cannot be known, as of a table of a database."""
    from sqlglot import exp

    own = with_names(query)
    named = [table for table in tables_in(query) if table.name.lower() not in own]
    if any(table.db or not isinstance(table.this, exp.Identifier) for table in named):
        return None
    return frozenset(table.name.lower() for table in named)


def reached(names: Iterable[str], reads: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The names, and what is behind those that are views: ``reads`` has what each reads."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += reads.get(name, ())
    return frozenset(found)
