"""SQL that Spark, Trino and Athena take for the same thing: one SELECT over tables by their bare names.

It is not translated: what runs is what was written, so it may use what all of them write alike, and nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain
from spark_jobs.sql_analysis.mart_sql_text import parse_sql, tables_in, with_names

if TYPE_CHECKING:
    from sqlglot import exp

_ENGINES = ("spark", "trino")
"""Athena's queries are Trino's."""


@lru_cache(maxsize=512)
def parse_portable(text: str, *, what: str) -> exp.Query:
    """The one SELECT in ``text``; ContractError unless it is one for every engine. ``what`` it is: ``a view``."""
    from sqlglot import exp

    query = parse_sql(text)
    if not isinstance(query, exp.Query) or query.find(exp.Into, exp.Placeholder, exp.Parameter):
        raise ContractError(f"{what} is one SELECT without parameters")
    _check_portable(text, query)
    return query


def check_portable_condition(text: str) -> None:
    """Raise ContractError unless a condition over one row is the same for every engine."""
    parse_portable("\n".join(("SELECT 1 FROM a_row WHERE (", text, ")")), what="a condition")


def names_read(query: exp.Query) -> frozenset[str]:
    """What it reads beside its own names of WITH, in lower case; ContractError when a database is named."""
    named = [table for table in tables_in(query) if table.name.lower() not in with_names(query)]
    if qualified := [table.sql() for table in named if table.db]:
        raise ContractError(f"it names {plain(qualified[0])}; leave the database out")
    return frozenset(table.name.lower() for table in named)


def _check_portable(text: str, query: exp.Expr) -> None:
    """Raise ContractError unless both engines take the same words for the same thing, and write them alike."""
    from sqlglot import errors, parse_one

    one, other = (query.sql(dialect=engine, comments=False) for engine in _ENGINES)
    if one == other:
        try:
            other = parse_one(text, dialect="trino").sql(dialect="trino", comments=False)
        except errors.SqlglotError as error:
            raise ContractError("it is not one text for all engines: Trino cannot read it; look at quotes") from error
    if one != other:
        at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        raise ContractError(
            f"it is not one text for all engines: Spark takes it for {one[max(0, at - 10) : at + 30]!r}, Trino for "
            f"{other[max(0, at - 10) : at + 30]!r}; write it with what both have"
        )
