"""Declared columns of the wide log, filled from what was kept of them before they were declared.

An event that was read when a column was not declared has null in it, and its value beside the declared columns
(:mod:`spark_jobs.lake_spec.undeclared_columns`). Here it is read as if the column had been declared then. A kept value
that is none of the declared type is not known, and neither is the column of an event of that time that did not have it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, NumberUnit
from spark_jobs.lake_spec.undeclared_columns import KeptColumns

_TYPES, _VALUES, _UNKNOWN = "row_types", "row_values", "row_unknown"
_DAY_US = 86_400_000_000
_NUMBER = "decimal(38,0)"
"""Of every product of a number that came and a unit: too large a one is no time, and must not become another."""
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999."""


def kept_here(columns: Sequence[ColumnSpec], known: KeptColumns) -> tuple[ColumnSpec, ...]:
    """Those of the declared columns of which older events may have values beside the others."""
    return tuple(column for column in columns if column.source in known)


def with_kept(log_df: DataFrame, columns: Sequence[ColumnSpec], known: KeptColumns) -> DataFrame:
    """Rows of the log with these columns filled, and with those of them that are not known in ``row_unknown``.

    Args:
        log_df: rows of the log with ``ingest_time``.
        columns: what :func:`kept_here` gives; with none the rows stay as they are.
        known: what is known of kept columns.
    """
    there = set(log_df.columns)
    if not columns or not {_TYPES, _VALUES, _UNKNOWN, "ingest_time"} <= there:
        return log_df
    changed, unknown, is_wide = dict[str, Column](), list[Column](), F.col("source_table").isNull()
    for column in columns:
        own = F.col(column.name) if column.name in there else F.lit(None).cast(column.sql_type)
        value = F.when(is_wide, kept_value(column))
        changed[column.name] = F.coalesce(own, value)
        is_older = own.isNull()
        if declared := known[column.source].declared:
            is_older = is_older & (F.col("ingest_time") < F.lit(declared).cast("timestamp"))
        is_absent = ~F.coalesce(F.array_contains(F.map_keys(_TYPES), column.source), F.lit(False))
        is_unfit = F.element_at(_VALUES, F.lit(column.source)).isNotNull() & value.isNull()
        unknown.append(F.when(is_older & is_wide & (is_absent | is_unfit), F.lit(column.name)))
    names = F.filter(F.array(*unknown), lambda name: name.isNotNull())
    every = F.when(F.col(_UNKNOWN).isNull(), names).otherwise(F.array_union(_UNKNOWN, names))
    changed[_UNKNOWN] = F.when(F.size(names) > 0, every).otherwise(F.col(_UNKNOWN))
    return log_df.withColumns(changed)


def has_kept(columns: Sequence[ColumnSpec]) -> Column:
    """True for an event that has one of these columns, with or without a value, beside the declared ones."""
    found = [F.coalesce(F.array_contains(F.map_keys(_TYPES), column.source), F.lit(False)) for column in columns]
    return F.col("source_table").isNull() & reduce(operator.or_, found, F.lit(False))


def kept_value(column: ColumnSpec) -> Column:
    """What was kept of a column as a value of its declared type; null where it is none."""
    type_, text = F.element_at(_TYPES, F.lit(column.source)), F.element_at(_VALUES, F.lit(column.source))
    connector, kind = F.substring_index(type_, ":", 1), F.substring_index(type_, ":", -1)
    is_whole = kind.isin("int", "bigint")
    is_number = is_whole | kind.startswith("decimal")
    if column.type is ColumnType.BIGINT:
        is_one = (is_number | (kind == "string")) & text.rlike(r"^[+-]?[0-9]{1,19}$")
        return F.when(is_one, text.cast("bigint"))
    if column.type is ColumnType.DECIMAL:
        return F.when(
            (is_number | ((kind == "string") & F.lit(not column.packed))) & text.rlike(_fits_decimal(column)),
            text.cast(column.sql_type),
        )
    if column.type is ColumnType.TIMESTAMP:
        return _moment(column, connector, kind, text)
    if column.type is ColumnType.BOOLEAN:
        is_bit = is_whole & text.isin("0", "1")
        return F.when(kind == "boolean", text == "true").when(is_bit, text == "1")
    is_text = is_number | kind.isin("string", "boolean")
    return F.when(is_text & (F.length(text) <= column.max_length), text)


def _fits_decimal(column: ColumnSpec) -> str:
    """What the text of a number is like that the column holds exactly; nothing is rounded."""
    whole = f"0*[0-9]{{0,{column.precision - column.scale}}}"
    return rf"^(?=[+-]?\.?[0-9])[+-]?{whole}(\.[0-9]{{0,{column.scale}}}0*)?$"


def _moment(column: ColumnSpec, connector: Column, kind: Column, text: Column) -> Column:
    """A time: what a schema names as one is in microseconds, a bare number has the unit of its connector."""
    number = F.when(text.rlike(r"^-?[0-9]{1,19}$"), text.cast(_NUMBER))
    units = dict(column.unit)
    scaled = _scaled(number, column.unit_for("default"))
    for name, unit in units.items():
        scaled = F.when(connector == name, _scaled(number, unit)).otherwise(scaled)
    is_moment = kind.isin("int", "bigint")
    microseconds = F.when(kind == "timestamp", number).when(kind == "date", (number * F.lit(_DAY_US)).cast(_NUMBER))
    microseconds = microseconds.when(is_moment, scaled)
    is_possible = microseconds.between(F.lit(_FIRST_US).cast(_NUMBER), F.lit(_LAST_US).cast(_NUMBER))
    is_text = (kind == "string") & ~text.rlike(r"^[0-9]*$")
    moment = F.when(is_possible, F.timestamp_micros(microseconds.cast("bigint")))
    return F.when(is_text, text.cast("timestamp")).otherwise(moment)


def _scaled(number: Column, unit: NumberUnit) -> Column:
    if unit is NumberUnit.NANOSECONDS:
        return (number / F.lit(1000)).cast("bigint").cast(_NUMBER)
    factor = {NumberUnit.MILLISECONDS: 1000, NumberUnit.MICROSECONDS: 1, NumberUnit.DAYS: _DAY_US}[unit]
    return (number * F.lit(factor)).cast(_NUMBER)
