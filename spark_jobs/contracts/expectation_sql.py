"""What expectations say of a table is checked against the lake spec: columns that are there, SQL that asks one row."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.expectations import Action, Expectation, Figure, Kind, check_names
from spark_jobs.contracts.mart_sql_checks import visible_columns
from spark_jobs.contracts.mart_sql_functions import parse_expression
from spark_jobs.contracts.names import show
from spark_jobs.contracts.portable_sql import check_portable_condition
from spark_jobs.contracts.specs import LakeSpec

_STOP = Action.STOP
_OF_EVENTS = {
    "event_id": "its identity",
    "op": "what it does",
    "event_order": "its place in the source's order",
    "event_time": "its time",
}


def expectations_of(spec: LakeSpec, table: str) -> tuple[Expectation, ...]:
    """All of a table: what the spec implies, then what its file says, each checked; none of a name twice.

    Raises:
        ContractError: one of them names what is not there, or its SQL does not ask a single row.
    """
    declared = tuple(each for each in spec.expectations if each.table == table)
    for each in declared:
        check_expectation(each, spec)
    found = (*implied(spec, table), *declared)
    check_names(found)
    return found


def check_expectation(each: Expectation, spec: LakeSpec) -> None:
    """Raise ContractError when an expectation does not fit its table: a column or the SQL of it."""
    try:
        _check(each, spec, visible_columns(spec, each.table))
    except ContractError as error:
        raise ContractError(f"expectation {each.id}: {error}") from error


def implied(spec: LakeSpec, table: str) -> tuple[Expectation, ...]:
    """What the spec says itself: keys, and what makes an event one, are known."""
    return tuple(_implied(spec, table))


def _implied(spec: LakeSpec, table: str) -> Iterator[Expectation]:
    def known(column: str, name: str, says: str) -> Expectation:
        return Expectation(
            table=table, name=name, kind=Kind.NOT_NULL, columns=(column,), action=_STOP, says=says, is_implied=True
        )

    declared = next((each for each in spec.tables if each.name == table), None)
    if table == spec.log:
        for column, what in _OF_EVENTS.items():
            yield known(column, f"{column}_is_known", f"Every event has {what}.")
        if spec.source.key:
            of_mirror = "source_table IS NULL" if spec.mirrors else ""
            key_is_known = known(spec.source.key, "source_key_is_known", "Every event has the source's key.")
            yield replace(key_is_known, where=of_mirror)
    elif declared is not None:
        yield known(declared.key, "key_is_known", "Every row has its key.")
    elif load := spec.find_load(table):
        for column in load.key:
            yield known(column, f"{column}_is_known", "Every row has its key.")


def _check(each: Expectation, spec: LakeSpec, columns: Collection[str]) -> None:
    if each.action is Action.QUARANTINE and each.table != spec.log and not spec.find_load(each.table):
        raise ContractError(
            f"rows of {each.table} are made of many events, so none can be set aside; use warn or stop, or quarantine "
            f"the events by an expectation of {spec.log}"
        )
    if missing := [name for name in each.columns if name not in columns]:
        raise ContractError(f"{each.table} has no column {show(missing[0])}; it has {', '.join(columns)}")
    if each.usual is Figure.ROWS and each.where:
        raise ContractError("usual: rows counts all rows that are written; take where out")
    if each.kind is Kind.REFERS_TO:
        _check_reference(each, spec)
    for text in (each.condition, each.where):
        if text:
            _check_condition(text, columns)


def _check_reference(each: Expectation, spec: LakeSpec) -> None:
    table, _, column = each.refers_to.partition(".")
    tables = spec.asked_tables
    if table not in tables or not column:
        raise ContractError(f"refers_to is {show(each.refers_to)}; give table.column, the table one of {tables}")
    if column not in (columns := visible_columns(spec, table)):
        raise ContractError(f"{table} has no column {show(column)}; it has {', '.join(columns)}")


def _check_condition(text: str, columns: Collection[str]) -> None:
    """Raise ContractError unless ``text`` is a condition over one row, of these columns, alike for every engine."""
    from sqlglot import exp

    condition = parse_expression(text)
    check_portable_condition(text)
    named = {column.name.lower() for column in condition.find_all(exp.Column)}
    if unknown := sorted(named - set(columns)):
        raise ContractError(f"there is no column {show(unknown[0])}; there are {', '.join(columns)}")
    if not named:
        raise ContractError(f"{show(text)} names no column, so it is the same for every row; say what of it must hold")
