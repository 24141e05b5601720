"""Columns that are kept in commits: those of a table as Hudi has them, and those that a writer's rows had.

They may differ. What is written as ``int`` into a table of which the column is ``bigint`` by now is ``int`` in its
files, while the commit's schema says ``long``: Hudi casts when it reads. Who reads the files must know what is in them,
and their footers are read in a Spark job; so a writer that adds files keeps the columns of its rows in its commit.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.contracts.instants import END, Instant
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

ROWS_KEY = f"{METADATA_PREFIX}columns"
"""Commit metadata key of the columns in the files that the commit added."""
_PLAIN: Mapping[str, DataType] = {
    "string": StringType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "bytes": BinaryType(),
}
_LOGICAL: Mapping[tuple[str, str], DataType] = {
    ("int", "date"): DateType(),
    ("long", "timestamp-micros"): TimestampType(),
    ("long", "local-timestamp-micros"): TimestampNTZType(),
}
_OF_LISTS = (LongType, IntegerType, StringType, BooleanType, DoubleType, DateType, TimestampType)
"""Types of elements of which a literal is never null by its type."""


class _OtherTypeError(Exception):
    """A type that no writer of this project writes; never leaves the module."""


def pack_columns(columns: DataType) -> str:
    """Columns as a value in a commit's metadata."""
    return base64.b64encode(zlib.compress(columns.json().encode())).decode()


def unpack_columns(packed: str | None) -> StructType | None:
    """The columns again; None for a commit of a release that did not keep them."""
    return StructType.fromJson(json.loads(zlib.decompress(base64.b64decode(packed)))) if packed else None


def written_columns(timeline: Timeline, write: CompletedWrite) -> StructType | None:
    """The columns in the files of a commit that added some; None when it does not say."""
    return unpack_columns(timeline.metadata(write).get(ROWS_KEY))


def table_columns(timeline: Timeline, *, up_to: Instant = END) -> StructType | None:
    """The table's columns, by the newest commit up to an instant that says them; None when they are not known."""
    writes = (write for write in reversed(timeline.writes) if write.time <= up_to)
    changes = (write for write in writes if not timeline.is_service(write))
    found = (timeline.metadata(write).get("schema") for write in changes)
    return columns_of(next(filter(None, found), ""))


def columns_of(schema: str) -> StructType | None:
    """The columns of an Avro schema, all nullable, what is within them as the schema says.

    None for a schema with a type that this project does not write.
    """
    try:
        found = _type_of(json.loads(schema))
    except (_OtherTypeError, ValueError, KeyError):
        return None
    return StructType([StructField(f.name, f.dataType) for f in found]) if isinstance(found, StructType) else None


def has_nulls_within(kind: DataType) -> bool:
    """True when whatever is within a type may be null, as what Spark reads from Parquet may always be."""
    match kind:
        case ArrayType():
            return kind.containsNull and has_nulls_within(kind.elementType)
        case MapType():
            return kind.valueContainsNull and has_nulls_within(kind.valueType)
        case StructType():
            return all(field.nullable and has_nulls_within(field.dataType) for field in kind)
        case _:
            return True


def is_plain_list(kind: DataType) -> bool:
    """True for an array whose elements are never null by its type, and are of a plain type themselves."""
    return isinstance(kind, ArrayType) and not kind.containsNull and isinstance(kind.elementType, _OF_LISTS)


def lacks_nulls_of(columns: StructType, table: StructType) -> bool:
    """True when these columns say too that elements are never null, where those of the table say so."""
    lists = {field.name for field in table if is_plain_list(field.dataType)}
    return all(is_plain_list(field.dataType) for field in columns if field.name in lists)


def has_types_of(columns: StructType, table: StructType) -> bool:
    """True when each of the columns that the table has too is of the type that it has there."""
    types = {field.name: field.dataType.simpleString() for field in table}
    return all(types.get(field.name, kind) == kind for field in columns for kind in [field.dataType.simpleString()])


def _type_of(avro: Any) -> DataType:
    match avro:
        case ["null", other] | [other, "null"]:
            return _type_of(other)
        case str() if avro in _PLAIN:
            return _PLAIN[avro]
        case {"type": "record", "fields": fields}:
            return StructType(
                [StructField(field["name"], _type_of(field["type"]), _may_be_null(field["type"])) for field in fields]
            )
        case {"type": "array", "items": items}:
            return ArrayType(_type_of(items), _may_be_null(items))
        case {"type": "map", "values": values}:
            return MapType(StringType(), _type_of(values), _may_be_null(values))
        case {"type": "fixed", "logicalType": "decimal", "precision": int(precision), "scale": int(scale)}:
            return DecimalType(precision, scale)
        case {"type": str(type_), "logicalType": str(logical)} if (type_, logical) in _LOGICAL:
            return _LOGICAL[type_, logical]
        case {"type": str(type_)} if type_ in _PLAIN and "logicalType" not in avro:
            return _PLAIN[type_]
        case _:
            raise _OtherTypeError


def _may_be_null(avro: Any) -> bool:
    return isinstance(avro, list) and "null" in avro
