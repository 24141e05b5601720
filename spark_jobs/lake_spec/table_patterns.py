"""Entries of a lake spec for every table of a database: which tables they find, and what each becomes in the lake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.names import plain, show
from spark_jobs.lake_spec.table_sources import Sources, is_qualified, parts_of, schema_in
from spark_jobs.lake_spec.table_spec import TableSpec

TABLE, DATABASE = "{table}", "{database}"
NO_KEY = ("-",)
"""The key of what tables are like whose keys are not known: never one that is made."""
_OTHER = re.compile(r"[^a-z0-9_]+")


class NewTables(StrEnum):
    """What is done about a table that a pattern finds."""

    ADD = "add"
    """It is made, with all events of it that the log has."""
    REPORT = "report"
    """Its events are kept in the log, and it is reported."""
    IGNORE = "ignore"
    """Its events are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePattern:
    """Tables at the source that become a table of the lake each.

    ``name`` has ``{table}`` in it, and ``{database}``, in place of their names. ``like`` is what each of them is like,
    by the words of the entry. ``key`` is the key of all of them, ``keys`` of single ones by their names; of others it
    is what their records say.
    """

    name: str
    sources: Sources
    like: TableSpec
    key: tuple[str, ...] = ()
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    new_tables: NewTables = NewTables.ADD

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        what = f"table {plain(self.name)}"
        if TABLE not in self.name:
            yield ContractError(
                f"{what}: from names several tables; put {TABLE} into name for a table of each, or add origin for one "
                f"table of all",
                at=("name",),
            )
        elif not is_identifier(_filled(self.name, "a", "a")):
            yield ContractError(
                f"{what}: name {show(self.name)} makes no snake_case identifiers; correct it", at=("name",)
            )
        elif self.sources.has_several_databases and DATABASE not in self.name:
            yield ContractError(
                f"{what}: from names several databases, whose tables may be called alike; put {DATABASE} into name",
                at=("name",),
            )

    def key_of(self, origin: str) -> tuple[str, ...]:
        """The key that the entry declares for a table at the source; none when it says nothing."""
        keys = {name.lower(): key for name, key in self.keys}
        schema, table = parts_of(origin)
        return keys.get(origin) or keys.get(f"{schema_in(schema)}.{table}") or keys.get(table) or self.key

    def name_of(self, origin: str) -> str:
        """What a table at the source is called in the lake, which need not be a name that can be used."""
        database, table = (_OTHER.sub("_", part) for part in parts_of(origin))
        return _filled(self.name, database.strip("_") if is_qualified(parts_of(origin)[0]) else database, table)

    def table_of(self, origin: str, *, name: str, key: tuple[str, ...]) -> TableSpec:
        """The table of the lake that is made of a table at the source; ContractError when it cannot be."""
        database, table = parts_of(origin)
        return replace(self.like, name=name, database=database, table=table, key=key, is_found=True)

    def may_yield(self, name: str) -> bool:
        """True for what a table of it may be called in the lake."""
        parts = re.split(f"({re.escape(TABLE)}|{re.escape(DATABASE)})", self.name)
        form = "".join("[a-z0-9_]+" if part in (TABLE, DATABASE) else re.escape(part) for part in parts)
        return self.new_tables is not NewTables.IGNORE and is_identifier(name) and bool(re.fullmatch(form, name))


def _filled(template: str, database: str, table: str) -> str:
    return template.replace(TABLE, table).replace(DATABASE, database)
