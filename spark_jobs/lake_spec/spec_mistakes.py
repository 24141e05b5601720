"""What does not fit together in a lake spec: references to what is not there, names used twice.

Places are the ways to it from the top of the document; marts and expectations, which have files of their own, by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import one_of, show, show_all
from spark_jobs.contracts.places import Steps
from spark_jobs.lake_spec.expectations import names_twice
from spark_jobs.lake_spec.lake_parts import LakeParts
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, sort_marts
from spark_jobs.lake_spec.naming import mistakes_of_people
from spark_jobs.lake_spec.table_spec import VERSIONS_SUFFIX, TableSpec


def mistakes_of(spec: LakeParts) -> Iterator[ContractError]:
    """All of a lake whose parts are right, each on its own."""
    yield from _of_the_lake(spec)
    yield from _names_twice(spec)
    for number, table in enumerate(spec.tables):
        for error in _of_table(table, spec):
            yield error.inside("tables", number)
    yield from _of_tables_together(spec)
    for person in spec.people:
        for error in person.mistakes(spec.columns_by_name, spec.source.key, spec.wide_tables):
            yield error.inside("people", person.role)
    yield from mistakes_of_people(spec)
    yield from _circles(spec)
    for mart in spec.marts:
        for error in _of_mart(mart, spec):
            yield error.inside("marts", mart.name)
    yield from _unknown_tables(spec)
    yield from names_twice(spec.expectations)


def _of_the_lake(spec: LakeParts) -> Iterator[ContractError]:
    for name, what in ((spec.lake, "lake"), (spec.log, "log"), (spec.quarantine, "quarantine")):
        yield from wrong_identifier(name, what, at=(what,))
    yield from spec.mistakes_of_description("lake")
    yield from spec.comments_elsewhere("lake", "its source")
    try:
        ZoneInfo(spec.time_zone)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        yield ContractError(
            f"time_zone {show(spec.time_zone)} is unknown; give an IANA name such as Europe/Paris", at=("time_zone",)
        )


def _named(spec: LakeParts) -> list[tuple[str, Steps]]:
    """Every name that the files give a table, with its place."""
    places: list[tuple[str, Steps]] = [(spec.log, ("log",)), (spec.quarantine, ("quarantine",))]
    places += [(table.name, ("tables", number, "name")) for number, table in enumerate(spec.tables)]
    places += [(pattern.name, ("patterns", number, "name")) for number, pattern in enumerate(spec.patterns)]
    places += [(load.name, ("loads", number, "name")) for number, load in enumerate(spec.loads)]
    places += [(spec.quality.table, ("quality", "table"))]
    places += [(mart.name, ("marts", mart.name, "name")) for mart in spec.marts]
    places += [(name, ("tables", at, "history")) for at, t in enumerate(spec.tables) for name in _made(t)]
    return places


def _made(table: TableSpec) -> tuple[str, ...]:
    """The table and the view that ``history`` of a table makes."""
    return (table.history_name, table.versions_name) if table.history else ()


def _names_twice(spec: LakeParts) -> Iterator[ContractError]:
    places = _named(spec)
    views = (table.versions_name for table in spec.tables if table.history)
    names = Counter((*spec.table_names, *views, *(pattern.name for pattern in spec.patterns)))
    for name in sorted(name for name, count in names.items() if count > 1):
        later = [at for placed, at in places if placed == name][1:]
        for at in later or [()]:
            yield ContractError(f"table names used twice: {show_all([name])}; rename one of them", at=at)


def _of_tables_together(spec: LakeParts) -> Iterator[ContractError]:
    if not spec.tables and not spec.patterns:
        yield ContractError("the lake has no tables; add one below tables (docs/tables.md)", lacks=("tables", ""))
    if spec.wide_tables and not spec.source.columns:
        yield ContractError(
            "the tables' columns are not declared; add them below source: columns, and its key", at=("source",)
        )
    of_source, shards = defaultdict[str, list[TableSpec]](list), [table for table in spec.mirrors if table.shards]
    for table in spec.mirrors:
        of_source[table.origin].append(table)
    for number, table in enumerate(spec.tables):
        if not table.is_mirror:
            continue
        around = [of for of in shards if of is not table and any(map(of.is_from, table.origins))]
        inside = [of for of in spec.mirrors if any(map(table.is_from, of.origins))] if table.shards else []
        same = of_source[table.origin]
        errors = [error for other in (same[0], *around) for error in table.mistakes_beside(other)]
        for error in (*errors, *table.mistakes_of_deletes((*same, *around, *inside))):
            yield error.inside("tables", number)


def _of_table(table: TableSpec, spec: LakeParts) -> Iterator[ContractError]:
    if table.is_mirror:
        return
    wanted: list[tuple[str, Steps]] = [(table.key_column, ("key",))]
    wanted += [(name, ("columns", number)) for number, name in enumerate(table.columns)]
    for name, at in wanted:
        if name not in spec.columns_by_name:
            yield ContractError(
                f"{table.name}: columns {show_all([name])} are not declared; {one_of(name, spec.columns_by_name)}, or "
                f"declare it below source: columns",
                at=at,
                lacks=("columns", name),
            )
    if table.follows_deletes and table.key_column != spec.source.key:
        yield ContractError(
            f"table {table.name}: deletes: {table.deletes} needs the source key {show(spec.source.key)} as its key; "
            f"write deletes: ignore, or correct key",
            at=("deletes",),
            lacks=("source", "key"),
        )


def _of_mart(mart: MartSpec, spec: LakeParts) -> Iterator[ContractError]:
    known = spec.readable
    for number, read in enumerate(mart.reads):
        at = ("reads", number, "table")
        yield from _of_versions(mart, read, number, spec)
        if spec.history_of(read.table) or _lacks_history(read.table, spec):
            continue
        if read.table not in known and not spec.may_yield(read.table):
            yield ContractError(
                f"mart {mart.name} reads {show(read.table)}, which is no table; tables: {sorted(known)}; "
                f"{one_of(read.table, known)}",
                at=at,
                lacks=("tables", read.table),
            )
            continue
        if mart.mode.traits.is_appended and not spec.is_append_only(read.table):
            yield ContractError(
                f"mart {mart.name}: rows of {read.table} change, so appending would keep old ones; use mode scoped",
                at=("mode",),
            )
        if mart.cache and not _is_cells(read.table, spec):
            yield ContractError(
                f"mart {mart.name}: mode stitch reads a mart of mode aggregate that has a time; name one", at=at
            )
    if mart.name in spec.caches and len(spec.readers_of(mart.name)) > 1:
        yield ContractError(
            f"mart {mart.name} is a cache, which only its stitch mart may read; take it out of the others' reads",
            at=("name",),
        )


def _of_versions(mart: MartSpec, read: ReadSpec, number: int, spec: LakeParts) -> Iterator[ContractError]:
    """What does not fit a read of versions, and a read that should be one."""
    what = f"mart {mart.name} reads {read.table}"
    if kept := spec.history_of(read.table):
        yield ContractError(
            f"{what}, which has the values of each event; read {kept.versions_name}, or {kept.name}",
            at=("reads", number, "table"),
        )
    elif table := _lacks_history(read.table, spec):
        yield ContractError(
            f"{what}, and {table.name} has no versions; add history: true to {table.name}",
            at=("reads", number, "table"),
        )
    elif spec.versions_of(read.table) and read.partition:
        yield ContractError(f"{what}, which has no partitions; take partition out", at=("reads", number, "partition"))
    elif read.at and not spec.versions_of(read.table):
        yield ContractError(
            f"{what}, which has no versions, so at has no meaning; take it out", at=("reads", number, "at")
        )


def _lacks_history(name: str, spec: LakeParts) -> TableSpec | None:
    """The table without ``history`` whose versions would be called so."""
    table = spec.find_table(name.removesuffix(VERSIONS_SUFFIX)) if name.endswith(VERSIONS_SUFFIX) else None
    is_of_its_own = spec.find_table(name) is not None or spec.may_yield(name)
    return table if table and not table.history and not is_of_its_own else None


def _is_cells(table: str, spec: LakeParts) -> bool:
    return any(mart.name == table and mart.mode is MartMode.AGGREGATE and mart.time for mart in spec.marts)


def _circles(spec: LakeParts) -> Iterator[ContractError]:
    try:
        sort_marts(spec.marts)
    except ContractError as error:
        yield error


def _unknown_tables(spec: LakeParts) -> Iterator[ContractError]:
    """Services and expectations of a table that the lake does not have."""
    names, validated = spec.table_names, spec.validated_tables
    for name, _ in spec.table_services:
        if name not in names and not spec.may_yield(name):
            yield ContractError(
                f"services: tables {show_all([name])} are none of this lake; {one_of(name, names)}",
                at=("services", "tables", name),
                lacks=("tables", name),
            )
    for name in sorted({each.table for each in spec.expectations} - set(validated)):
        if spec.may_yield(name):
            continue
        yield ContractError(
            f"expectations: {show_all([name])} is no table of rows in this lake; {one_of(name, validated)}",
            at=("expectations", name),
            lacks=("tables", name),
        )
