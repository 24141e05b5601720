"""Columns of mirrors as the lake spec declares them against what they are: what a person would have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show
from spark_jobs.lake_spec.column_types import reads
from spark_jobs.lake_spec.schemas import Change, Column, Kind, SchemaBook, TableSchema
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """What is to become of a column of a mirror; ``unfit`` says why it cannot, or is empty."""

    mirror: str
    origin: str
    kind: Kind
    column: str
    before: str
    after: str
    unfit: str = ""


def plan_changes(mirrors: Iterable[TableSpec], book: SchemaBook) -> tuple[PlannedChange, ...]:
    """The changes that the declared columns need; none for tables of which nothing came yet.

    What several tables of one source declare of a column is planned once, for the first of them.
    """
    changes = (
        change
        for mirror in mirrors
        for origin in mirror.origins
        if origin in book
        for declared in mirror.declared
        for change in _changes_of(mirror, origin, declared, book[origin])
    )
    planned = dict[tuple[str, Kind, str], PlannedChange]()
    for change in changes:
        planned.setdefault((change.origin, change.kind, change.column), change)
    return tuple(planned.values())


def apply_changes(book: SchemaBook, changes: Iterable[PlannedChange], *, at: str, by: str) -> SchemaBook:
    """The book with the changes made, and who made them when.

    Raises:
        ContractError: one of them cannot be made.
    """
    known = dict(book)
    for each in changes:
        if each.unfit:
            raise ContractError(f"{each.mirror}: {plain(each.column)}: {each.unfit}")
        schema = known[each.origin]
        done = Change(kind=each.kind, column=each.column, before=each.before, after=each.after, at=at, by=by)
        known[each.origin] = replace(schema, columns=_with(schema, each), changes=(*schema.changes, done))
    return known


def _changes_of(mirror: TableSpec, origin: str, declared: ColumnSpec, schema: TableSchema) -> Iterator[PlannedChange]:
    column, source = schema.column(declared.source), declared.source

    def planned(kind: Kind, before: str, after: str, unfit: str = "") -> PlannedChange:
        return PlannedChange(
            mirror=mirror.name, origin=origin, kind=kind, column=source, before=before, after=after, unfit=unfit
        )

    owner = next((each.source for each in schema.columns if each.name == declared.name), source)
    taken = f"{declared.name} is the name of {show(owner)}; choose another" if owner != source else ""
    if column is None:
        yield planned(Kind.ADDED, "", f"{declared.name} {declared.sql_type}", taken)
        return
    if column.name != declared.name:
        yield planned(Kind.RENAMED, column.name, declared.name, taken)
    if column.type != declared.sql_type:
        cannot = f"{declared.sql_type} does not hold what is there as {column.type}; declare a type that does"
        yield planned(
            Kind.CHANGED, column.type, declared.sql_type, "" if reads(declared.sql_type, column.type) else cannot
        )


def _with(schema: TableSchema, change: PlannedChange) -> tuple[Column, ...]:
    if change.kind is Kind.ADDED:
        name, _, type_ = change.after.partition(" ")
        return (*schema.columns, Column(source=change.column, name=name, type=type_, added="", since=""))
    return tuple(_changed(column, change) if column.source == change.column else column for column in schema.columns)


def _changed(column: Column, change: PlannedChange) -> Column:
    return replace(column, name=change.after) if change.kind is Kind.RENAMED else replace(column, type=change.after)
