"""Rows as text, for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from itertools import zip_longest
from typing import Any

_GAP, _NARROWEST = 2, 8
_WIDTH: ContextVar[int | None] = ContextVar("width of tables", default=None)


@contextmanager
def tables_within(width: int) -> Iterator[None]:
    """While it is open, tables have at most so many characters a line where that is possible: long texts are folded."""
    token = _WIDTH.set(width)
    try:
        yield
    finally:
        _WIDTH.reset(token)


def format_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side: numbers to the right with thousands marked, text to the left, nothing as ``-``."""
    cells = [[cell_text(value) for value in row] for row in rows]
    widths = [max(len(header[at]), *(len(row[at]) for row in cells), 0) for at in range(len(header))]
    is_number = number_columns(header, rows)
    longest = [max(map(_longest_word, (header[at], *(row[at] for row in cells)))) for at in range(len(header))]
    widths = _narrowed(widths, longest, is_number, _WIDTH.get())

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if right else v.ljust(w) for v, w, right in zip(values, widths, is_number, strict=True))
        return "  " + "  ".join(padded).rstrip()

    def lines(values: Sequence[str]) -> Iterator[str]:
        folded = [_folded(value, width) for value, width in zip(values, widths, strict=True)]
        yield from map(line, zip_longest(*folded, fillvalue=""))

    body = (each for row in cells for each in lines(row))
    return "\n".join([*lines(header), line(["-" * width for width in widths]), *body])


def _narrowed(widths: Sequence[int], longest: Sequence[int], is_number: Sequence[bool], most: int | None) -> list[int]:
    """Widths of columns that fit together: the widest text gives way first, numbers never.

    A column is narrower than its longest word only when all others have given way as far as theirs: a name or a type
    that is cut in two is harder to read than a sentence on one line more.
    """
    narrowed = list(widths)
    for words in (longest, [0] * len(narrowed)):
        least = [max(_NARROWEST, word) for word in words]
        while most is not None and _GAP + sum(narrowed) + _GAP * (len(narrowed) - 1) > most:
            texts = [at for at, width in enumerate(narrowed) if not is_number[at] and width > least[at]]
            if not texts:
                break
            widest = max(texts, key=lambda at: narrowed[at])
            narrowed[widest] -= 1
    return narrowed


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _folded(text: str, width: int) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, drop_whitespace=True, break_on_hyphens=False) or [""]


def number_columns(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Of each column, whether it holds numbers and nothing else."""
    return [
        bool(rows) and all(isinstance(row[at], int | Decimal) or row[at] is None for row in rows)
        for at in range(len(header))
    ]


def cell_text(value: Any) -> str:
    """One value as a table shows it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | Decimal) and not isinstance(value, bool) else str(value)
