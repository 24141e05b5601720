"""Rows as lines of CSV, to the last digit.

Spark's own writer of CSV cuts times to milliseconds, strips blanks around texts, escapes quotes by backslashes and
leaves a carriage return unquoted. So each line is made here and written as text.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    NullType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spark_jobs.contracts.exports import csv_header

LINE = "line"
_MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_WITH_ZONE = _MICROS + "X" * 3
_JSON = {"ignoreNullFields": "false", "timestampFormat": _WITH_ZONE, "timestampNTZFormat": _MICROS}
_QUOTED = r'[",\r\n]|^\s|\s$|^$'
_FORMULA = r"^[=+\-@\t\r]"
_ROWS = 1 << 33
"""What numbers of rows by :func:`monotonically_increasing_id` begin with in each partition: a multiple of it."""


def to_csv_lines(rows_df: DataFrame, *, guards_formulas: bool = False) -> DataFrame:
    """One column ``line``; the first one of each partition begins with the header, for each partition becomes a file.

    By RFC 4180, with line ends of Unix: null is nothing and an empty text ``""``; times are ISO 8601 with microseconds,
    bytes hexadecimal digits, and what has parts is JSON. With ``guards_formulas`` a text that a spreadsheet would take
    for a formula gets an apostrophe before it.
    """
    cells = [_cell(field.name, field.dataType, guards_formulas=guards_formulas) for field in rows_df.schema.fields]
    line = F.concat_ws(",", *(F.coalesce(cell, F.lit("")) for cell in cells))
    is_first = F.monotonically_increasing_id() % F.lit(_ROWS) == 0
    headed = F.concat(F.lit(csv_header(rows_df.columns)), line)
    return rows_df.select(F.when(is_first, headed).otherwise(line).alias(LINE))


def _cell(name: str, type_: DataType, *, guards_formulas: bool) -> Column:
    value = F.col(f"`{name.replace('`', '``')}`")
    match type_:
        case NullType():
            return F.lit("")
        case BinaryType():
            return F.hex(value)
        case TimestampType():
            return F.date_format(value, _WITH_ZONE)
        case TimestampNTZType():
            return F.date_format(value, _MICROS)
        case DecimalType():
            return _plain(value.cast("string"))
        case NumericType() | BooleanType() | DateType():
            return value.cast("string")
        case StructType() | ArrayType() | MapType():
            return _quoted(F.to_json(value, _JSON))
    text = value.cast("string")
    if guards_formulas:
        text = F.when(text.rlike(_FORMULA), F.concat(F.lit("'"), text)).otherwise(text)
    return _quoted(text)


def _plain(number: Column) -> Column:
    """``1.5E-7``, as Spark writes a small decimal and zero with many digits, as ``0.00000015``."""
    digits = F.regexp_replace(F.substring_index(number, "E", 1), "[-.]", "")
    zeros = F.call_function("repeat", F.lit("0"), F.substring_index(number, "E-", -1).cast("int") - 1)
    sign = F.when(number.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    return F.when(number.contains("E-"), F.concat(sign, F.lit("0."), zeros, digits)).otherwise(number)


def _quoted(text: Column) -> Column:
    doubled = F.concat(F.lit('"'), F.regexp_replace(text, '"', '""'), F.lit('"'))
    return F.when(text.rlike(_QUOTED), doubled).otherwise(text)
