"""Business rules in SQL of marts: what each use of a value is made of, and the SQL with the values of some versions.

A use belongs to the SELECT that it is in. The value's columns are those of the tables that this SELECT reads
itself, and the month that decides which version counts is the scope of its first table with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show, show_all
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.rules import VERSION, RuleBook, first_day
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sql_analysis.mart_sql_columns import columns_of_reads
from spark_jobs.sql_analysis.mart_sql_text import exchange, exchange_within, names_in, parse_sql, quoted
from spark_jobs.sql_analysis.rule_calls import RuleCall, mask, masked, rule_calls
from spark_jobs.sql_analysis.rule_sql import typed_sql

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInput:
    """A table that the SELECT of a use reads, by the alias that it has there."""

    alias: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePlace:
    """A use with what is known there: SQL of a row's ``month``, and the tables that columns may be of."""

    call: RuleCall
    month: str
    inputs: tuple[RuleInput, ...]

    def resolved(self, sql: str) -> str:
        """The expression with every column qualified by its table's alias; ContractError when it is of none."""
        return _qualified(sql, lambda column: self._owner(column).alias)

    def _owner(self, column: exp.Column) -> RuleInput:
        name, table = column.name.lower(), column.table.lower()
        written = show(column.sql("spark", comments=False))
        if column.args.get("db"):
            raise ContractError(f"{written} is more than a table and its column; write table.column")
        found = [each for each in self.inputs if name in each.columns and table in ("", each.table)]
        tables = sorted({each.table for each in found})
        if not found:
            known = [each for source in self.inputs for each in source.columns if table in ("", source.table)]
            there = show_all(sorted({source.table for source in self.inputs}))
            way = one_of(name, known) if known else f"begin with one of {there}"
            raise ContractError(f"there is no column {written} in {there}; {way}")
        if len(tables) > 1:
            raise ContractError(f"{show(name)} is a column of each of {tables}; write {tables[0]}.{name}, or another")
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MartRules:
    """The rules of a mart: every place in its SQL that uses one, and the versions there are."""

    book: RuleBook
    places: tuple[RulePlace, ...]

    def fill(self, text: str, months: Mapping[str, str]) -> str:
        """The mart's SQL with values in place of their names: in each of the months those of its version.

        In a month that is not named every value is null.
        """
        edits = [(place.call.start, place.call.stop, self._choice(place, months)) for place in self.places]
        return exchange(text, edits)

    @property
    def names(self) -> frozenset[str]:
        """Every word in the expressions of used values, in any version, that may be the name of a column."""
        used = {place.call.value for place in self.places}
        sqls = [value.sql for rules in self.book.versions for value in rules.values if value.name in used]
        return frozenset[str]().union(*map(names_in, sqls))

    def _choice(self, place: RulePlace, months: Mapping[str, str]) -> str:
        by_version: dict[str, list[str]] = {}
        for month in sorted(months):
            first_day(month)
            by_version.setdefault(months[month], []).append(quoted(month))
        name = place.call.value
        if not by_version:
            return f"CAST(NULL AS {'STRING' if name == VERSION else self.book.types[name].upper()})"
        choices = [
            f"WHEN {place.month} IN ({', '.join(by_version[version])}) THEN {self._value(place, version)}"
            for version in sorted(by_version)
        ]
        return f"CASE {' '.join(choices)} END"

    def _value(self, place: RulePlace, version: str) -> str:
        rules, name = self.book.version(version), place.call.value
        if name == VERSION:
            return quoted(rules.version)
        value = rules.find(name)
        if value is None:
            raise ContractError(f"rules {version} have no value {show(name)}; add it")
        return typed_sql(value, place.resolved(value.sql), rules.version)


@lru_cache(maxsize=64)
def rule_places(mart: MartSpec, spec: LakeSpec) -> tuple[RulePlace, ...]:
    """Every use in the mart's SQL; ContractError for one in a SELECT that knows no month."""
    from sqlglot import exp

    calls = rule_calls(mart.sql)
    columns = {column.name: column for column in parse_sql(masked(mart.sql, calls)).find_all(exp.Column)}
    return tuple(_place(call, columns.get(mask(number)), mart, spec) for number, call in enumerate(calls))


def rule_mistakes(mart: MartSpec, spec: LakeSpec, book: RuleBook) -> Iterator[ContractError]:
    """What does not fit between the mart and the versions; places begin with ``marts`` or ``rules``, and the name."""
    seen = set[str]()
    for place in rule_places(mart, spec):
        if place.call.value == VERSION:
            continue
        for error in _mistakes_of(place, mart, book):
            if str(error) not in seen:
                seen.add(str(error))
                yield error


def _mistakes_of(place: RulePlace, mart: MartSpec, book: RuleBook) -> Iterator[ContractError]:
    name = place.call.value
    if name not in book.types:
        yield ContractError(
            f"mart {mart.name}: there is no rule value {show(name)}; {one_of(name, [VERSION, *book.types])}",
            at=("marts", mart.name, "sql", place.call.line),
        )
        return
    for rules in book.versions:
        value = rules.find(name)
        if value is None:
            yield ContractError(
                f"rules {rules.version}: value {show(name)} is not there, which mart {mart.name} uses; add it",
                at=("rules", rules.version, "values"),
            )
            continue
        try:
            place.resolved(value.sql)
        except ContractError as error:
            yield ContractError(
                f"rules {rules.version}: {name}: {error} (mart {mart.name} uses it)",
                at=("rules", rules.version, "values", name, "sql"),
            )


def _place(call: RuleCall, column: exp.Column | None, mart: MartSpec, spec: LakeSpec) -> RulePlace:
    from sqlglot import exp

    select = column.find_ancestor(exp.Select) if column is not None else None
    sources = list(_sources(select, mart, spec)) if select is not None else []
    scopes = {read.table: read.scope for read in mart.scoped_reads}
    first = next((each for each, is_always_there in sources if is_always_there and each.table in scopes), None)
    if first is None:
        raise ContractError(
            f"RULE({quoted(call.value)}) is in no SELECT that itself reads a table with the mart's scope; use it in "
            f"the one that reads {show_all(scopes)}",
            at=("sql", call.line),
        )
    alias = first.alias
    month = _qualified(scopes[first.table], lambda _: alias)
    return RulePlace(call=call, month=month, inputs=tuple(each for each, _ in sources))


def _sources(select: exp.Select, mart: MartSpec, spec: LakeSpec) -> Iterator[tuple[RuleInput, bool]]:
    """The mart's reads that a SELECT reads itself, each with whether every row has one."""
    from sqlglot import exp

    reads = columns_of_reads(mart, spec, parse_sql(mart.sql))
    items = [(select.args["from_"].this, True)] if select.args.get("from_") else []
    joins = [join for join in select.args.get("joins") or () if join.kind.upper() not in ("SEMI", "ANTI")]
    items += [(join.this, not join.side) for join in joins]
    for item, is_always_there in items:
        alias = item.args.get("alias")
        if isinstance(item, exp.Table) and item.name.lower() in reads and not (alias and alias.columns):
            name, table = (alias.this if alias else item.this).sql("spark"), item.name.lower()
            yield RuleInput(alias=name, table=table, columns=reads[table]), is_always_there


def _qualified(text: str, alias_of: Callable[[exp.Column], str]) -> str:
    """An expression whose columns have an alias before them."""
    from sqlglot import exp

    edits = []
    for column in parse_sql(text).find_all(exp.Column):
        first = column.args.get("table") or column.this
        stop = column.this.meta["start"]
        edits.append((first.meta["start"], stop, f"{alias_of(column)}."))
    return exchange_within(text, edits)
