"""Who reads a column of a lake's table, from what the lake declares: the other direction of lineage. No I/O.

A reader has the column's values in one of its own columns, or its SQL only names the column: to choose, group or join
rows, or within a function of all of them. Where it is not certain whose a column is, every table counts that has one
of that name, or whose columns are not declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sql_analysis.expectation_sql import columns_in, expectations_of
from spark_jobs.sql_analysis.lineage import lineage_of
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns
from spark_jobs.sql_analysis.mart_sql_columns import columns_of_reads
from spark_jobs.sql_analysis.mart_sql_functions import parse_expression
from spark_jobs.sql_analysis.mart_sql_text import parse_sql
from spark_jobs.sql_analysis.portable_sql import names_read, parse_portable

TABLE, MART, VIEW, EXPECTATION = "table", "mart", "view", "expectation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReader:
    """One reader of a column.

    Attributes:
        kind: of the reader: table, mart, view or expectation.
        name: the reader's.
        column: of the reader, which has the value; "" where its SQL only names the column.
        reads: ``table.column``: the column itself, or one that has its value.
    """

    kind: str
    name: str
    column: str
    reads: str


Column = tuple[str, str]
"""A table and a column of it."""
ANY = "*"
"""In place of a column: every column of a table whose columns are not declared."""


def column_readers(spec: LakeSpec, table: str, column: str, *, views: Mapping[str, str]) -> list[ColumnReader]:
    """Everything of the lake that reads a column, at first hand and then through columns that have its value.

    Args:
        spec: of the lake.
        table: one of its tables.
        column: by the name that readers see.
        views: the SELECT of each view, by its name. Of a view that reads a view it is not looked at which columns.

    Raises:
        ContractError: the lake has no such table.
    """
    spec.check_has(table)
    of_each = readers_of_each(spec, views=views)
    found: list[ColumnReader] = []
    waiting = [(table, column)]
    seen = set(waiting)
    while waiting:
        of, name = waiting.pop(0)
        for reader in _at(of_each, of, name):
            found.append(reader)
            column_of_it = ANY if reader.kind == VIEW else reader.column
            if column_of_it and (place := (reader.name, column_of_it)) not in seen:
                seen.add(place)
                waiting.append(place)
    return found


def _at(of_each: Mapping[Column, Sequence[ColumnReader]], table: str, column: str) -> Iterator[ColumnReader]:
    """The readers of a column, or of a view whatever they read of it."""
    readers = [each for (of, name), found in of_each.items() if of == table and ANY in (name, column) for each in found]
    every = [*of_each.get((table, column), ()), *readers]
    yield from dict.fromkeys(replace(each, reads=f"{table}.{column}") for each in every)


def readers_of_each(spec: LakeSpec, *, views: Mapping[str, str]) -> dict[Column, list[ColumnReader]]:
    """By column, whoever reads it at first hand: tables and marts, then views, then expectations."""
    found: dict[Column, list[ColumnReader]] = {}
    for read, kind, name, column in (*_tables(spec), *_views(spec, views), *_expectations(spec)):
        reader = ColumnReader(kind=kind, name=name, column=column, reads=".".join(read))
        found.setdefault(read, []).append(reader)
    return found


_Read = tuple[Column, str, str, str]
"""What is read; kind, name and column of the reader."""


def _tables(spec: LakeSpec) -> Iterator[_Read]:
    marts = {mart.name: mart for mart in spec.marts}
    for name in spec.table_names:
        kind, has = (MART if name in marts else TABLE), set[Column]()
        for out, inputs in lineage_of(spec, name).columns.items():
            read = {(_of(spec, each.table), each.column) for each in inputs if not each.is_source}
            yield from ((each, kind, name, out) for each in sorted(read))
            has |= read
        if name in marts:
            yield from ((each, kind, name, "") for each in sorted(_named(spec, marts[name]) - has))


def _views(spec: LakeSpec, views: Mapping[str, str]) -> Iterator[_Read]:
    for name, text in sorted(views.items()):
        tables = names_read(parse_portable(text, what="a view"))
        named = _columns_named(text, {table: _known_columns(spec, table) for table in tables})
        yield from (((_of(spec, table), column), VIEW, name, "") for table, column in sorted(named) if table in tables)


def _known_columns(spec: LakeSpec, table: str) -> Sequence[str] | None:
    """The columns that readers see, where the spec declares them all."""
    try:
        return None if spec.has_source_columns(table) else visible_columns(spec, table)
    except ContractError:  # a table without declared columns, or another view
        return None


def _expectations(spec: LakeSpec) -> Iterator[_Read]:
    declared = (*(table.name for table in spec.tables), *(load.name for load in spec.loads))
    for table in (spec.log, *declared, *spec.mart_names):
        for each in expectations_of(spec, table):
            yield from (((table, column), EXPECTATION, each.name, "") for column in sorted(columns_in(each)))
    for each in spec.expectations:
        if each.refers_to:
            table, _, column = each.refers_to.partition(".")
            yield (table, column), EXPECTATION, each.id, ""


def _of(spec: LakeSpec, table: str) -> str:
    """The table whose rows these are: versions are of the table that has them."""
    versions = spec.versions_of(table)
    return versions.name if versions else table


def _named(spec: LakeSpec, mart: MartSpec) -> frozenset[Column]:
    """The columns that a mart names, by its SQL or an entry of a read."""
    from sqlglot import exp

    seen: Mapping[str, Sequence[str] | None]
    try:
        seen = columns_of_reads(mart, spec, parse_sql(mart.sql))
    except ContractError:  # reported by spec check
        seen = dict.fromkeys((read.table for read in mart.reads), None)
    named = {(_of(spec, table), column) for table, column in _columns_named(mart.sql, seen)}
    for read in mart.reads:
        if read.scope:
            columns = parse_expression(read.scope).find_all(exp.Column)
            named |= {(_of(spec, read.table), each.name.lower()) for each in columns}
        if read.by:
            named |= {(_of(spec, each.table), read.by) for each in mart.scoped_reads}
    return frozenset(named)


def _columns_named(sql: str, seen: Mapping[str, Sequence[str] | None]) -> set[Column]:
    """Columns of stored tables in a SELECT, each with its table.

    One that says no table is of each that has such a column, and of each whose columns are not known (None).
    """
    from sqlglot import exp

    query = parse_sql(sql)
    own = {table.alias_or_name.lower(): table.name.lower() for table in query.find_all(exp.Table)}
    found: set[Column] = set()
    for column in query.find_all(exp.Column):
        name, qualifier = column.name.lower(), column.table.lower()
        may_have = [table for table, names in seen.items() if names is None or name in names]
        found |= {(owner, name) for owner in ([own.get(qualifier, qualifier)] if qualifier else may_have)}
    if any(isinstance(star, exp.Star) and isinstance(star.parent, exp.Select) for star in query.find_all(exp.Star)):
        found |= {(table, name) for table, names in seen.items() for name in (names or (ANY,))}
    return found
