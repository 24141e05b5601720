"""SQL of declared marts: what it uses, whether the mart's mode is right for it, and the statement that is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.mart_sql_checks import check_any, check_append, check_plain_aggregate, visible_columns
from spark_jobs.contracts.mart_sql_functions import parse_expression
from spark_jobs.contracts.mart_sql_relations import Relation
from spark_jobs.contracts.mart_sql_scopes import check_scoped
from spark_jobs.contracts.mart_sql_text import add_aggregates, fill_time_zone, names_in, parse_sql, replace_tables
from spark_jobs.contracts.mart_sql_tree import group_items, normalised, reads_all_columns
from spark_jobs.contracts.marts import ROWS_COUNT, MartMode, MartSpec, ReadSpec
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Steps
from spark_jobs.contracts.rules import RULE_TABLES
from spark_jobs.contracts.specs import LakeSpec

if TYPE_CHECKING:
    from sqlglot import exp


class MeasureKind(StrEnum):
    """Aggregates that rows can be added to and taken away from. COUNT is ``COUNT(*)`` and ``COUNT(x)``."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


_STATES = {
    MeasureKind.SUM: (("COUNT", "count"),),
    MeasureKind.AVG: (("SUM", "sum"), ("COUNT", "count")),
}
"""What a measure ``m`` needs besides itself to go on from: functions of the same argument, kept as ``m__<name>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """An output column of an aggregate mart that is no group."""

    name: str
    kind: MeasureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class MartQuery:
    """The SQL of a mart whose mode is right for it. ``groups`` and ``measures`` are those of an aggregate mart."""

    mart: MartSpec
    columns: tuple[str, ...]
    groups: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()

    def sql(self, tables: Mapping[str, str], *, time_zone: str) -> str:
        """The SELECT over the views named in ``tables``, each known by its table's own name.

        Raises:
            ContractError: it reads a table that is not in ``tables``.
        """
        return replace_tables(fill_time_zone(self.mart.sql, time_zone), tables)

    def partial_sql(self, tables: Mapping[str, str], *, time_zone: str) -> str:
        """Of an aggregate mart: its columns, ``rows__count``, and what sums and averages need to be gone on from."""
        if not self.groups:
            raise ContractError(f"mart {self.mart.name} has no cells; only marts of mode aggregate have")
        states = {
            self.columns.index(measure.name): [
                (function, f"{measure.name}__{name}") for function, name in _STATES[kind]
            ]
            for measure in self.measures
            if (kind := measure.kind) in _STATES
        }
        select = fill_time_zone(self.mart.sql, time_zone)
        return replace_tables(add_aggregates(select, f"COUNT(*) AS {ROWS_COUNT}", states), tables)

    def used_columns(self, table: str, known: Collection[str]) -> frozenset[str]:
        """Of the table's columns ``known``, those that may matter to the mart: every one whose name its SQL has."""
        if reads_all_columns(parse_sql(self.mart.sql)):
            return frozenset(known)
        names = names_in(self.mart.sql) | {read.by for read in self.mart.lookups}
        for read in self.mart.reads:
            names |= names_in(read.scope) if read.scope and read.table == table else frozenset()
        return frozenset(name for name in known if name.lower() in names)


def expression_sql(text: str, *, time_zone: str) -> str:
    """A read's scope or partition as Spark takes it; ContractError when it is not one value of one row."""
    parse_expression(text)
    return fill_time_zone(text, time_zone)


@lru_cache(maxsize=256)
def analyse_mart(mart: MartSpec, spec: LakeSpec) -> MartQuery:
    """Read the mart's SQL.

    Raises:
        ContractError: it cannot be read, it would not give the same every time, or the mart's mode is wrong for it;
            the message says why and what to do.
    """
    try:
        query = parse_sql(mart.sql)
        columns = check_any(mart, query)
        _check_partitions(mart, spec)
        if mart.mode is MartMode.APPEND:
            check_append(mart.sql, query)
        elif mart.mode is MartMode.SCOPED:
            check_scoped(query, _relations(mart, spec), mart.scope)
        elif mart.mode is MartMode.AGGREGATE:
            return _aggregate(mart, spec, query)
        return MartQuery(mart=mart, columns=columns)
    except ContractError as error:
        raise ContractError(f"mart {mart.name}: {error}", at=error.at or ("sql",), lacks=error.lacks) from error


def _check_partitions(mart: MartSpec, spec: LakeSpec) -> None:
    """``partition`` of a read is made of what the engine knows before it reads: scopes, or the ends of a window."""
    from sqlglot import exp

    for number, read in enumerate(mart.reads):
        if not read.partition:
            continue
        at = ("reads", number, "partition")
        known = mart.scope if read.scope else ""
        if mart.mode is MartMode.STITCH:
            time = spec.mart(read.table).time
            known = time.column if time else ""
        names = {column.sql("spark").lower() for column in parse_expression(read.partition, at=at).find_all(exp.Column)}
        if names != {known}:
            only = f"make it of the column {known} alone" if known else "take it out"
            raise ContractError(
                f"{read.table}: partition is {show(read.partition)}, which the engine cannot use; {only}", at=at
            )


def _relations(mart: MartSpec, spec: LakeSpec) -> dict[str, Relation]:
    """The tables of a scoped mart: what is known of their rows."""
    places = {read.table: ("reads", number) for number, read in enumerate(mart.reads)}
    found = {read.table: _scoped_table(read, spec, (*places[read.table], "scope")) for read in mart.scoped_reads}
    for read in mart.lookups:
        at = (*places[read.table], "by")
        key = _key(spec, read.table, at)
        if not any(read.by in table.columns for table in found.values() if not table.lookup):
            raise ContractError(
                f"{read.table}: by is {show(read.by)}, which is no column of a read that says its scope; correct by",
                at=at,
            )
        columns = visible_columns(spec, read.table)
        found[read.table] = Relation(columns=columns, lookup=read.table, by=read.by, keys=frozenset({key}))
    if mart.rules:
        found |= {n: Relation(columns=names, scope=frozenset({"month"})) for n, names in RULE_TABLES.items()}
    return found


def _scoped_table(read: ReadSpec, spec: LakeSpec, at: Steps) -> Relation:
    from sqlglot import exp

    columns, scope = visible_columns(spec, read.table), normalised(parse_expression(read.scope, at=at), {read.table})
    names = {column.sql("spark").lower() for column in scope.find_all(exp.Column)}
    if not names or names - set(columns):
        raise ContractError(f"{read.table}: scope is {show(read.scope)}; make it of its columns {list(columns)}", at=at)
    is_column = isinstance(scope, exp.Column)
    return Relation(
        columns=columns,
        scope=frozenset(names if is_column else ()),
        expression=None if is_column else scope,
        origins={name: name for name in columns},
    )


def _key(spec: LakeSpec, table: str, at: Steps) -> str:
    grain = spec.mart(table).grain if table in spec.mart_names else ()
    if table == spec.log or len(grain) > 1:
        raise ContractError(f"{table} cannot be looked up, because it has no key of one column; give it a scope", at=at)
    return grain[0] if grain else spec.table(table).key


def _aggregate(mart: MartSpec, spec: LakeSpec, query: exp.Expr) -> MartQuery:
    from sqlglot import exp

    check_plain_aggregate(query)
    if not isinstance(query, exp.Select):
        raise ContractError("its SQL is no SELECT; write one")
    inputs, tables = _inputs(mart, spec, query)
    items = [normalised(item, tables) for item in group_items(query, lambda name: name in inputs)]
    groups, measures = [], []
    for item in query.expressions:
        if normalised(item.unalias(), tables) in items:
            groups.append(item.alias_or_name)
        else:
            measures.append(Measure(name=item.alias_or_name, kind=_measure_kind(item)))
    shown = [normalised(item.unalias(), tables) for item in query.expressions]
    if hidden := [item.sql("spark") for item in items if item not in shown]:
        raise ContractError(f"it groups by {hidden[0]}, which is not among its columns; select it")
    wanted = (*mart.grain, mart.partition, mart.time.column if mart.time else "")
    if wrong := [name for name in wanted if name and name not in groups]:
        raise ContractError(f"{wrong[0]} is no group of its SQL, as grain, partition and time have to be; group by it")
    decided = {normalised(i.unalias(), tables) for i in query.expressions if i.alias_or_name in mart.grain}
    for item in query.expressions:
        if item.alias_or_name in groups and not _is_made_of(item.unalias(), decided, tables):
            raise ContractError(
                f"{item.alias_or_name} is a group that the grain does not decide, so one cell could have two of it; "
                f"add it to the grain, or make it of the grain's own expressions"
            )
    return MartQuery(
        mart=mart, columns=(*(i.alias_or_name for i in query.expressions),), groups=(*groups,), measures=(*measures,)
    )


def _is_made_of(item: exp.Expr, parts: Collection[exp.Expr], tables: set[str]) -> bool:
    """True when every column in it stands inside one of the parts."""
    from sqlglot import exp

    if normalised(item, tables) in parts:
        return True
    children = list(item.iter_expressions())
    return not isinstance(item, exp.Column) and all(_is_made_of(child, parts, tables) for child in children)


def _inputs(mart: MartSpec, spec: LakeSpec, query: exp.Select) -> tuple[set[str], set[str]]:
    """The columns that a plain SELECT reads, and the names its table goes by."""
    table = mart.reads[0].table
    alias = query.args["from_"].this.alias_or_name.lower()
    laterals = [name.name.lower() for each in query.args.get("laterals") or () for name in each.args["alias"].columns]
    return {*visible_columns(spec, table), *laterals}, {alias}


def _measure_kind(item: exp.Expr) -> MeasureKind:
    from sqlglot import exp

    call: exp.Expr = item.unalias()
    is_plain = isinstance(call, exp.Count | exp.Sum | exp.Min | exp.Max | exp.Avg)
    if not is_plain or isinstance(call.this, exp.Distinct):
        raise ContractError(
            f"{item.alias_or_name} is {call.sql('spark')}: neither a group nor one COUNT, SUM, MIN, MAX or AVG alone; "
            f"use mode scoped, or compute it in a view"
        )
    return MeasureKind(call.key)
