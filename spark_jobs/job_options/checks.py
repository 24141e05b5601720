"""Options of the job ``checks``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksOptions(JobOptions):
    """Which checks, and what runs them."""

    action: Annotated[Literal["list", "run"], Option("list: which checks there are; run: run them", is_positional=True)]
    tables: Annotated[str, Option("checks of these tables alone", metavar="A,B")] = ""
    engine: Annotated[
        Literal["spark", "athena"],
        Option("what runs them: Spark over the lake, Athena over the views that 'views apply' made (default spark)"),
    ] = "spark"

    @property
    def needs_lake(self) -> bool:
        """A list of the checks needs the files of the spec alone."""
        return self.action != "list"
