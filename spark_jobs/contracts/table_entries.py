"""Entries of a lake spec that are tables of its: split, mirrored and loaded ones."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from spark_jobs.contracts.documents import build, choice, mapping, sequence
from spark_jobs.contracts.loads import LoadOperation, LoadSpec
from spark_jobs.contracts.mirrors import Deletes, MirrorSpec, Transform
from spark_jobs.contracts.mistakes import Mistakes
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Entries, Items
from spark_jobs.contracts.source_entry import column_of
from spark_jobs.contracts.tables import TableSpec, TableType


def table_of(document: Any) -> TableSpec:
    """A table of newest values."""
    entry, found = mapping(document, "a table"), Mistakes()
    parts = _words(entry, found, f"table {show(entry.get('name'))}", type=TableType)
    table: TableSpec = build(TableSpec, entry.having(parts), "table", found=found)
    return table


def mirror_of(document: Any) -> MirrorSpec:
    """A table as it is at the source."""
    entry, found = mapping(document, "a mirror"), Mistakes()
    what = f"mirror {show(entry.get('name'))}"
    parts = _words(entry, found, what, type=TableType, deletes=Deletes, transform=Transform)
    parts["columns"], kept = _columns(entry, found, what)
    where = entry.having({"columns": kept})
    mirror: MirrorSpec = build(MirrorSpec, entry.having(parts), what, found=found, where=where)
    return mirror


def load_of(document: Any) -> LoadSpec:
    """A table that comes as whole files; its columns are called at the source as in the lake unless they say so."""
    entry, found = mapping(document, "a load"), Mistakes()
    what, key = f"load {show(entry.get('name'))}", entry.get("key")
    parts = _words(entry, found, what, type=TableType, operation=LoadOperation)
    parts["columns"], kept = _columns(entry, found, what, is_own=True)
    if isinstance(key, str):
        parts["key"] = [key]
    load: LoadSpec = build(LoadSpec, entry.having(parts), what, found=found, where=entry.having({"columns": kept}))
    return load


def _words(entry: Entries, found: Mistakes, what: str, **kinds: type[StrEnum]) -> dict[str, Any]:
    """Those of the entry's fields that are one of some words."""
    parts = dict[str, Any]()
    for name, kind in kinds.items():
        if name in entry:
            parts[name] = next(iter(kind))
            with found.of(entry):
                parts[name] = choice(kind, entry[name], what, at=(name,))
    return parts


def _columns(entry: Entries, found: Mistakes, what: str, *, is_own: bool = False) -> tuple[tuple[Any, ...], Items]:
    """The columns that an entry declares, each made on its own, and where they stand."""
    made, kept = tuple[Any, ...](), Items()
    with found.of(entry):
        listed = sequence(entry.get("columns", []), f"{what}: columns", at=("columns",))
        inside = Mistakes()
        made, kept = inside.each("columns", listed, _own_column_of if is_own else column_of)
        for error in inside.errors:
            found.add(error, listed)
    return made, kept


def _own_column_of(document: Any) -> Any:
    entry = mapping(document, "a column")
    return column_of(entry if "source" in entry else entry.having({"source": entry.get("name")}))
