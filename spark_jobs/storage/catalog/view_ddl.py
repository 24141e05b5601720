"""The statements that make views for readers: of each table what people are to see, and the business's views on them.

They go into databases of their own beside the tables': ``<database>_views``, and ``<database>_masked`` with the names
of people masked. Who may read only such a database sees no deleted rows and no technical columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from spark_jobs.contracts.catalogs import CatalogTable
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.versions import history_columns, versions_select
from spark_jobs.lake_spec.visible import hides_deleted, shown_columns
from spark_jobs.spec_files.views import load_views
from spark_jobs.storage.catalog.tables import find_tables
from spark_jobs.storage.layouts import all_layouts

MASK = "***"
"""Shown in place of a person's name. The column is not read: users without rights on it can query the view."""


class ViewEngine(StrEnum):
    """Who reads the views."""

    ATHENA = "athena"
    TRINO = "trino"
    SPARK = "spark"

    @property
    def quote(self) -> str:
        """The character that quotes a name."""
        return "`" if self is ViewEngine.SPARK else '"'

    def merged_suffix(self, types: Collection[str]) -> str:
        """Which entry of a merge-on-read table it reads rightly, when readers are shown columns of these Hive types.

        Trino reads base files, whichever entry is queried ("Hudi connector" of its documentation: "Merge on read:
        Read-optimized queries"). Athena reads log files too, but "queries that attempt to read timestamp columns in
        Hudi real time tables either fail or produce empty results" (its user guide, "Considerations and limitations").
        """
        if self is ViewEngine.TRINO or (self is ViewEngine.ATHENA and any("timestamp" in each for each in types)):
            return "_ro"
        return "_rt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDdl:
    """``statements`` by the view's name, in the order in which they are to run; ``missing`` lack a table."""

    database: str
    statements: Mapping[str, str]
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)


def database_of(database: str, *, is_masked: bool = False) -> str:
    """The database of the views over the tables that ``sync`` keeps in ``database``."""
    return f"{database}_{'masked' if is_masked else 'views'}"


def build_views(
    spec: LakeSpec, settings: Settings, *, database: str, engine: ViewEngine, is_masked: bool = False
) -> ViewDdl:
    """The statements for one engine over the tables that ``sync`` keeps in ``database``.

    Raises:
        ContractError: a file of views is wrong.
    """
    into = database_of(database, is_masked=is_masked)
    q = engine.quote
    entries = dict(_entries(spec, settings, engine))
    selects = dict(_of_tables(spec, entries, database, engine, is_masked=is_masked))
    names = {name: f"{q}{into}{q}.{q}{name}{q}" for name in selects}
    for table in (each for each in spec.tables if each.history and each.history_name in entries):
        columns = history_columns(table, _stored(entries[table.history_name]))
        source, name = names[table.history_name], table.versions_name
        selects[name] = versions_select(table, columns, spec, source=source, quote=q)
        names[name] = f"{q}{into}{q}.{q}{name}{q}"
    missing: dict[str, Sequence[str]] = {}
    for view in load_views(Path(settings.views_path)):
        if lacking := sorted(view.reads - names.keys()):
            missing[view.name] = lacking
            continue
        selects[view.name] = view.sql(names)
        names[view.name] = f"{q}{into}{q}.{q}{view.name}{q}"
    statements = {name: f"CREATE OR REPLACE VIEW {names[name]} AS\n{select}" for name, select in selects.items()}
    return ViewDdl(database=into, statements=statements, missing=missing)


def _entries(spec: LakeSpec, settings: Settings, engine: ViewEngine) -> Iterator[tuple[str, CatalogTable]]:
    """Each table that has a view, as the engine is to read it; quarantined records are the operator's business."""
    found = {table.name: table for table in find_tables(spec, settings)}
    for layout in all_layouts(spec):
        name = layout.name
        if name == spec.quarantine or (name not in found and f"{name}_rt" not in found):
            continue
        if layout.is_merged:
            name += engine.merged_suffix(_shown_types(found[f"{name}_rt"], layout.name, spec))
        yield layout.name, found[name]


def _shown_types(entry: CatalogTable, table: str, spec: LakeSpec) -> set[str]:
    """The Hive types of the columns that readers of a table see."""
    types = {column.name: column.type for column in (*entry.columns, *entry.partition_keys)}
    return {types[name] for name in shown_columns(table, types, spec) if name in types}


def _of_tables(
    spec: LakeSpec, entries: Mapping[str, CatalogTable], database: str, engine: ViewEngine, *, is_masked: bool
) -> Iterator[tuple[str, str]]:
    """Each table with what its readers see."""
    for name, entry in entries.items():
        masked = columns_of_people(spec, name) if is_masked else frozenset()
        yield name, _select(name, entry, spec, database, engine, masked=masked)


def _stored(entry: CatalogTable) -> list[str]:
    return [column.name for column in (*entry.columns, *entry.partition_keys)]


def _select(
    table: str, entry: CatalogTable, spec: LakeSpec, database: str, engine: ViewEngine, *, masked: Collection[str]
) -> str:
    q = engine.quote
    shown = shown_columns(table, _stored(entry), spec)
    columns = (_column(name, q, is_masked=name in masked) for name in shown)
    where = f"\nWHERE NOT {q}is_deleted{q}" if hides_deleted(table, spec) else ""
    return f"SELECT\n    {f',{chr(10)}    '.join(columns)}\nFROM {q}{database}{q}.{q}{entry.name}{q}{where}"


def _column(name: str, q: str, *, is_masked: bool) -> str:
    return f"'{MASK}' AS {q}{name}{q}" if is_masked else f"{q}{name}{q}"
