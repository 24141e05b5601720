"""Expectations about single rows as columns: which rows they apply to, and which break them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from spark_jobs.lake_spec.expectations import Expectation, Kind


def applies(expectation: Expectation) -> Column:
    """True for rows that the expectation applies to, false for all others."""
    return F.coalesce(F.expr(expectation.where), F.lit(False)) if expectation.where else F.lit(True)


def broken(expectation: Expectation, schema: StructType) -> Column:
    """True for rows that break an expectation about single rows, false for all others, never null.

    Args:
        expectation: of one of the kinds in ``ROW_KINDS``.
        schema: of the rows; values are compared as the type of their column.
    """
    is_broken = ~F.coalesce(_holds(expectation, schema), F.lit(True))
    return applies(expectation) & is_broken if expectation.where else is_broken


def _holds(expectation: Expectation, schema: StructType) -> Column:
    if expectation.kind is Kind.HOLDS:
        return F.expr(expectation.condition)
    name = expectation.columns[0]
    column, type_ = F.col(name), schema[name].dataType
    if expectation.kind is Kind.NOT_NULL:
        return column.isNotNull()
    if expectation.kind is Kind.ONE_OF:
        return column.isin([_literal(value, type_) for value in expectation.values])
    if expectation.kind is Kind.MATCHES:
        return column.rlike(expectation.pattern)
    return is_within(column, expectation, type_)


def is_within(column: Column, expectation: Expectation, type_: DataType) -> Column:
    """True where ``column`` is not below ``least`` and not above ``most``; null where it is null."""
    holds = F.lit(True)
    if expectation.least is not None:
        holds = holds & (column >= _literal(expectation.least, type_))
    if expectation.most is not None:
        holds = holds & (column <= _literal(expectation.most, type_))
    return holds


def _literal(text: str, type_: DataType) -> Column:
    return F.lit(text).cast(type_)
