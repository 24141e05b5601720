"""Where results of quality are kept, and how often increments are asked: declared in the lake spec."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.tables import check_identifier

RESULT_COLUMNS = (
    "result_id",
    "run",
    "job",
    "table_name",
    "instant",
    "stage",
    "expectation",
    "expected",
    "action",
    "observed",
    "rows_asked",
    "rows_broken",
    "figure",
    "outcome",
    "day",
)
"""Columns of the table of results (docs/quality.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySpec:
    """The table of results, and after how many minutes the rows that came meanwhile are asked again."""

    table: str = "lake_quality"
    every_minutes: int = 30
    """0 asks after every commit of a layer. The gate asks each write in any case."""

    def __post_init__(self) -> None:
        check_identifier(self.table, "quality: table")
        if self.every_minutes < 0:
            raise ContractError(f"quality: every_minutes is {self.every_minutes}; give minutes, or 0 for every commit")
