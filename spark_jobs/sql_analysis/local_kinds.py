"""Kinds of values, and which of them two engines compare, group and add alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_DIGITS = 38
_NUMBER = re.compile(r"(\d{1,18})(?:\.(\d{1,12}))?")
_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_DATE = re.compile(_DAY)
_TIME = re.compile(rf"{_DAY}(?: (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{{1,6}})?)?")


class Kind(StrEnum):
    """Of the values of a column or an expression."""

    INTEGER = "BIGINT"
    DECIMAL = "DECIMAL"
    TEXT = "TEXT"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    BOOLEAN = "BOOLEAN"
    SHOWN = "DOUBLE"
    """It is shown and nothing else: of a double two engines may disagree on what is equal."""
    NESTED = "BINARY"
    """Lists, maps and structs: each engine writes them in its own way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalColumn:
    """``digits`` and ``scale`` of a decimal; a whole number has 19 and 0."""

    kind: Kind
    digits: int = 0
    scale: int = 0

    @property
    def is_grouped(self) -> bool:
        """Whether equal values are the same ones in both engines, and have one order."""
        return self.kind not in (Kind.SHOWN, Kind.NESTED)

    @property
    def type_name(self) -> str:
        """For a parser that wants to know that it is there; no more depends on it."""
        return str(self.kind)


WHOLE = LocalColumn(kind=Kind.INTEGER, digits=19)
TRUTH = LocalColumn(kind=Kind.BOOLEAN)


def are_comparable(one: LocalColumn, other: LocalColumn) -> bool:
    """Whether both engines compare the two as they are: without a cast that may round or fail."""
    numbers = (Kind.INTEGER, Kind.DECIMAL)
    if one.kind in numbers and other.kind in numbers:
        whole = max(one.digits - one.scale, other.digits - other.scale)
        return whole + max(one.scale, other.scale) <= _MOST_DIGITS
    return one.kind is other.kind and one.is_grouped


def literal_column(literal: exp.Literal, beside: LocalColumn) -> LocalColumn | None:
    """What a literal is when it is compared with a column; None when that is not certain."""
    text = literal.name
    if not literal.is_string:
        if found := _NUMBER.fullmatch(text):
            scale = len(found[2] or "")
            kind = Kind.DECIMAL if scale else Kind.INTEGER
            return LocalColumn(kind=kind, digits=len(found[1]) + scale, scale=scale)
        return None
    if not text.isprintable() or "\\" in text:
        return None
    form = {Kind.DATE: _DATE, Kind.TIMESTAMP: _TIME}.get(beside.kind)
    if form is not None:
        return beside if form.fullmatch(text) else None
    return LocalColumn(kind=Kind.TEXT)


def sum_of(column: LocalColumn) -> LocalColumn | None:
    """What SUM gives; None where the order of the rows may show, or Spark and others round otherwise."""
    if column.kind is Kind.INTEGER:
        return WHOLE
    if column.kind is Kind.DECIMAL and column.digits + 10 <= _MOST_DIGITS:
        return LocalColumn(kind=Kind.DECIMAL, digits=column.digits + 10, scale=column.scale)
    return None
