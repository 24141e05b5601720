"""The schema that a commit carries (Avro, as JSON) in the words of Hive's and of Spark's catalogs.

Types by the Avro specification 1.11, "Logical Types"; Hive's by its language manual; Spark's are the names in the JSON
form of a ``StructType``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.storage.layouts import HUDI_COLUMNS

_PLAIN = {
    "boolean": ("boolean", "boolean"),
    "int": ("int", "integer"),
    "long": ("bigint", "long"),
    "float": ("float", "float"),
    "double": ("double", "double"),
    "bytes": ("binary", "binary"),
    "fixed": ("binary", "binary"),
    "string": ("string", "string"),
    "enum": ("string", "string"),
}
_LOGICAL = {
    "date": ("date", "date"),
    "timestamp-millis": ("timestamp", "timestamp"),
    "timestamp-micros": ("timestamp", "timestamp"),
}
_HIVE, _SPARK = 0, 1


def fields_of(schema: str) -> list[tuple[str, Any]]:
    """Name and Avro type of each column of a commit's schema, without Hudi's own."""
    return [(field["name"], field["type"]) for field in json.loads(schema)["fields"]]


def hive_type(avro: Any) -> str:
    """The Hive type, such as ``decimal(18,4)`` or ``array<struct<a:int>>``."""
    kind, logical = _kind(avro)
    if plain := _plain(avro, kind, logical):
        return plain[_HIVE]
    if kind == "array":
        return f"array<{hive_type(avro['items'])}>"
    if kind == "map":
        return f"map<string,{hive_type(avro['values'])}>"
    if kind == "record":
        inner = ",".join(f"{each['name']}:{hive_type(each['type'])}" for each in avro["fields"])
        return f"struct<{inner}>"
    return hive_type(_of_union(avro))


def column_changes(wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """In words, how columns that a catalog has (type by name) differ from those that it should have."""
    yield from (f"column {name} {type_} added" for name, type_ in wanted.items() if name not in found)
    yield from (f"column {name} gone" for name in found if name not in wanted)
    yield from (f"column {n}: {found[n]} to {new}" for n, new in wanted.items() if n in found and found[n] != new)


def spark_schema(fields: Sequence[tuple[str, Any]], comments: Mapping[str, str]) -> str:
    """The JSON form of the ``StructType`` of the whole table, Hudi's own columns first."""
    columns = [*((name, ["null", "string"]) for name in HUDI_COLUMNS), *fields]
    found = [_spark_field(name, avro, comments.get(name, "")) for name, avro in columns]
    return json.dumps({"type": "struct", "fields": found}, separators=(",", ":"))


def _spark_type(avro: Any) -> Any:
    kind, logical = _kind(avro)
    if plain := _plain(avro, kind, logical):
        return plain[_SPARK]
    if kind == "array":
        return {"type": "array", "elementType": _spark_type(avro["items"]), "containsNull": _is_nullable(avro["items"])}
    if kind == "map":
        values = avro["values"]
        kinds = {"keyType": "string", "valueType": _spark_type(values)}
        return {"type": "map", **kinds, "valueContainsNull": _is_nullable(values)}
    if kind == "record":
        return {"type": "struct", "fields": [_spark_field(each["name"], each["type"], "") for each in avro["fields"]]}
    return _spark_type(_of_union(avro))


def _spark_field(name: str, avro: Any, comment: str) -> dict[str, Any]:
    metadata = {"comment": comment} if comment else {}
    return {"name": name, "type": _spark_type(avro), "nullable": _is_nullable(avro), "metadata": metadata}


def _kind(avro: Any) -> tuple[str, str]:
    """The Avro type and its logical type; ``union`` for a list of types."""
    if isinstance(avro, list):
        return "union", ""
    if isinstance(avro, dict):
        inner = avro["type"]
        return (inner if isinstance(inner, str) else "union"), str(avro.get("logicalType", ""))
    return str(avro), ""


def _plain(avro: Any, kind: str, logical: str) -> tuple[str, str] | None:
    if logical == "decimal":
        same = f"decimal({avro['precision']},{avro.get('scale', 0)})"
        return same, same
    return _LOGICAL.get(logical) or _PLAIN.get(kind)


def _of_union(avro: Any) -> Any:
    """What a union is beside null."""
    members = avro if isinstance(avro, list) else avro["type"]
    if isinstance(members, dict):
        return members
    values = [member for member in members if member != "null"]
    if len(values) != 1:
        raise ContractError(f"a column may have one type or be unknown, not {values}; correct the table's schema")
    return values[0]


def _is_nullable(avro: Any) -> bool:
    return isinstance(avro, list) and "null" in avro
