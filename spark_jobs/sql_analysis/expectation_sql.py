"""Checks expectations against the lake spec: columns that are there, SQL that is about one row.

The columns of mirrors are learned from their events, so of those it is checked what the spec itself says of columns
(:mod:`spark_jobs.sql_analysis.mirror_expectations` knows them).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.names import nearest, show
from spark_jobs.lake_spec.expectations import Action, Expectation, Figure, Kind, check_names
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TECHNICAL, TableSpec, lake_name
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns
from spark_jobs.sql_analysis.mart_sql_functions import parse_expression
from spark_jobs.sql_analysis.portable_sql import check_portable_condition

_STOP = Action.STOP
_OF_EVENTS = {
    "event_id": "its identity",
    "op": "what it does",
    "event_order": "its place in the source's order",
    "event_time": "its time",
}


def expectations_of(spec: LakeSpec, table: str) -> tuple[Expectation, ...]:
    """All of a table: what the spec implies, then what its file says, each checked; none of a name twice.

    Of a mirror the spec implies nothing: its columns do.

    Raises:
        ContractError: one of them names what is not there, or its SQL is not about a single row.
    """
    declared = tuple(each for each in spec.expectations if each.table == table)
    for each in declared:
        check_expectation(each, spec)
    found = (*implied(spec, table), *declared)
    check_names(found)
    return found


def check_expectation(each: Expectation, spec: LakeSpec) -> None:
    """Raise ContractError when an expectation does not fit its table: a column or the SQL of it."""
    raise_all(
        ContractError(f"expectation {each.id}: {error}", at=error.at, lacks=error.lacks)
        for error in _mistakes(each, spec)
    )


def columns_in(each: Expectation) -> frozenset[str]:
    """The columns of its own table that an expectation is about, those in its SQL too."""
    return frozenset(each.columns).union(*(_columns_of(text) for text in (each.condition, each.where) if text))


def implied(spec: LakeSpec, table: str) -> tuple[Expectation, ...]:
    """What the spec says itself: keys, and what makes an event one, are known."""
    return tuple(_implied(spec, table))


def _implied(spec: LakeSpec, table: str) -> Iterator[Expectation]:
    def known(column: str, name: str, says: str) -> Expectation:
        return Expectation(
            table=table, name=name, kind=Kind.NOT_NULL, columns=(column,), action=_STOP, says=says, is_implied=True
        )

    declared = spec.find_table(table)
    if table == spec.log:
        for column, what in _OF_EVENTS.items():
            yield known(column, f"{column}_is_known", f"Every event has {what}.")
        if spec.source.key:
            of_mirror = "source_table IS NULL" if spec.mirrors else ""
            key_is_known = known(spec.source.key, "source_key_is_known", "Every event has the source's key.")
            yield replace(key_is_known, where=of_mirror)
    elif declared is not None and not declared.is_mirror:
        yield known(declared.key_column, "key_is_known", "Every row has its key.")
    elif load := spec.find_load(table):
        for column in load.key:
            yield known(column, f"{column}_is_known", "Every row has its key.")


def _mistakes(each: Expectation, spec: LakeSpec) -> Iterator[ContractError]:
    mirror = spec.mirror(each.table)
    try:
        columns = None if mirror else visible_columns(spec, each.table)  # those of a mirror are not known yet
        if mirror:
            _check_names(columns_in(each), mirror)
    except ContractError as error:
        yield error
        return
    if each.action is Action.QUARANTINE and each.table != spec.log and not spec.find_load(each.table):
        yield ContractError(
            f"rows of {each.table} are made of many events, so none can be set aside; use warn or stop, or quarantine "
            f"the events by an expectation of {spec.log}",
            at=("action",),
        )
    for name in each.columns:
        if columns is not None and name not in columns:
            yield _no_column(each.table, name, columns, "column")
    if each.usual is Figure.ROWS and each.where:
        yield ContractError("usual: rows counts all rows that are written; take where out", at=("where",))
    if each.kind is Kind.REFERS_TO:
        yield from _mistakes_of_reference(each, spec)
    for text, word in ((each.condition, "holds"), (each.where, "where")):
        if text:
            yield from _mistakes_of_condition(text, columns, word)


def _mistakes_of_reference(each: Expectation, spec: LakeSpec) -> Iterator[ContractError]:
    table, _, column = each.refers_to.partition(".")
    tables = spec.validated_tables
    if table not in tables and column and spec.may_yield(table):
        return
    if table not in tables or not column:
        yield ContractError(
            f"refers_to is {show(each.refers_to)}; give table.column, the table one of {tables}",
            at=("refers_to",),
            lacks=("tables", table),
        )
        return
    try:
        if mirror := spec.mirror(table):
            _check_names([column], mirror)
        elif column not in (columns := visible_columns(spec, table)):
            yield _no_column(table, column, columns, "refers_to")
    except ContractError as error:
        yield error.inside("refers_to")


def _no_column(table: str, name: str, columns: Collection[str], word: str) -> ContractError:
    near = nearest(name, columns)
    way = f"write {show(near)}, " if near else ""
    return ContractError(
        f"{table} has no column {show(name)}; {way}it has {', '.join(columns)}", at=(word,), lacks=("columns", name)
    )


def _mistakes_of_condition(text: str, columns: Collection[str] | None, word: str) -> Iterator[ContractError]:
    try:
        _check_condition(text, columns)
    except ContractError as error:
        yield ContractError(str(error), at=(word,), lacks=error.lacks)


def _check_names(names: Collection[str], mirror: TableSpec) -> None:
    """Raise ContractError for a name that no column of a mirror can have, by what its entry says."""
    declared = set(mirror.names.values())
    other = {_name_of(column.source): f"is called {column.name} in the lake" for column in mirror.declared}
    other |= {_name_of(source): "is dropped, and never reaches the lake" for source in mirror.drop}
    other |= dict.fromkeys(TECHNICAL, "is none that readers see")
    if unfit := sorted((set(names) - declared) & {*other}):
        raise ContractError(f"column {show(unfit[0])} of {mirror.name} {other[unfit[0]]}; name another one")


def _name_of(source: str) -> str:
    try:
        return lake_name(source)
    except ContractError:  # of letters that no expectation can name
        return ""


def _check_condition(text: str, columns: Collection[str] | None) -> None:
    """Raise ContractError unless ``text`` is a condition over one row, of these columns, alike for every engine."""
    named = _columns_of(text)
    check_portable_condition(text)
    if columns is not None and (unknown := sorted(named - set(columns))):
        raise ContractError(
            f"there is no column {show(unknown[0])}; there are {', '.join(columns)}", lacks=("columns", unknown[0])
        )
    if not named:
        raise ContractError(f"{show(text)} names no column, so it is the same for every row; say what of it must hold")


def _columns_of(text: str) -> frozenset[str]:
    """The columns that a condition over one row names; ContractError for anything else."""
    from sqlglot import exp

    return frozenset(column.name.lower() for column in parse_expression(text).find_all(exp.Column))
