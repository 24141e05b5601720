"""The columns of a view or a table, and which of them name people: what is not certain counts as naming them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.naming import naming_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sql_analysis.mart_sql_checks import output_columns, visible_columns
from spark_jobs.sql_analysis.mart_sql_text import DIALECT, parse_sql
from spark_jobs.sql_analysis.statements import reached

if TYPE_CHECKING:
    from sqlglot.lineage import Node

Roles = frozenset[str]


def columns_of_view(name: str, texts: Mapping[str, str], spec: LakeSpec) -> tuple[str, ...]:
    """The columns of a view or a table by name; ContractError when not all of them are named."""
    if name in texts:
        return output_columns(parse_sql(texts[name]))
    if columns := _columns(spec, name):
        return columns
    raise ContractError("its columns are those of its source; write a view over it that names them")


def people_in_view(
    name: str, texts: Mapping[str, str], reads: Mapping[str, frozenset[str]], spec: LakeSpec
) -> Mapping[str, Roles]:
    """Of each column of a view or a table the kinds of people whose key or name may be in it.

    Args:
        name: of the view or table.
        texts: the SELECT of each view.
        reads: the tables and views that each view reads.
        spec: of the lake, which says where it names people.
    """
    columns = columns_of_view(name, texts, spec)
    if name not in texts:
        return {column: _roles_in(name, column, spec) for column in columns}
    behind = reached({name}, reads)
    tables = {each for each in behind - texts.keys() if each in spec.table_names}
    sources = {each: texts[each] for each in behind & texts.keys() if each != name}
    schema = {each: dict.fromkeys(_columns(spec, each), "string") for each in tables}
    schema = {each: of for each, of in schema.items() if of}
    everyone = frozenset(person.role for person in spec.people)
    found = {}
    for column in columns:
        leaves = _leaves(column, texts[name], sources, schema)
        roles = [_roles(leaf, spec) for leaf in leaves] if leaves is not None else [None]
        found[column] = everyone if None in roles else frozenset(role for of in roles for role in of or ())
    return found


def _columns(spec: LakeSpec, table: str) -> tuple[str, ...]:
    """Those that are declared; none where the source alone knows all of them."""
    is_declared = table in spec.validated_tables or table == spec.quality.table or spec.versions_of(table)
    if not is_declared or spec.has_source_columns(table):
        return ()
    try:
        return visible_columns(spec, table)
    except ContractError:
        return ()


def _leaves(
    column: str, text: str, sources: Mapping[str, str], schema: Mapping[str, Mapping[str, str]]
) -> list[Node] | None:
    """The ends of all paths from a column of a SELECT; None where they cannot be followed."""
    from sqlglot.errors import SqlglotError
    from sqlglot.lineage import lineage

    try:
        node = lineage(column, parse_sql(text), schema=dict(schema), sources=sources, dialect=DIALECT)
        return [each for each in node.walk() if not each.downstream]
    except (SqlglotError, ValueError, KeyError):
        return None


def _roles(leaf: Node, spec: LakeSpec) -> Roles | None:
    """The people whose key or name the column at the end of a path holds; None where it was not followed."""
    from sqlglot import exp

    if not isinstance(leaf.expression, exp.Table):
        return None if leaf.expression.find(exp.Column) else frozenset()
    table, column = leaf.expression.name.lower(), leaf.name.rpartition(".")[2].strip('`"').lower()
    if table not in spec.table_names or column == "*":
        return None
    return _roles_in(table, column, spec)


def _roles_in(table: str, column: str, spec: LakeSpec) -> Roles:
    namings = {person.role: naming_of(person, table, spec) for person in spec.people}
    return frozenset(role for role, naming in namings.items() if naming and column in (naming.key, *naming.columns))
