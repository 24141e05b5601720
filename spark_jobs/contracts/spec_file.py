"""Read a lake spec from YAML into the frozen classes of :mod:`spark_jobs.contracts.specs`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_jobs.contracts.documents import build, choice, mapping, read_document, sequence
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.expectation_file import load_expectations
from spark_jobs.contracts.expectations import Expectation, QuarantineLimit
from spark_jobs.contracts.freshness import FreshnessPromise
from spark_jobs.contracts.loads import LoadOperation, LoadSpec
from spark_jobs.contracts.mart_file import load_marts
from spark_jobs.contracts.marts import MartSpec
from spark_jobs.contracts.mirrors import Deletes, MirrorSpec, Transform
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.people import PersonSpec
from spark_jobs.contracts.quality import QualitySpec
from spark_jobs.contracts.services import ServiceTargets
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import ColumnSpec, ColumnType, NumberUnit, SourceSpec, TableSpec, TableType


def load_lake_spec(path: str) -> LakeSpec:
    """Read the spec file and the marts it names.

    Raises:
        SettingsError: a file cannot be read.
        ContractError: it contradicts itself.
    """
    document = read_document(Path(path), what="lake spec", then="correct it or set LAKEHOUSE_LAKE_SPEC")
    try:
        marts, expectations = (_folder(document, name, path) for name in ("marts", "expectations"))
        return parse_lake_spec(
            document,
            load_marts(marts) if marts else (),
            load_expectations(expectations) if expectations else (),
        )
    except ContractError as error:
        raise ContractError(f"lake spec {show_path(path)}: {error}") from error


def _folder(document: Any, name: str, path: str) -> Path | None:
    """The folder that an entry names, beside the spec file; None when there is no such entry."""
    folder = document.get(name) if isinstance(document, Mapping) else None
    if folder is not None and not isinstance(folder, str):
        raise ContractError(f"{name} is {show(folder)}; give the folder of their files, beside this one")
    return Path(path).parent / folder if folder else None


def parse_lake_spec(
    document: Any, marts: tuple[MartSpec, ...] = (), expectations: tuple[Expectation, ...] = ()
) -> LakeSpec:
    """Build a :class:`LakeSpec` from the parsed document; ContractError for unknown, missing or wrong entries."""
    top = dict(mapping(document, "the file"))
    source = dict(mapping(top.pop("source", None), "source"))
    columns = tuple(_column(mapping(c, "a source column")) for c in sequence(source.pop("columns", []), "columns"))
    top["source"] = build(SourceSpec, {**source, "columns": columns}, "source")
    top["tables"] = tuple(_table(mapping(t, "a table")) for t in sequence(top.get("tables", []), "tables"))
    top["mirrors"] = tuple(_mirror(mapping(m, "a mirror")) for m in sequence(top.get("mirrors", []), "mirrors"))
    top["loads"] = tuple(_load(mapping(each, "a load")) for each in sequence(top.get("loads", []), "loads"))
    top["marts"], top["expectations"] = marts, expectations
    limit = mapping(top.get("quarantine_limit", {}), "quarantine_limit")
    top["quarantine_limit"] = build(QuarantineLimit, limit, "quarantine_limit")
    promise = mapping(top.get("freshness", {}), "freshness")
    top["freshness"] = build(FreshnessPromise, promise, "freshness")
    top["quality"] = build(QualitySpec, mapping(top.get("quality", {}), "quality"), "quality")
    people = mapping(top.get("people", {}), "people")
    top["people"] = [_person(role, mapping(entry, f"people: {plain(role)}")) for role, entry in people.items()]
    top["services"], top["table_services"] = _services(mapping(top.get("services", {}), "services"))
    spec: LakeSpec = build(LakeSpec, top, "lake")
    return spec


def _services(entry: Mapping[str, Any]) -> tuple[ServiceTargets, tuple[tuple[str, ServiceTargets], ...]]:
    """What is wanted for all tables, and of those that want something else: what they do not say is as for all."""
    for_all = {name: value for name, value in entry.items() if name != "tables"}
    of_tables = mapping(entry.get("tables", {}), "services: tables")
    what = {name: f"services of {plain(name)}" for name in of_tables}
    own = {name: {**for_all, **mapping(values, what[name])} for name, values in of_tables.items()}
    targets: ServiceTargets = build(ServiceTargets, for_all, "services")
    return targets, tuple((name, build(ServiceTargets, each, what[name])) for name, each in own.items())


def _person(role: str, entry: Mapping[str, Any]) -> PersonSpec:
    person: PersonSpec = build(PersonSpec, {**entry, "role": role}, f"people: {plain(role)}")
    return person


def _column(entry: Mapping[str, Any]) -> ColumnSpec:
    values, what = dict(entry), f"column {show(entry.get('name'))}"
    values["type"] = choice(ColumnType, values.get("type"), what)
    if "unit" in values:
        values["unit"] = tuple((k, choice(NumberUnit, v, what)) for k, v in mapping(values["unit"], "unit").items())
    column: ColumnSpec = build(ColumnSpec, values, what)
    return column


def _table(entry: Mapping[str, Any]) -> TableSpec:
    type_ = choice(TableType, entry.get("type", TableType.MERGE_ON_READ), f"table {show(entry.get('name'))}")
    table: TableSpec = build(TableSpec, {**entry, "type": type_}, "table")
    return table


def _mirror(entry: Mapping[str, Any]) -> MirrorSpec:
    what = f"mirror {show(entry.get('name'))}"
    values: dict[str, Any] = {**entry}
    for name, kind in (("type", TableType), ("deletes", Deletes), ("transform", Transform)):
        if name in values:
            values[name] = choice(kind, values[name], what)
    declared = sequence(values.get("columns", []), f"{what}: columns")
    values["columns"] = tuple(_column(mapping(column, f"{what}: a column")) for column in declared)
    mirror: MirrorSpec = build(MirrorSpec, values, what)
    return mirror


def _load(entry: Mapping[str, Any]) -> LoadSpec:
    """A load; its columns are called at the source as in the lake unless they say otherwise."""
    what, key = f"load {show(entry.get('name'))}", entry.get("key")
    columns = [mapping(column, "a column of a load") for column in sequence(entry.get("columns"), f"{what}: columns")]
    values = {
        **entry,
        "key": [key] if isinstance(key, str) else key,
        "columns": tuple(_column({"source": column.get("name"), **column}) for column in columns),
        "operation": choice(LoadOperation, entry.get("operation", LoadOperation.UPSERT), what),
        "type": choice(TableType, entry.get("type", TableType.MERGE_ON_READ), what),
    }
    load: LoadSpec = build(LoadSpec, values, what)
    return load
