"""The columns that SQL of a mart reads of each table, and the key by which a table is looked up.

Most tables declare their columns. Those of a table at the source are what its events have, so of such a table the mart
sees the columns that its SQL names and no others: a column that the source adds cannot change what a name means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.places import Steps
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.versions import key_columns
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns
from spark_jobs.sql_analysis.mart_sql_functions import parse_expression
from spark_jobs.sql_analysis.mart_sql_text import tables_in, with_names
from spark_jobs.sql_analysis.mart_sql_tree import is_star

if TYPE_CHECKING:
    from sqlglot import exp


def columns_of_reads(mart: MartSpec, spec: LakeSpec, query: exp.Expr) -> dict[str, tuple[str, ...]]:
    """By table that the mart reads, the columns that its SQL can see.

    Raises:
        ContractError: of a table at the source all columns are selected, or it is not clear whose a column is.
    """
    mirrors = [read.table for read in mart.reads if spec.has_source_columns(read.table)]
    found = {read.table: visible_columns(spec, read.table) for read in mart.reads if read.table not in mirrors}
    if mirrors:
        known = frozenset(name for names in found.values() for name in names)
        named = _named(mart, query, mirrors, known)
        found |= {table: tuple(sorted(names)) for table, names in named.items()}
    return {read.table: found[read.table] for read in mart.reads}


def lookup_key(spec: LakeSpec, table: str, at: Steps = ()) -> str:
    """The column by which rows of a table are looked up; ContractError when its key has several, or it has none."""
    keys: tuple[str, ...]
    if table in spec.mart_names:
        keys = spec.mart(table).grain
    elif load := spec.find_load(table):
        keys = load.key
    elif declared := spec.versions_of(table) or spec.mirror(table):
        keys = key_columns(declared)
    else:
        keys = () if table == spec.log else spec.table(table).key
    if len(keys) != 1:
        raise ContractError(f"{table} cannot be looked up, because it has no key of one column; give it a scope", at=at)
    return keys[0]


def _named(mart: MartSpec, query: exp.Expr, mirrors: list[str], known: frozenset[str]) -> Mapping[str, set[str]]:
    """Of each of these tables the columns that the SQL and the mart's own entries name."""
    from sqlglot import exp

    _refuse_stars(query, mirrors)
    owners = {alias: table.name.lower() for table in tables_in(query) if (alias := table.alias_or_name.lower())}
    named = {table: set[str]() for table in mirrors}
    made = {name for select in query.find_all(exp.Select) for name in _made_names(select)} | with_names(query)
    for column in query.find_all(exp.Column):
        name, qualifier = column.name.lower(), column.table.lower()
        if qualifier:
            table = owners.get(qualifier, "")
            if table in named:
                named[table].add(name)
        elif name not in known and name not in made and name:
            if len(mirrors) > 1:
                raise ContractError(
                    f"column {name} could be of several tables; write its table before it, for example "
                    f"{mirrors[0]}.{name}"
                )
            named[mirrors[0]].add(name)
    for read in mart.reads:
        if read.table in named and read.scope:
            named[read.table] |= {column.name.lower() for column in parse_expression(read.scope).find_all(exp.Column)}
    return named


def _refuse_stars(query: exp.Expr, mirrors: list[str]) -> None:
    from sqlglot import exp

    for select in query.find_all(exp.Select):
        items = [item for item in select.expressions if is_star(item)]
        sources = [select.args.get("from_"), *(select.args.get("joins") or ())]
        read = {part.this.name.lower() for part in sources if part is not None and isinstance(part.this, exp.Table)}
        if items and (open_tables := sorted(read & set(mirrors))):
            raise ContractError(
                f"it selects * of {open_tables[0]}, whose columns are those of the source and may change; name them"
            )


def _made_names(select: exp.Select) -> Iterator[str]:
    """Names that a SELECT gives to something else than a column of the same name."""
    from sqlglot import exp

    for item in select.expressions:
        inner = item.unalias()
        is_same = isinstance(inner, exp.Column) and inner.name.lower() == item.alias_or_name.lower()
        if isinstance(item, exp.Alias) and not is_same:
            yield item.alias.lower()
    for lateral in select.args.get("laterals") or ():
        yield from (name.name.lower() for name in lateral.args["alias"].columns)
