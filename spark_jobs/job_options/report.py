"""Options of the job ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(JobOptions):
    """Where the report goes, and who is named in it."""

    takes_any_clock: ClassVar[bool] = True

    output: Annotated[str, Option("the file to write, which ends in .html", metavar="FILE")]
    overwrite: Annotated[bool, Option("replace the report that is there")] = False
    people: Annotated[
        str, Option("kinds of people of the lake spec whose names are shown; others are numbered", metavar="A,B")
    ] = ""
    engine: Annotated[
        Literal["auto", "local", "spark"],
        Option("what reads the views: DuckDB where it certainly reads what Spark does, else Spark; or one of the two"),
    ] = "auto"
