"""What a lake makes of a table of a database: the names that it has there, the columns that are read, and its key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import JdbcColumn
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show_all
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import TablePattern
from spark_jobs.lake_spec.table_sources import Ways, matches, names_of
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sources.jdbc.database import JdbcDatabase


@dataclass(frozen=True, kw_only=True)
class SnapshotTarget:
    """A table of a database, by what the lake declares of it. The database is queried at most once for each thing."""

    spec: LakeSpec
    database: JdbcDatabase
    table: SourceTable
    server_name: str

    @cached_property
    def database_name(self) -> str:
        """The name of the database that the table is in, as its events have it."""
        return self.database.dialect.read_database(self.table, self.database.query)

    @cached_property
    def found_key(self) -> tuple[str, ...]:
        """The table's primary key, where its rows have to say it: a pattern finds it, and no entry declares its key."""
        pattern = self._pattern()
        return self.database.primary_key(self.table) if pattern and not pattern[1].key_of(pattern[0]) else ()

    def columns(self, *, has_text_decimals: bool) -> tuple[list[JdbcColumn], list[str]]:
        """The columns that are read, and the names of those whose type is none that is read.

        Raises:
            ContractError: the lake wants others, or has no table that is made of it.
        """
        columns, left_out = self.database.columns(self.table)
        if has_text_decimals:
            columns = [replace(column, digits=None) for column in columns]
        mirrors, pattern = self._mirrors(), self._pattern()
        declared = [column for mirror in mirrors for column in mirror.declared]
        wanted = {column.source for column in (declared if mirrors or pattern else self.spec.source.columns)}
        if unread := sorted(wanted & set(left_out)):
            raise ContractError(
                f"--table {self.table}: columns {show_all(unread)} are of types that a snapshot does not read; "
                f"take them out of the lake spec, or let the connector take the snapshot"
            )
        names = self._names(self.spec.source.ways)
        is_wide = self.spec.wide_tables and any(matches(name, self.spec.source.tables) for name in names)
        if not mirrors and not pattern and not is_wide:
            raise ContractError(
                f"--table {self.table} is none of lake {self.spec.lake}; add it to its tables, with from"
            )
        keys = [name for mirror in mirrors for name in mirror.source_key]
        if pattern and not keys:
            keys = [*pattern[1].key_of(pattern[0])]
        elif not keys:
            keys = [self.spec.columns_by_name[self.spec.source.key].source]
        if missing := sorted({*keys} - {column.name for column in columns}):
            raise ContractError(f"--table {self.table} has no column {missing[0]}, which is its key in the lake spec")
        return columns, left_out

    def _names(self, ways: Ways) -> tuple[str, ...]:
        """What the lake may call the table, the most particular name first."""
        database = self.database_name if len(ways) > 1 else ""
        return names_of(self.server_name, database, self.table.schema, self.table.name, ways)

    def _mirrors(self) -> list[TableSpec]:
        """The tables of the lake that are made of it; none where only a pattern finds it."""
        for name in self._names(self.spec.ways):
            if found := [each for each in self.spec.mirrors if each.is_from(name)]:
                return found
        return []

    def _pattern(self) -> tuple[str, TablePattern] | None:
        """The pattern that finds it, with the name that it is found by."""
        for name in self._names(self.spec.ways):
            if any(each.is_from(name) for each in self.spec.mirrors if not each.is_found):
                return None
            if pattern := self.spec.pattern_of(name):
                return name, pattern
        return None
