"""Where results of quality are kept, and how often increments are checked: declared in the lake spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import column_names

RESULT_SCHEMA = (
    "result_id string, run timestamp, job string, table_name string, instant string, stage string, expectation string, "
    "expected string, action string, observed string, rows_asked bigint, rows_broken bigint, figure decimal(38,6), "
    "outcome string, day string"
)
RESULT_COLUMNS = column_names(RESULT_SCHEMA)
"""Columns of the table of results (docs/quality.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySpec:
    """The table of results, and after how many minutes the rows that came meanwhile are checked again."""

    table: str = "lake_quality"
    every_minutes: int = 30
    """0 checks after every commit of a layer. The gate checks each write in any case."""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.table, "quality: table", at=("table",))
        if self.every_minutes < 0:
            yield ContractError(
                f"quality: every_minutes is {self.every_minutes}; give minutes, or 0 for every commit",
                at=("every_minutes",),
            )
