"""What the docs say of each table: the spec's words, and the columns and types that its newest commit has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.descriptions import comments_of, described
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.visible import is_technical
from spark_jobs.overview.lake import edges_of_reading, read_lake, tables_of
from spark_jobs.overview.models import Edge, NodeKind, TableKind, TableOverview
from spark_jobs.overview.tables import newest_columns
from spark_jobs.sql_analysis.expectation_sql import expectations_of
from spark_jobs.sql_analysis.lineage import ColumnInput, lineage_of
from spark_jobs.sql_analysis.mart_sql_checks import visible_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDoc:
    """A column; ``type`` is "" for a table that has no commit, ``source`` the name at the source where it differs.

    ``made_of`` are the columns whose values are in it, where that is certain.
    """

    name: str
    type: str
    comment: str
    source: str
    made_of: tuple[ColumnInput, ...]
    is_key: bool
    is_personal: bool
    is_technical: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationDoc:
    """What is expected of the table, in words, and what happens with rows that break it."""

    name: str
    expected: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDoc:
    """A table's page."""

    seen: TableOverview
    about: Described
    columns: Sequence[ColumnDoc]
    expectations: Sequence[ExpectationDoc]
    reads: Sequence[str]
    readers: Sequence[str]
    how: Mapping[str, str]
    """How it is made: the entries of the spec that say so, such as key, mode, window."""
    sql: str

    @property
    def name(self) -> str:
        """The table's."""
        return self.seen.name

    @property
    def kind(self) -> TableKind:
        """What it is."""
        return self.seen.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeDoc:
    """A lake's docs, of the moment ``now``."""

    spec: LakeSpec
    now: datetime
    tables: Sequence[TableDoc]
    edges: Sequence[Edge]

    @property
    def names(self) -> frozenset[str]:
        """Those of the tables, which have pages."""
        return frozenset(table.name for table in self.tables)


def facts_of(spec: LakeSpec, settings: Settings, now: datetime) -> LakeDoc:
    """Everything that the docs of a lake say; timelines are read, and no data file is."""
    reading = read_lake(spec, settings, now)
    edges = edges_of_reading(reading)
    stored = {name: newest_columns(timeline) for name, timeline in reading.timelines.items()}
    tables = [_table(spec, seen, dict(stored.get(seen.name, ())), edges) for seen in tables_of(reading)]
    return LakeDoc(spec=spec, now=now, tables=tables, edges=edges)


def _table(spec: LakeSpec, seen: TableOverview, stored: Mapping[str, str], edges: Sequence[Edge]) -> TableDoc:
    name = seen.name
    is_mart = seen.kind in (TableKind.MART, TableKind.CACHE)
    readers = [edge.target for edge in edges if edge.source == name and edge.target_kind is not NodeKind.STORE]
    return TableDoc(
        seen=seen,
        about=described(spec, name),
        columns=tuple(_columns(spec, seen, stored)),
        expectations=tuple(
            ExpectationDoc(name=each.name, expected=each.says or each.expected, action=each.action.value)
            for each in (expectations_of(spec, name) if seen.kind not in _WITHOUT_EXPECTATIONS else ())
        ),
        reads=tuple(dict.fromkeys([*seen.reads, *(edge.source for edge in edges if edge.target == name)])),
        readers=tuple(dict.fromkeys(readers)),
        how={what: text for what, text in _how(spec, seen) if text},
        sql=spec.mart(name).sql.strip() if is_mart else "",
    )


_WITHOUT_EXPECTATIONS = (TableKind.HISTORY, TableKind.DELETED, TableKind.RESULTS)
_SHOWN_KINDS = (TableKind.LOG, TableKind.TABLE, TableKind.MART, TableKind.CACHE, TableKind.LOAD)


def _columns(spec: LakeSpec, seen: TableOverview, stored: Mapping[str, str]) -> Iterator[ColumnDoc]:
    """Those that the table has, or will have by the spec when it was not made yet."""
    name = seen.name
    visible = visible_columns(spec, name) if seen.kind in _SHOWN_KINDS else ()
    names = stored or dict.fromkeys(visible, "")
    comments, people, keys = comments_of(spec, name), columns_of_people(spec, name), _key_of(spec, seen)
    shown = () if spec.has_source_columns(name) else visible
    sources = {column.name: column.source for column in spec.source.columns}
    inputs = lineage_of(spec, name).columns
    for column, type_ in names.items():
        source = sources.get(column, "") if seen.kind in (TableKind.LOG, TableKind.TABLE) else ""
        yield ColumnDoc(
            name=column,
            type=type_,
            comment=comments.get(column, ""),
            source="" if source == column else source,
            made_of=inputs.get(column, ()),
            is_key=column in keys,
            is_personal=column in people,
            is_technical=is_technical(column) or bool(shown and column not in shown),
        )


def _key_of(spec: LakeSpec, seen: TableOverview) -> tuple[str, ...]:
    if table := spec.find_table(seen.name):
        return tuple(table.column_name(name) if table.is_mirror else name for name in table.key)
    if load := spec.find_load(seen.name):
        return load.key
    return spec.mart(seen.name).grain if seen.name in spec.mart_names else ()


def _how(spec: LakeSpec, seen: TableOverview) -> Iterator[tuple[str, str]]:
    """What decides its rows, in the words of the spec."""
    yield "kind", seen.kind.value
    yield "layer", seen.layer
    if table := spec.find_table(seen.name):
        yield "made of", table.origin or f"the wide log {spec.log}"
        yield "deletes", table.deletes.value if table.deletes else ""
        yield "nulls", spec.nulls_of(table).value
        yield "partition", table.partitioned_by
        yield "history", f"kept in {table.history_name}" if table.history else ""
    if seen.name in spec.mart_names:
        mart = spec.mart(seen.name)
        yield "mode", mart.mode.value
        yield "scope", mart.scope
        yield "window", f"{mart.window.length} {mart.window.unit}" if mart.window else ""
        yield "rules", "by month" if mart.rules else ""
    if seen.freshness:
        promise = seen.freshness.promise
        yield "fresh within", f"{promise.behind_minutes} minutes of a commit" if promise.behind_minutes else ""
        yield "newest event within", f"{promise.event_minutes} minutes" if promise.event_minutes else ""
    yield "stored as", f"{seen.layout.form.value}, {seen.layout.type.value}"
