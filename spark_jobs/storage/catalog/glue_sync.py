"""Brings a Glue database to what a lake's tables are: a plan of changes, and the same changes carried out.

A table's entry says last up to which instant it was brought (``SYNCED``), when its partitions are all there. So a sync
that was cut off is taken up by the next, and a table that has not moved since costs nothing but its place in the list.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.contracts.catalogs import GLUE, Action, CatalogChange, CatalogTable
from spark_jobs.storage.catalog.glue import Glue
from spark_jobs.storage.catalog.glue_inputs import (
    differences,
    has_other_keys,
    partition_differs,
    partition_input,
    table_input,
)
from spark_jobs.storage.catalog.kind import CatalogKind, CatalogRequest
from spark_jobs.storage.catalog.ownership import drop_stale, refuse_foreign

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueSync:
    """One lake and one database.

    Attributes:
        glue: the database.
        lake: the name that marks the lake's own entries.
        wanted: what the catalog should say, by name.
        partitions_of: the partitions of a table, folder by value; called for tables that changed.
        is_partial: ``wanted`` is not the whole lake: nothing is dropped.
        looks_again: partitions are compared also of tables that say they are up to date.
    """

    glue: Glue
    lake: str
    wanted: Mapping[str, CatalogTable]
    partitions_of: Callable[[CatalogTable], Mapping[str, str]]
    is_partial: bool = False
    looks_again: bool = False
    _found: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _folders: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def database(self) -> str:
        """The database that is kept."""
        return self.glue.database

    def plan(self) -> list[CatalogChange]:
        """Every change, in the order in which they are carried out; changes nothing."""
        if not self.glue.has_database():
            made = CatalogChange(name=self.glue.database, action=Action.CREATE_DATABASE)
            return [made, *(change for table in self.wanted.values() for change in self._new(table))]
        found = self.glue.tables()
        self._found.update(found)
        changes = [c for table in self.wanted.values() for c in self._of_table(table, found.get(table.name))]
        parameters = {name: entry.get("Parameters") for name, entry in found.items()}
        return [*changes, *([] if self.is_partial else drop_stale(parameters, self.wanted, self.lake))]

    def apply(self, changes: Sequence[CatalogChange]) -> None:
        """Carry out what this object planned. Refused entries are left as they are."""
        for change in changes:
            log.info("%s: %s %s", change.name, change.action.value, change.what)
            self._carry_out(change, self._found.get(change.name))

    def _of_table(self, table: CatalogTable, found: Mapping[str, Any] | None) -> Iterator[CatalogChange]:
        if found is None:
            yield from self._new(table)
            return
        if refused := refuse_foreign(table.name, found.get("Parameters"), self.lake):
            yield refused
            return
        wanted = table_input(table, synced=table.instant, found=found)
        if has_other_keys(wanted, found):
            yield CatalogChange(name=table.name, action=Action.DROP, what="partitioned by other columns")
            yield from self._new(table)
            return
        details = list(differences(wanted, found))
        if details or self.looks_again:
            yield from self._partitions(table, self.glue.partitions(table.name) if table.partition_keys else {})
        if details:
            yield CatalogChange(name=table.name, action=Action.UPDATE, what="; ".join(details))

    def _new(self, table: CatalogTable) -> Iterator[CatalogChange]:
        yield CatalogChange(name=table.name, action=Action.CREATE, what=f"{len(table.columns)} columns")
        yield from self._partitions(table, {})
        yield CatalogChange(name=table.name, action=Action.UPDATE, what=f"synced to {table.instant}")

    def _partitions(self, table: CatalogTable, found: Mapping[str, Mapping[str, Any]]) -> Iterator[CatalogChange]:
        folders = self._folders.setdefault(table.name, self.partitions_of(table))
        new = [value for value in folders if value not in found]
        gone = [value for value in found if value not in folders]
        other = [
            value
            for value in folders
            if value in found and partition_differs(partition_input(table, value, folders[value]), found[value])
        ]
        for action, values in (
            (Action.ADD_PARTITIONS, new),
            (Action.UPDATE_PARTITIONS, other),
            (Action.DROP_PARTITIONS, gone),
        ):
            if values:
                what = f"{len(values)}: {values[0]}{f' to {values[-1]}' if len(values) > 1 else ''}"
                yield CatalogChange(name=table.name, action=action, what=what, partitions=tuple(sorted(values)))

    def _carry_out(self, change: CatalogChange, found: Mapping[str, Any] | None) -> None:
        glue, name = self.glue, change.name
        if change.action is Action.CREATE_DATABASE:
            glue.create_database(self.lake)
        elif change.action is Action.DROP:
            glue.drop_table(name)
        elif change.action is Action.CREATE:
            glue.create_table(table_input(self.wanted[name], synced=""))
        elif change.action is Action.UPDATE:
            glue.update_table(table_input(self.wanted[name], synced=self.wanted[name].instant, found=found))
        elif change.action is Action.DROP_PARTITIONS:
            glue.drop_partitions(name, change.partitions)
        elif change.action in (Action.ADD_PARTITIONS, Action.UPDATE_PARTITIONS):
            folders = self._folders[name]
            described = [partition_input(self.wanted[name], value, folders[value]) for value in change.partitions]
            (glue.add_partitions if change.action is Action.ADD_PARTITIONS else glue.update_partitions)(name, described)


def _open(request: CatalogRequest) -> GlueSync:
    return GlueSync(
        glue=Glue(request.database),
        lake=request.lake,
        wanted=request.wanted,
        partitions_of=request.partitions_of,
        is_partial=request.is_partial,
        looks_again=request.looks_again,
    )


GLUE_CATALOG = CatalogKind(form=GLUE, open=_open, applies_in_spark=False)
