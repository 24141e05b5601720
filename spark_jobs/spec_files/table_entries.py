"""Entries of a lake spec that are tables: merged from events, or loaded as whole files."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.places import Entries, Items
from spark_jobs.lake_spec.loads import LoadOperation, LoadSpec
from spark_jobs.lake_spec.partitioning import Transform
from spark_jobs.lake_spec.table_patterns import DATABASE, NO_KEY, TABLE, NewTables, TablePattern
from spark_jobs.lake_spec.table_sources import is_source_name
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.comments import read_comments
from spark_jobs.spec_files.documents import build, choice, mapping, section, sequence
from spark_jobs.spec_files.mistakes import Mistakes
from spark_jobs.spec_files.several_sources import FROM, keys_of, names_several, schemas_of, sources_of
from spark_jobs.spec_files.source_entry import column_of, read_nulls

ALL = "all"
"""In place of a list of columns: all that the source has."""
_NEEDED = ("database", "table")
_INSIDE = {"database": "from", "table": "from", "declared": "declare", "null_columns": "nulls"}
_INSIDE |= {"shards": "from", "found": "from", "is_found": "from", "origin_column": "origin"}
"""Fields of a table, and the word that they are written with."""


def entry_of(document: Any) -> TableSpec | TablePattern | LoadSpec:
    """A table of the lake, or a pattern that finds some."""
    entry = mapping(document, "a table")
    if "load" in entry:
        return _load_of(entry)
    if names_several(entry) and "origin" not in entry:
        return _pattern_of(entry)
    return _table_of(entry)


def _pattern_of(entry: Entries) -> TablePattern:
    """A table for each of those at the source that the entry names; what each is like is read as a table."""
    found, name, what = Mistakes(), entry.get("name"), f"table {show(entry.get('name'))}"
    if not isinstance(name, str):
        raise ContractError(f"{what}: name is {show(name)}; give a text with {TABLE} in it", at=("name",))
    parts: dict[str, Any] = {"name": name, "sources": sources_of(entry, what), "like": None}
    parts |= _words(entry, found, what, new_tables=NewTables)
    with found.of(entry):
        parts |= keys_of(entry, what)
    sample = name.replace(TABLE, "table").replace(DATABASE, "database")
    own = {"name": sample if is_identifier(sample) else "table", "key": [*(parts.get("key") or NO_KEY)]}
    one = entry.having({**own, "from": Entries({"database": "-", "table": "-"})})
    with found.of(entry):
        parts["like"] = _table_of(one.without("new_tables"))
    raise_all(found.errors)
    try:
        return TablePattern(**parts)
    except ContractError as error:
        found.add(error, entry)
        raise


def _table_of(entry: Entries) -> TableSpec:
    found, what = Mistakes(), f"table {show(entry.get('name'))}"
    parts = _words(entry, found, what, type=TableType, deletes=Deletes, transform=Transform)
    for name, word in _INSIDE.items():
        if name in entry:
            found.add(ContractError(f"{what}: unknown entries {show_all([name])}; write {word}", at=(name,)), entry)
    parts |= _origin(entry, found, what)
    parts |= read_nulls(entry, found, what)
    parts |= read_comments(entry, found, what)
    where, key = entry, entry.get("key")
    if isinstance(key, str):
        parts["key"] = [key]
    if entry.get("columns") == ALL:
        parts["columns"] = []
    if "declare" in entry:
        parts["declared"], kept = _columns(entry, "declare", found, what)
        where = entry.having({"declare": kept})
    values = entry.having(parts).without("from", "declare", *(("origin",) if "shards" in parts else ()))
    table: TableSpec = build(TableSpec, values, what, found=found, where=where)
    return table


def _load_of(entry: Entries) -> LoadSpec:
    """A table of whole files; its columns are called at the source as in the lake unless they say so."""
    found, key, what = Mistakes(), entry.get("key"), f"load {show(entry.get('name'))}"
    inside = Entries()
    with found.of(entry):
        inside = section(entry, "load", f"{what}: load")
    if "history" in entry:
        error = ContractError(
            f"{what}: history is for tables of events, whose order says when a row counted, and whole files have none; "
            f"take it out, and add a day to key to keep the rows of every day",
            at=("history",),
        )
        found.add(error, entry)
        entry = entry.without("history")
    flat = Entries({**entry.without("load"), **inside}, entry.place, {**entry.places, **inside.places})
    parts = _words(flat, found, what, type=TableType, operation=LoadOperation)
    parts |= read_comments(flat, found, what)
    parts["columns"], kept = _columns(flat, "columns", found, what, is_own=True)
    if isinstance(key, str):
        parts["key"] = [key]
    load: LoadSpec = build(LoadSpec, flat.having(parts), what, found=found, where=flat.having({"columns": kept}))
    return load


def _origin(entry: Entries, found: Mistakes, what: str) -> dict[str, Any]:
    """The table at the source that an entry names."""
    if "from" not in entry:
        return {}
    if names_several(entry):
        with found.of(entry):
            return {"shards": sources_of(entry, what), "origin_column": entry["origin"]}
        return {"database": "-", "table": "-"}
    with found.of(entry):
        named = section(entry, "from", f"{what}: from")
        if unknown := sorted({*named} - {*FROM}, key=str):
            raise ContractError(f"{what}: from has {show(unknown[0])}; known are {[*FROM]}", at=("from", unknown[0]))
        needed = {*_NEEDED, *named}
        if missing := [name for name in FROM if name in needed and not isinstance(named.get(name), str)]:
            raise ContractError(f"{what}: from needs a {missing[0]}; give its name at the source", at=("from",))
        for name in ("server", "schema"):
            if name in named and not is_source_name(named[name]):
                raise ContractError(
                    f"{what}: {name} {show(named[name])} is no name of a {name}; give its name at the source",
                    at=("from", name),
                )
        server, database, schema = ((named[name],) if name in named else () for name in FROM[:3])
        return {"database": schemas_of(server, database, schema)[0], "table": named["table"]}
    return {"database": "-", "table": "-"}


def _words(entry: Entries, found: Mistakes, what: str, **kinds: type[StrEnum]) -> dict[str, Any]:
    """Those of the entry's fields that are one of some words."""
    parts = dict[str, Any]()
    for name, kind in kinds.items():
        if name in entry:
            parts[name] = next(iter(kind))
            with found.of(entry):
                parts[name] = choice(kind, entry[name], what, at=(name,))
    return parts


def _columns(
    entry: Entries, name: str, found: Mistakes, what: str, *, is_own: bool = False
) -> tuple[tuple[Any, ...], Items]:
    """The columns that an entry declares, each made on its own, and their places."""
    made, kept = tuple[Any, ...](), Items()
    with found.of(entry):
        listed = sequence(entry.get(name, []), f"{what}: {name}", at=(name,))
        inside = Mistakes()
        made, kept = inside.each("columns", listed, _own_column_of if is_own else column_of)
        for error in inside.errors:
            found.add(error, listed)
    return made, kept


def _own_column_of(document: Any) -> Any:
    entry = mapping(document, "a column")
    return column_of(entry if "source" in entry else entry.having({"source": entry.get("name")}))
