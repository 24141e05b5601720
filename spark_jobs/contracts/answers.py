"""Rows of an answer, and how they are printed: the same text whichever engine gave them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self

from spark_jobs.contracts.exports import check_columns, csv_line
from spark_jobs.contracts.names import spell
from spark_jobs.contracts.text_table import format_table


class PrintedForm(StrEnum):
    """Forms of printed rows."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Rows, with the values that Python has for them; times are in UTC, without a zone."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    has_more: bool = False

    @classmethod
    def of(cls, columns: Iterable[str], rows: Sequence[Sequence[Any]], most: int | None) -> Self:
        """The first ``most`` of the rows, of which there may be one more; all with None."""
        kept = rows if most is None else rows[:most]
        return cls(columns=tuple(columns), rows=tuple(map(tuple, kept)), has_more=len(rows) > len(kept))

    def lines(self, form: PrintedForm) -> Iterator[str]:
        """What is printed, line by line.

        A table is for people. CSV and JSON (one object a line) are for programs: times with their zone, decimals with
        all their digits, as text in JSON, bytes in base 16.

        Raises:
            ContractError: two columns have one name, which JSON cannot hold.
        """
        if form is PrintedForm.TABLE:
            yield format_table(self.columns, [[_shown(value) for value in row] for row in self.rows])
        elif form is PrintedForm.CSV:
            yield csv_line(self.columns)
            for row in self.rows:
                yield csv_line(None if value is None else _text(value) for value in row)
        else:
            check_columns(self.columns)
            for row in self.rows:
                pairs = {name: _plain(value) for name, value in zip(self.columns, row, strict=True)}
                yield json.dumps(pairs, ensure_ascii=False)


def _shown(value: Any) -> str | int | Decimal:
    """For a table: numbers as they are, which puts them to the right; one line of a text, null as NULL."""
    if value is None:
        return "NULL"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return spell(_text(value))


def _text(value: Any) -> str:
    plain = _plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=None).isoformat()}Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if hasattr(value, "asDict"):  # a struct of Spark's
        return _plain(value.asDict())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
