"""Which column of a table names a row of which other table: what the lines of an entity diagram are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.lake_spec.expectations import Kind
from spark_jobs.lake_spec.specs import LakeSpec


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Relation:
    """``table.column`` has keys of ``target``; ``says`` is where the spec says so."""

    table: str
    column: str
    target: str
    says: str


def relations_of(spec: LakeSpec) -> list[Relation]:
    """The relations between the tables of a lake, each once, in the order of their names.

    A spec says them in three ways: an expectation ``refers_to``, a mart that looks a table up by a column of the table
    that it reads, and, of tables of one wide log, a column that is the key of another one.
    """
    found: dict[tuple[str, str, str], Relation] = {}
    for relation in (*_by_expectation(spec), *_by_lookup(spec), *_by_name(spec)):
        found.setdefault((relation.table, relation.column, relation.target), relation)
    return sorted(found.values())


def _by_expectation(spec: LakeSpec) -> Iterator[Relation]:
    for each in spec.expectations:
        target = each.refers_to.partition(".")[0]
        if each.kind is Kind.REFERS_TO and each.columns and spec.find_table(target):
            yield Relation(table=each.table, column=each.columns[0], target=target, says=f"expectation {each.name}")


def _by_lookup(spec: LakeSpec) -> Iterator[Relation]:
    for mart in spec.marts:
        holders = [table for read in mart.scoped_reads if (table := spec.find_table(read.table))]
        for lookup in mart.lookups:
            holder = next((table for table in holders if lookup.by in {*table.key, *table.columns}), None)
            if holder and spec.find_table(lookup.table):
                yield Relation(table=holder.name, column=lookup.by, target=lookup.table, says=f"mart {mart.name}")


def _by_name(spec: LakeSpec) -> Iterator[Relation]:
    keys = {table.key_column: table.name for table in spec.tables if not table.is_mirror}
    for table in spec.tables:
        if table.is_mirror:
            continue
        for column in table.columns:
            if column in keys:
                yield Relation(table=table.name, column=column, target=keys[column], says=f"the key of {keys[column]}")
