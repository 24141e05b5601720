"""A mart's columns in a relational database: which type holds every value of Spark's to the last digit, and how.

| Spark | PostgreSQL | MySQL, MariaDB | SQLite |
|---|---|---|---|
| whole numbers | bigint | bigint | BIGINT |
| decimal(p, s) | numeric(p, s) | decimal(p, s) | TEXT, always with s digits |
| string | text | longtext, compared by its bytes | TEXT |
| timestamp | timestamptz | datetime(6), in UTC | DATETIME, in UTC |
| date, boolean, double, binary | the same | the same | the same |
| array, map, struct | text, JSON | longtext, JSON | TEXT, JSON |

SQLite has no decimals: as REAL they would lose digits, so they are text there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.storage.serving.address import Database

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

ROW_KEY = "row__key"
"""The primary key of every served table, beside the mart's own columns, none of which has two underscores."""

Bind = Callable[[Any], Any]


def check_columns(mart: str, schema: T.StructType) -> Mapping[str, T.DataType]:
    """The mart's columns by name; ContractError for a name that cannot be served."""
    for name in schema.names:
        check_identifier(name, f"mart {mart}: column")
        if name == ROW_KEY:
            raise ContractError(f"mart {mart}: column {name!r} is a name that the serving store gives; choose another")
    return {field.name: field.dataType for field in schema.fields}


def types_of(schema: T.StructType) -> dict[str, str]:
    """The columns with their types, by Spark's names."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def row_key(key: str) -> str:
    """The primary key of the row with this record key, which may be longer than a database lets a key be."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_type() -> TypeEngine[Any]:
    """The type of :func:`row_key`."""
    import sqlalchemy as sa

    return sa.String(64)


def text_type(database: Database) -> TypeEngine[Any]:
    """Text of any length, compared by its bytes, as the lake compares it."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    return mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin") if database is Database.MYSQL else sa.Text()


def timestamp_type(database: Database) -> TypeEngine[Any]:
    """A moment to the microsecond."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    return mysql.DATETIME(fsp=6) if database is Database.MYSQL else sa.DateTime(timezone=True)


def column_type(data_type: T.DataType, database: Database) -> TypeEngine[Any]:
    """The database's type for a column of Spark's."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    match data_type:
        case T.BooleanType():
            return sa.Boolean()
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return sa.BigInteger()
        case T.DecimalType() if database is not Database.SQLITE:
            return sa.Numeric(data_type.precision, data_type.scale)
        case T.FloatType() | T.DoubleType():
            return sa.Double()
        case T.TimestampType():
            return timestamp_type(database)
        case T.TimestampNTZType():
            return mysql.DATETIME(fsp=6) if database is Database.MYSQL else sa.DateTime()
        case T.DateType():
            return sa.Date()
        case T.BinaryType():
            return mysql.LONGBLOB() if database is Database.MYSQL else sa.LargeBinary()
        case T.DecimalType() | T.StringType() | T.ArrayType() | T.MapType() | T.StructType():
            return text_type(database)
    raise ContractError(f"type {data_type.simpleString()} cannot be served; cast the column in the mart's SQL")


def build_bind(data_type: T.DataType, database: Database, column: str) -> Bind:
    """How a value of the column is handed to the database's driver; null stays null."""
    bind = _bind(data_type, database, column)
    return lambda value: None if value is None else bind(value)


def _bind(data_type: T.DataType, database: Database, column: str) -> Bind:
    match data_type:
        case T.DecimalType() if database is Database.SQLITE:
            return f"{{:.{data_type.scale}f}}".format
        case T.FloatType() | T.DoubleType():
            return lambda value: _finite(value, column)
        case T.StringType() if database is Database.POSTGRESQL:
            return lambda value: value.replace("\0", "\N{REPLACEMENT CHARACTER}")  # the one character it cannot hold
        case T.TimestampType():
            return lambda value: in_database(value, database)
        case T.ArrayType() | T.MapType() | T.StructType():
            return lambda value: json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return lambda value: value


def in_database(value: datetime, database: Database) -> datetime:
    """A time as the database keeps it: with its zone where it knows zones, else in UTC. Spark's own are in UTC."""
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware if database is Database.POSTGRESQL else aware.replace(tzinfo=None)


def _finite(value: float, column: str) -> float:
    if not math.isfinite(value):
        raise ContractError(f"{column}: {value} is no number a database can hold; make it null in the mart's SQL")
    return value


def _plain(value: Any) -> Any:
    """Nested values as JSON has them: decimals and times as text, so that no digit is lost."""
    if isinstance(value, T.Row):
        return {name: _plain(part) for name, part in value.asDict().items()}
    if isinstance(value, Mapping):
        return {str(_plain(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    if isinstance(value, datetime):
        return in_database(value, Database.POSTGRESQL).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes | bytearray) else value
