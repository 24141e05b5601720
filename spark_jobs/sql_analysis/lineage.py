"""Lineage of a lake's tables down to columns, from what it declares: its spec, and the SQL of its marts. No I/O.

A column's inputs are the columns whose values are in its own, through joins, sub-queries and functions. Columns by
which rows are only chosen or joined are not among them. What is not certain is left out, and ``problem`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show_all
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec, lake_name
from spark_jobs.sql_analysis.mart_sql_checks import output_columns
from spark_jobs.sql_analysis.mart_sql_columns import columns_of_reads
from spark_jobs.sql_analysis.mart_sql_text import parse_sql

if TYPE_CHECKING:
    from sqlglot.lineage import Node


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnInput:
    """A column whose values are in another one; of a table of the lake, or ``is_source``: of one at the source."""

    table: str
    column: str
    is_source: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLineage:
    """What a table is made of: tables, or sources, and for each column that is known its inputs, sorted.

    A column without an input is made of none, such as a count of rows. ``problem`` is why columns are missing, or "".
    """

    table: str
    reads: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    columns: Mapping[str, tuple[ColumnInput, ...]] = field(default_factory=dict)
    problem: str = ""


def lineage_of(spec: LakeSpec, table: str) -> TableLineage:
    """The lineage of a table of the lake; ContractError when it has none of that name."""
    spec.check_has(table)
    if table in (spec.log, spec.quarantine):
        return TableLineage(table=table, sources=tuple(spec.source.topics))
    if spec.find_load(table):
        return TableLineage(table=table, sources=(table,))
    if table in spec.mart_names:
        return _of_mart(spec.mart(table), spec)
    for declared in spec.tables:
        if declared.name == table:
            return _of_table(declared, spec)
    # Histories and what was deleted are made of the log too; results of quality are made by the lake itself.
    return TableLineage(table=table, reads=() if table == spec.quality.table else (spec.log,))


def _of_table(table: TableSpec, spec: LakeSpec) -> TableLineage:
    if not table.is_mirror:
        known = set(spec.log_columns)
        columns = [name for name in (*table.key, *table.columns) if name in known]
        found = {name: (ColumnInput(table=spec.log, column=name),) for name in columns}
        return TableLineage(table=table.name, reads=(spec.log,), columns=found)
    named = {name: name for name in (*table.source_key, *table.columns, *(each.source for each in table.declared))}
    inputs = {
        table.names.get(name) or lake_name(name): tuple(
            ColumnInput(table=origin, column=name, is_source=True) for origin in sorted(table.origins)
        )
        for name in named
        if name not in table.drop
    }
    problem = "" if table.columns else "its other columns are those of the source, which only its events name"
    return TableLineage(table=table.name, reads=(spec.log,), columns=inputs, problem=problem)


@lru_cache(maxsize=256)
def _of_mart(mart: MartSpec, spec: LakeSpec) -> TableLineage:
    reads = tuple(spec.sources_of(mart))
    try:
        query = parse_sql(mart.sql)
        names, seen = output_columns(query), columns_of_reads(mart, spec, query)
    except ContractError as error:
        return TableLineage(table=mart.name, reads=reads, problem=f"its SQL cannot be read: {error}")
    found: dict[str, tuple[ColumnInput, ...]] = {}
    for name in names:
        if (inputs := _inputs(mart.sql, name, seen)) is not None:
            found[name] = inputs
    unknown = [name for name in names if name not in found]
    problem = f"it is not certain what {show_all(unknown)} is made of" if unknown else ""
    return TableLineage(table=mart.name, reads=reads, columns=found, problem=problem)


def _inputs(sql: str, column: str, seen: Mapping[str, Sequence[str]]) -> tuple[ColumnInput, ...] | None:
    """The columns of the tables ``seen`` that are in an output column; None where that is not certain."""
    from sqlglot.errors import SqlglotError
    from sqlglot.lineage import lineage

    schema = {table: dict.fromkeys(names, "string") for table, names in seen.items()}
    try:
        node = lineage(column, parse_sql(sql), schema=schema, dialect="spark")
        found = [_leaf(leaf, seen) for leaf in node.walk() if not leaf.downstream]
    except (SqlglotError, ValueError, KeyError):  # it raises ValueError for a column that it does not find
        return None
    if None in found:
        return None
    return tuple(sorted({each for inputs in found if inputs is not None for each in inputs}))


def _leaf(leaf: Node, seen: Mapping[str, Sequence[str]]) -> tuple[ColumnInput, ...] | None:
    """The column that ends a path; none for a constant or a count of rows, None for what was not followed."""
    from sqlglot import exp

    if not isinstance(leaf.expression, exp.Table):
        return None if leaf.expression.find(exp.Column) else ()
    table, column = leaf.expression.name.lower(), leaf.name.rpartition(".")[2].strip('`"').lower()
    if column not in {name.lower() for name in seen.get(table, ())}:
        return None
    return (ColumnInput(table=table, column=column),)
