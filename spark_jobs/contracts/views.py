"""The business's views: ``<folder>/<layer>/<view>.sql``, one SELECT each over tables and views by their own names.

One text for every engine: it may use what Spark, Trino and Athena write alike, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.mart_sql_text import fill_time_zone, parse_sql, replace_tables, tables_in, with_names
from spark_jobs.contracts.tables import check_identifier

if TYPE_CHECKING:
    from sqlglot import exp

_ENGINES = ("spark", "trino")
"""Athena's queries are Trino's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSpec:
    """One view; ``reads`` are the tables and views it is made of."""

    name: str
    layer: str
    text: str
    reads: frozenset[str]

    def sql(self, names: Mapping[str, str]) -> str:
        """The SELECT over other names of what it reads; ContractError when one of them is not given."""
        return replace_tables(fill_time_zone(self.text, "UTC"), names)


def load_views(folder: Path) -> tuple[ViewSpec, ...]:
    """Every view below ``folder``, each after those it reads.

    Raises:
        ContractError: a file is no single SELECT, or is not written alike for every engine; two have one name; some
            read each other in a circle.
    """
    views: dict[str, ViewSpec] = {}
    for file in sorted(folder.glob("*/*.sql")):
        if file.stem in views:
            raise ContractError(f"{file}: there is a view {file.stem} in layer {views[file.stem].layer}; rename one")
        views[file.stem] = read_view(file)
    return tuple(views[name] for name in _ordered(views))


def read_view(file: Path) -> ViewSpec:
    """One file; ContractError with its name when it is no view."""
    check_identifier(file.stem, f"{file}: view")
    text = file.read_text(encoding="utf-8")
    try:
        return ViewSpec(name=file.stem, layer=file.parent.name, text=text, reads=_reads(text))
    except ContractError as error:
        raise ContractError(f"{file}: {error}") from error


def _reads(text: str) -> frozenset[str]:
    from sqlglot import exp

    query = parse_sql(text)
    if not isinstance(query, exp.Query) or query.find(exp.Into, exp.Placeholder, exp.Parameter):
        raise ContractError("a view is one SELECT without parameters")
    _check_portable(text, query)
    named = [table for table in tables_in(query) if table.name.lower() not in with_names(query)]
    if qualified := [table.sql() for table in named if table.db]:
        raise ContractError(f"it names {qualified[0]}; leave the database out")
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


def _ordered(views: Mapping[str, ViewSpec]) -> Iterable[str]:
    try:
        return tuple(TopologicalSorter({n: sorted(v.reads & views.keys()) for n, v in views.items()}).static_order())
    except CycleError as error:
        raise ContractError(f"views read each other in a circle: {' -> '.join(error.args[1])}; break it") from error
