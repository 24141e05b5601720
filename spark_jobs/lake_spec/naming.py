"""Where a lake names people: by which columns of each table, and of the events of each table at the source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show
from spark_jobs.lake_spec.lake_parts import LakeParts
from spark_jobs.lake_spec.people import Naming, PersonSpec
from spark_jobs.lake_spec.table_spec import TableSpec

LEAST_HIDDEN = 1000
"""Keys in a range from which on its name says of none of them that it was there."""


def naming_of(person: PersonSpec, table: str, spec: LakeParts) -> Naming | None:
    """By which stored columns a table of the lake names people of a kind; None when it names none.

    Marts may have any of the columns by the names that these have in the tables they read.
    """
    if kept := spec.history_of(table):
        return naming_of(person, kept.name, spec)
    if mirror := spec.mirror(table):
        named = person.in_table(table)
        return named and Naming(
            key=mirror.column_name(named.key), columns=tuple(map(mirror.column_name, named.columns))
        )
    if spec.find_load(table):
        return person.in_table(table)
    if table not in spec.mart_names:
        return Naming(key=person.key, columns=person.columns) if person.key else None
    others = (naming_of(person, name, spec) for name, _ in person.tables)
    names = [*person.columns, *(name for each in others if each for name in each.columns)]
    return Naming(key=person.key, columns=tuple(dict.fromkeys(names)))


def event_namings(person: PersonSpec, spec: LakeParts) -> dict[str, tuple[Naming, ...]]:
    """By table at the source, the columns there by which its events name people of a kind."""
    found = defaultdict[str, list[Naming]](list)
    for table, naming in person.tables:
        for origin in mirror.origins if (mirror := spec.mirror(table)) else ():
            if naming not in found[origin]:
                found[origin].append(naming)
    return {origin: tuple(namings) for origin, namings in found.items() if namings}


def columns_of_people(spec: LakeParts, table: str | None = None) -> frozenset[str]:
    """The columns of a table that hold people's names; of all tables when none is given."""
    tables = [table] if table else [*spec.table_names]
    namings = (naming_of(person, name, spec) for person in spec.people for name in tables)
    return frozenset(column for naming in namings if naming for column in naming.columns)


def mistakes_of_people(spec: LakeParts) -> Iterator[ContractError]:
    """What does not fit in the tables that people are named in; places are from the entry of the people."""
    for person in spec.people:
        for table, naming in person.tables:
            for error in _mistakes(person, table, naming, spec):
                yield error.inside("people", person.role, "tables", table)
        listed = {table for table, _ in person.tables}
        for load in spec.loads:
            named = {person.key, *person.columns} - {""}
            if load.name not in listed and (found := [each.name for each in load.columns if each.name in named]):
                yield ContractError(
                    f"people: {person.role}: table {load.name} has the column {found[0]}, which may name them; list it "
                    f"below tables, with the key and the names that it has",
                    at=("people", person.role),
                )


def _mistakes(person: PersonSpec, table: str, naming: Naming, spec: LakeParts) -> Iterator[ContractError]:
    who = f"people: {person.role}: {table}"
    mirror, load = spec.mirror(table), spec.find_load(table)
    if not mirror and not load and spec.may_yield(table):
        return
    if not mirror and not load:
        known = [*(each.name for each in spec.mirrors), *(each.name for each in spec.loads)]
        yield ContractError(
            f"{who} is no table with from or load; {one_of(table, known)}, other tables are those of key and columns",
            lacks=("tables", table),
        )
        return
    if not naming.key:
        yield ContractError(f"{who}: missing key; name the column with the key of the {person.role}")
    places = {naming.key: ("key",), **{name: ("columns", at) for at, name in enumerate(naming.columns)}}
    for name, at in places.items():
        if load and name and name not in {column.name for column in load.columns}:
            known = [column.name for column in load.columns]
            yield ContractError(f"{who} has no column {show(name)}; {one_of(name, known)}", at=at)
        if mirror and (name in mirror.drop or name in mirror.mask):
            word = "dropped" if name in mirror.drop else "masked"
            yield ContractError(f"{who}: column {show(name)} is {word}, so it names no one; take it out", at=at)
        if mirror and name == mirror.partition and not is_hidden_in_ranges(mirror):
            yield ContractError(f"{who}: {show(name)} is the table's partition; partition otherwise", at=at)
        if mirror and name in naming.columns and name in mirror.key:
            yield ContractError(f"{who}: {show(name)} is of the table's key, which cannot be empty; take it out", at=at)


def is_hidden_in_ranges(table: TableSpec) -> bool:
    """True when the folders of a table's partitions name no one, though a person's key decides in which one it is."""
    return table.has_fixed_partitions and (table.width or 0) >= LEAST_HIDDEN
