"""Read a lake spec from YAML into the frozen classes of :mod:`spark_jobs.contracts.specs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.specs import (
    ColumnSpec,
    ColumnType,
    DailyTotalsSpec,
    HourlyEventsSpec,
    LakeSpec,
    LookupSpec,
    MartSpec,
    SourceSpec,
    TableSpec,
    TableType,
    TimeUnit,
)

_MARTS: dict[str, type[HourlyEventsSpec] | type[DailyTotalsSpec]] = {
    "hourly_events": HourlyEventsSpec,
    "daily_totals": DailyTotalsSpec,
}
_PLAIN_TYPES: dict[type, str] = {int: "a whole number", str: "text", bool: "true or false"}


def load_lake_spec(path: str) -> LakeSpec:
    """Read the spec file; SettingsError when it cannot be read, ContractError when it contradicts itself."""
    import yaml

    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"lake spec {path} cannot be read ({reason}); correct it or set LAKEHOUSE_LAKE_SPEC"
        ) from error
    try:
        return parse_lake_spec(document)
    except ContractError as error:
        raise ContractError(f"lake spec {path}: {error}") from error


def parse_lake_spec(document: Any) -> LakeSpec:
    """Build a :class:`LakeSpec` from the parsed document; ContractError for unknown, missing or wrong entries."""
    top = dict(_mapping(document, "the file"))
    source = dict(_mapping(top.pop("source", None), "source"))
    columns = tuple(_column(_mapping(c, "a source column")) for c in _sequence(source.pop("columns", None), "columns"))
    top["source"] = _build(SourceSpec, {**source, "columns": columns}, "source")
    top["tables"] = tuple(_table(_mapping(t, "a table")) for t in _sequence(top.get("tables"), "tables"))
    top["marts"] = tuple(_mart(_mapping(m, "a mart")) for m in _sequence(top.get("marts", []), "marts"))
    spec: LakeSpec = _build(LakeSpec, top, "lake")
    return spec


def _column(entry: Mapping[str, Any]) -> ColumnSpec:
    values = dict(entry)
    try:
        values["type"] = ColumnType(str(values.get("type")))
        if "unit" in values:
            values["unit"] = tuple((k, TimeUnit(v)) for k, v in _mapping(values["unit"], "unit").items())
    except ValueError as error:
        raise ContractError(
            f"column {entry.get('name')!r}: {error}; types are {[t.value for t in ColumnType]}"
        ) from error
    column: ColumnSpec = _build(ColumnSpec, values, f"column {entry.get('name')!r}")
    return column


def _table(entry: Mapping[str, Any]) -> TableSpec:
    values = dict(entry)
    try:
        values["type"] = TableType(str(values.get("type", TableType.MERGE_ON_READ)))
    except ValueError as error:
        raise ContractError(
            f"table {entry.get('name')!r}: {error}; types are {[t.value for t in TableType]}"
        ) from error
    table: TableSpec = _build(TableSpec, values, "table")
    return table


def _mart(entry: Mapping[str, Any]) -> MartSpec:
    values = dict(entry)
    kind = values.pop("kind", None)
    if kind not in _MARTS:
        raise ContractError(f"mart {entry.get('name')!r}: kind {kind!r} is unknown; kinds are {sorted(_MARTS)}")
    if "lookup" in values:
        values["lookup"] = _build(LookupSpec, _mapping(values["lookup"], "lookup"), "lookup")
    mart: MartSpec = _build(_MARTS[kind], values, f"mart {entry.get('name')!r}")
    return mart


def _build(cls: Any, values: Mapping[str, Any], what: str) -> Any:
    known = {field.name for field in fields(cls) if field.init}
    if unknown := sorted(set(values) - known):
        raise ContractError(f"{what}: unknown entries {unknown}; known are {sorted(known)}")
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    _check_types(cls, frozen, what)
    try:
        return cls(**frozen)
    except TypeError as error:
        raise ContractError(f"{what}: {str(error).split('.__init__() ')[-1]}") from error


def _check_types(cls: Any, values: Mapping[str, Any], what: str) -> None:
    hints = get_type_hints(cls)
    for name, value in values.items():
        if hints[name] in _PLAIN_TYPES and type(value) is not hints[name]:
            raise ContractError(f"{what}: {name} is {value!r}; give {_PLAIN_TYPES[hints[name]]}")
        is_names = isinstance(value, tuple) and all(isinstance(part, str) for part in value)
        if hints[name] == tuple[str, ...] and not is_names:
            raise ContractError(f"{what}: {name} is {value!r}; give a list of names")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ContractError(f"{what} must be a mapping of names to values")
    return value


def _sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ContractError(f"{what} must be a list")
    return value
