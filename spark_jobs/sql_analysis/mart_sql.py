"""SQL of declared marts: what it uses, whether the mart's mode is right for it, and the statement that is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Steps
from spark_jobs.lake_spec.marts import ROWS_COUNT, MartMode, MartSpec, ReadSpec
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sql_analysis.mart_rules import MartRules, rule_mistakes, rule_places
from spark_jobs.sql_analysis.mart_sql_checks import check_any, check_append, check_plain_aggregate
from spark_jobs.sql_analysis.mart_sql_columns import columns_of_reads, lookup_key
from spark_jobs.sql_analysis.mart_sql_functions import parse_expression
from spark_jobs.sql_analysis.mart_sql_relations import Relation
from spark_jobs.sql_analysis.mart_sql_scopes import check_scoped
from spark_jobs.sql_analysis.mart_sql_text import add_aggregates, fill_time_zone, names_in, parse_sql, replace_tables
from spark_jobs.sql_analysis.mart_sql_tree import group_items, normalised, reads_all_columns

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
    """The SQL of a mart whose mode is right for it.

    ``groups`` and ``measures`` are those of an aggregate mart, ``rules`` those of a mart with ``rules: true`` that was
    analysed with the versions there are. ``inputs`` are the columns that it sees of tables whose columns are not
    declared.
    """

    mart: MartSpec
    columns: tuple[str, ...]
    groups: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    rules: MartRules | None = None
    inputs: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def inputs_of(self, table: str) -> tuple[str, ...] | None:
        """The columns that the SQL sees of a table; None for all that readers see of it."""
        return dict(self.inputs).get(table)

    def sql(self, tables: Mapping[str, str], *, time_zone: str, months: Mapping[str, str] | None = None) -> str:
        """The SELECT over the views named in ``tables``, each known by its table's own name.

        ``months`` says by which rule version each month counts; a mart with rules needs it.

        Raises:
            ContractError: it reads a table that is not in ``tables``, or needs rules.
        """
        text = self.mart.sql
        if self.mart.rules:
            if self.rules is None or months is None:
                raise ContractError(f"mart {self.mart.name} needs rules; give the versions and each month's")
            text = self.rules.fill(text, months)
        return replace_tables(fill_time_zone(text, time_zone), tables)

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
        """Of the table's columns ``known``, those that may matter: every one whose name its SQL or a rule has."""
        if reads_all_columns(parse_sql(self.mart.sql)):
            return frozenset(known)
        names = names_in(self.mart.sql) | {read.by for read in self.mart.lookups}
        names |= self.rules.names if self.rules else frozenset()
        for read in self.mart.reads:
            names |= names_in(read.scope) if read.scope and read.table == table else frozenset()
        return frozenset(name for name in known if name.lower() in names)


def expression_sql(text: str, *, time_zone: str) -> str:
    """A read's scope or partition as Spark takes it; ContractError when it is not one value of one row."""
    parse_expression(text)
    return fill_time_zone(text, time_zone)


@lru_cache(maxsize=256)
def analyse_mart(mart: MartSpec, spec: LakeSpec, book: RuleBook | None = None) -> MartQuery:
    """Read the mart's SQL; with ``book`` also what it uses of the rules.

    Raises:
        ContractError: it cannot be read, it would not give the same every time, or the mart's mode is wrong for it;
            or a version of the rules does not fit it. The message says why and what to do.
    """
    query = _analyse(mart, spec)
    if not mart.rules or book is None:
        return query
    raise_all(rule_mistakes(mart, spec, book))
    return replace(query, rules=MartRules(book=book, places=rule_places(mart, spec)))


@lru_cache(maxsize=256)
def _analyse(mart: MartSpec, spec: LakeSpec) -> MartQuery:
    try:
        query = parse_sql(mart.sql)
        columns = check_any(mart, query)
        _check_partitions(mart, spec)
        read = columns_of_reads(mart, spec, query)
        inputs = tuple((table, names) for table, names in read.items() if spec.has_source_columns(table))
        if mart.mode is MartMode.APPEND:
            check_append(mart.sql, query)
        elif mart.mode is MartMode.SCOPED:
            check_scoped(query, _relations(mart, spec, read), mart.scope)
            if mart.rules:
                rule_places(mart, spec)
        elif mart.mode is MartMode.AGGREGATE:
            return replace(_aggregate(mart, query, read), inputs=inputs)
        return MartQuery(mart=mart, columns=columns, inputs=inputs)
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
        if mart.cache:
            time = spec.mart(read.table).time
            known = time.column if time else ""
        names = {column.sql("spark").lower() for column in parse_expression(read.partition, at=at).find_all(exp.Column)}
        if names != {known}:
            only = f"make it of the column {known} alone" if known else "take it out"
            raise ContractError(
                f"{read.table}: partition is {show(read.partition)}, which the engine cannot use; {only}", at=at
            )


def _relations(mart: MartSpec, spec: LakeSpec, columns: Mapping[str, tuple[str, ...]]) -> dict[str, Relation]:
    """The tables of a scoped mart: what is known of their rows."""
    places = {read.table: ("reads", number) for number, read in enumerate(mart.reads)}
    found = {
        read.table: _scoped_table(read, columns[read.table], (*places[read.table], "scope"))
        for read in mart.scoped_reads
    }
    for read in mart.lookups:
        at = (*places[read.table], "by")
        key = lookup_key(spec, read.table, at)
        scoped = [table.columns for table in found.values() if not table.lookup]
        if not any(read.by in names for names in scoped):
            raise ContractError(
                f"{read.table}: by is {show(read.by)}, which is no column of a read that says its scope; correct by",
                at=at,
            )
        if read.at and not any({read.by, read.at} <= {*names} for names in scoped):
            raise ContractError(
                f"{read.table}: at is {show(read.at)}, which is no column of a read that says its scope and has "
                f"{read.by}; correct at, or take it out",
                at=(*places[read.table], "at"),
            )
        found[read.table] = Relation(
            columns=columns[read.table], lookup=read.table, by=read.by, at=read.at, keys=frozenset({key})
        )
    return found


def _scoped_table(read: ReadSpec, columns: tuple[str, ...], at: Steps) -> Relation:
    from sqlglot import exp

    scope = normalised(parse_expression(read.scope, at=at), {read.table})
    names = {column.sql("spark").lower() for column in scope.find_all(exp.Column)}
    if not names or names - set(columns):
        raise ContractError(f"{read.table}: scope is {show(read.scope)}; make it of its columns {list(columns)}", at=at)
    is_column = isinstance(scope, exp.Column)
    return Relation(
        columns=columns,
        table=read.table,
        scope=frozenset(names if is_column else ()),
        expression=None if is_column else scope,
        origins={name: name for name in columns},
    )


def _aggregate(mart: MartSpec, query: exp.Expr, columns: Mapping[str, tuple[str, ...]]) -> MartQuery:
    from sqlglot import exp

    check_plain_aggregate(query)
    if not isinstance(query, exp.Select):
        raise ContractError("its SQL is no SELECT; write one")
    inputs, tables = _inputs(mart, query, columns)
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
    """True when every column in it is inside one of the parts."""
    from sqlglot import exp

    if normalised(item, tables) in parts:
        return True
    children = list(item.iter_expressions())
    return not isinstance(item, exp.Column) and all(_is_made_of(child, parts, tables) for child in children)


def _inputs(mart: MartSpec, query: exp.Select, columns: Mapping[str, tuple[str, ...]]) -> tuple[set[str], set[str]]:
    """The columns that a plain SELECT reads, and the names its table goes by."""
    table = mart.reads[0].table
    alias = query.args["from_"].this.alias_or_name.lower()
    laterals = [name.name.lower() for each in query.args.get("laterals") or () for name in each.args["alias"].columns]
    return {*columns[table], *laterals}, {alias}


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
