"""A table and its partitions in the form that AWS Glue takes, and how what it has differs from that.

Only the fields that are set here are compared: what a crawler, Athena or a person added beside them stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spark_jobs.contracts.catalogs import SYNCED, CatalogColumn, CatalogTable
from spark_jobs.storage.catalog.schemas import column_changes

OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_STORAGE = ("Location", "InputFormat", "OutputFormat")


def table_input(table: CatalogTable, *, synced: str, found: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The ``TableInput``; ``synced`` is the instant it says, and parameters of others that ``found`` has are kept."""
    kept = dict((found or {}).get("Parameters") or {})
    return {
        "Name": table.name,
        "Description": table.description,
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": _columns(table.partition_keys),
        "StorageDescriptor": _storage(table, table.location),
        "Parameters": {**kept, **table.parameters, SYNCED: synced},
    }


def partition_input(table: CatalogTable, value: str, folder: str) -> dict[str, Any]:
    """The ``PartitionInput`` of one folder."""
    return {"Values": [value], "StorageDescriptor": _storage(table, f"{table.location}/{folder}")}


def differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """What a table in Glue says otherwise, in words."""
    yield from _column_differences(wanted["StorageDescriptor"], found.get("StorageDescriptor") or {})
    if wanted["Description"] != found.get("Description"):
        yield "description"
    has, serde = found.get("StorageDescriptor") or {}, (found.get("StorageDescriptor") or {}).get("SerdeInfo") or {}
    for key in _STORAGE:
        if wanted["StorageDescriptor"][key] != has.get(key):
            yield f"{key}: {has.get(key)} to {wanted['StorageDescriptor'][key]}"
    library = wanted["StorageDescriptor"]["SerdeInfo"]["SerializationLibrary"]
    if serde.get("SerializationLibrary") != library:
        yield f"serde: {serde.get('SerializationLibrary')} to {library}"
    if not _has_all(serde.get("Parameters"), wanted["StorageDescriptor"]["SerdeInfo"]["Parameters"]):
        yield "serde parameters"
    plain = {key: value for key, value in wanted["Parameters"].items() if key != SYNCED}
    if not _has_all(found.get("Parameters"), plain):
        yield "parameters"
    was = (found.get("Parameters") or {}).get(SYNCED, "")
    if was != wanted["Parameters"][SYNCED]:
        yield f"synced {was or 'never to its end'} to {wanted['Parameters'][SYNCED]}"


def has_other_keys(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """True when the partition columns changed: Glue keeps those of a table for good."""
    return _names_and_types(wanted["PartitionKeys"]) != _names_and_types(found.get("PartitionKeys") or [])


def partition_differs(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """True when a partition has another location or was registered with other columns."""
    mine, theirs = wanted["StorageDescriptor"], found.get("StorageDescriptor") or {}
    is_elsewhere = any(mine[key] != theirs.get(key) for key in _STORAGE)
    return is_elsewhere or _names_and_types(mine["Columns"]) != _names_and_types(theirs.get("Columns") or [])


def _storage(table: CatalogTable, location: str) -> dict[str, Any]:
    read_optimized = str(table.is_read_optimized).lower()
    parameters = {"serialization.format": "1", "path": table.location, "hoodie.query.as.ro.table": read_optimized}
    return {
        "Columns": _columns(table.columns),
        "Location": location,
        "InputFormat": table.input_format,
        "OutputFormat": OUTPUT_FORMAT,
        "SerdeInfo": {"SerializationLibrary": SERDE, "Parameters": parameters},
    }


def _columns(columns: Sequence[CatalogColumn]) -> list[dict[str, str]]:
    return [{"Name": column.name, "Type": column.type, "Comment": column.comment} for column in columns]


def _column_differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    now, then = _names_and_types(wanted["Columns"]), _names_and_types(found.get("Columns") or [])
    new, old = dict(now), dict(then)
    yield from column_changes(new, old)
    comments = [{each["Name"]: each.get("Comment") or "" for each in d.get("Columns") or []} for d in (wanted, found)]
    if now == then and comments[0] != comments[1]:
        yield "comments of columns"
    if now != then and sorted(now) == sorted(then):
        yield "order of columns"


def _names_and_types(columns: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    return [(column["Name"], column["Type"]) for column in columns]


def _has_all(found: Mapping[str, str] | None, wanted: Mapping[str, str]) -> bool:
    return all((found or {}).get(key) == value for key, value in wanted.items())
