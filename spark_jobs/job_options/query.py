"""Options of the job ``query``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import Option
from spark_jobs.job_options.shared import ExportOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(ExportOptions):
    """Which rows, as of when."""

    sql: Annotated[str, Option("a SELECT over tables and views of the lake, by their names")]
    engine: Annotated[
        Literal["auto", "local", "spark"],
        Option(
            "what answers it: Spark; DuckDB, without a JVM; or DuckDB where it certainly answers the same, else Spark"
        ),
    ] = "spark"
    as_of: Annotated[
        str | None,
        Option(
            "tables as they were at this instant or time, such as 2026-01-31, or in this savepoint", metavar="MOMENT"
        ),
    ] = None
