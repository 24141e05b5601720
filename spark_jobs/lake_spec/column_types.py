"""SQL types of columns: which holds the values of which."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_HELD, _NEEDED = {"int": 9, "bigint": 18}, {"int": 10, "bigint": 19}
"""Digits of which a whole number holds every one, and that a column needs to hold every whole number."""
_EXACT = frozenset({("bigint", "int"), ("double", "float"), ("double", "int")})


def holds(wide: str, narrow: str) -> bool:
    """True when a column of the type ``wide`` holds every value of ``narrow`` exactly."""
    if wide == narrow or (wide, narrow) in _EXACT:
        return True
    (most, scale), (needed, small) = _digits(wide, _HELD), _digits(narrow, _NEEDED)
    return bool(most and needed) and most >= needed and scale >= small


def reads(wide: str, narrow: str) -> bool:
    """True when the text of every value of ``narrow`` is that of a value of ``wide``, which a person may choose."""
    return holds(wide, narrow) or (wide == "string" and (narrow == "boolean" or any(_digits(narrow, _NEEDED))))


def agree(one: str, other: str) -> bool:
    """True for types of which one holds the values of the other."""
    return holds(one, other) or holds(other, one)


def _digits(type_: str, of_whole: Mapping[str, int]) -> tuple[int, int]:
    """Digits before and after the point of an exact number; zeros of anything else."""
    match = _DECIMAL.fullmatch(type_)
    return (int(match[1]) - int(match[2]), int(match[2])) if match else (of_whole.get(type_, 0), 0)
