"""The tables that a lake has by what its log has seen: entries with patterns, resolved to tables.

Which tables there are is known when events of them are in the log: the schema book in its commits has each of them,
with its columns, and with its name in the lake and its key once it is made. Both are for good, so what a pattern or a
record says later moves nothing that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import plain
from spark_jobs.lake_spec.column_types import agree, holds
from spark_jobs.lake_spec.schemas import Column, Kind, SchemaBook, TableSchema, widest_types
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import NewTables, TablePattern
from spark_jobs.lake_spec.table_sources import ORIGIN, parts_of
from spark_jobs.lake_spec.table_spec import TableSpec


class UnresolvedTable(NamedTuple):
    """A table at the source that none of the lake's is made of, and what is to be done about it."""

    origin: str
    line: str


def resolve(spec: LakeSpec, book: SchemaBook) -> LakeSpec:
    """The lake with the tables that its patterns have found, and the tables at the source that its shards are.

    Pure, and the same for a lake that was resolved before: only what is declared and what the book says counts. An
    entry of its own for a table at the source comes before any pattern, and a pattern before later ones.
    ``unresolved`` has a line for each table that was found and is not made.
    """
    if not spec.is_open:
        return spec
    unresolved, declared = list[UnresolvedTable](), list[TableSpec]()
    for table in spec.tables:
        if not table.is_found:
            declared.append(_with_shards(table, book, unresolved) if table.shards else table)
    lake = replace(spec, tables=tuple(declared), unresolved=())
    taken, found = set(lake.table_names), list[TableSpec]()
    # Those that are there first: a table that is found later takes no name from them.
    for origin in sorted(book, key=lambda each: (not book[each].name, each)):
        if pattern := lake.pattern_of(origin):
            made = _made(pattern, origin, book[origin], taken)
            if isinstance(made, TableSpec):
                taken.add(made.name)
                found.append(made)
                if (key := pattern.key_of(origin)) and {*key} != {*made.key}:
                    unresolved.append(
                        UnresolvedTable(origin, f"keeps the key {', '.join(made.key)} that it was made with")
                    )
            elif made:
                unresolved.append(UnresolvedTable(origin, made))
    found.sort(key=lambda table: table.name)
    lines = tuple(dict.fromkeys(sorted(unresolved)))
    return replace(lake, tables=(*declared, *found), unresolved=lines)


def settle(spec: LakeSpec, book: SchemaBook) -> SchemaBook:
    """The book with the names and keys of tables that patterns have found: from now on they are for good."""
    made = {table.origin: table for table in resolve(spec, book).tables if table.is_found}
    return {
        origin: replace(schema, name=made[origin].name, key=made[origin].key) if origin in made else schema
        for origin, schema in book.items()
    }


def columns_of(table: TableSpec, book: SchemaBook) -> tuple[Column, ...]:
    """The columns of a table that is made of tables at the source, in the order in which they came.

    Those of several are joined by their names there, each with a type that holds what all of them have.
    """
    schemas = [book[origin] for origin in table.origins if origin in book]
    columns = join_columns(schemas) if table.shards else tuple(each for of in schemas for each in of.columns)
    own = (Column(source=ORIGIN, name=table.origin_column, type="string", added="", since=""),) if table.shards else ()
    return (*own, *(column for column in columns if table.takes(column.source) and column.source != ORIGIN))


def join_columns(schemas: Iterable[TableSchema]) -> tuple[Column, ...]:
    """The columns of tables that become one. Those that are there keep their places and since when they count."""
    schemas = tuple(schemas)
    firsts, types, there = dict[str, tuple[str, str, int, Column]](), widest_types(schemas), set[str]()
    for schema in schemas:
        came = {change.column: change.at for change in reversed(schema.changes) if change.kind is Kind.ADDED}
        for number, column in enumerate(schema.columns):
            first = (came.get(column.source, ""), column.added, number, column)
            known = firsts.setdefault(column.source, first)
            firsts[column.source] = min(known, first, key=lambda each: each[:3])
            there |= set() if column.is_gone else {column.source}
    joined, names = list[Column](), set[str]()
    for *_, column in sorted(firsts.values(), key=lambda each: (*each[:3], each[3].source)):
        name = column.name
        while name in names:
            name += "_"
        names.add(name)
        joined.append(replace(column, name=name, type=types[column.source], is_gone=column.source not in there))
    return tuple(joined)


def _with_shards(table: TableSpec, book: SchemaBook, unresolved: list[UnresolvedTable]) -> TableSpec:
    """A table of several at the source with those that are there; one that cannot be in it is left out."""
    found, types = list[str](), dict[str, str]()
    for origin in sorted(filter(table.is_from, book)):
        own = {column.source: column.type for column in book[origin].columns if table.takes(column.source)}
        wrong = next((name for name in own if name in types and not agree(own[name], types[name])), None)
        named = next((c.source for c in book[origin].columns if c.name == table.origin_column), None)
        if wrong is not None:
            line = (
                f"column {plain(wrong)} is {own[wrong]} and {types[wrong]} in others; declare its type for all of them"
            )
            unresolved.append(UnresolvedTable(origin, f"is not in {table.name}: {line}"))
        elif named is not None:
            line = f"its column {plain(named)} is called like origin; call origin otherwise"
            unresolved.append(UnresolvedTable(origin, f"is not in {table.name}: {line}"))
        else:
            found.append(origin)
            types |= {name: own[name] for name in own if holds(own[name], types.get(name, own[name]))}
    return replace(table, found=tuple(found))


def _made(pattern: TablePattern, origin: str, schema: TableSchema, taken: set[str]) -> TableSpec | str:
    """The table that one at the source becomes, or why it becomes none; "" where new tables are ignored."""
    return next(_tries(pattern, origin, schema, taken))


def _tries(pattern: TablePattern, origin: str, schema: TableSchema, taken: set[str]) -> Iterator[TableSpec | str]:
    name, table = schema.name or pattern.name_of(origin), plain(parts_of(origin)[1])
    if not schema.name and pattern.new_tables is NewTables.IGNORE:
        yield ""
    if not is_identifier(name):
        yield f"would be called {plain(name)}, which is no name in the lake; add an entry for {table} with a name"
    if name in taken:
        yield f"would be called {name}, as another table is; add an entry for {table} with another name"
    if not schema.name and pattern.new_tables is NewTables.REPORT:
        yield "is new and not made, as new_tables says; add an entry for it, or write new_tables: add"
    key = (schema.key if schema.name else ()) or pattern.key_of(origin) or schema.key
    if not key:
        yield f"is not made, because its records do not say its key; declare key: for: {{{table}: [its columns]}}"
    try:
        yield pattern.table_of(origin, name=name, key=key)
    except ContractError as error:
        yield f"is not made: {error}"
