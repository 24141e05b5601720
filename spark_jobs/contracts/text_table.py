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
_SHORT, _LONG = 12, 24
"""Texts up to the first are folded last; where words have to be cut, those of more than the second come first."""
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

    No word is cut while there is room for all of them: a name or a type in two parts is harder to read than a sentence
    on one line more. Where there is not, as with a path, texts that are longer than other columns' give way first.
    """
    narrowed, gaps = list(widths), _GAP * len(widths)
    if most is not None and gaps + sum(max(_NARROWEST, word) for word in longest) <= most:
        steps = ([max(_SHORT, word) for word in longest], [max(_NARROWEST, word) for word in longest])
    else:
        steps = ([max(_SHORT, min(word, _LONG)) for word in longest], [_NARROWEST] * len(narrowed))
    for least in steps:
        while most is not None and gaps + sum(narrowed) > most:
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
