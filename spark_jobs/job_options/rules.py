"""Options of the job ``rules``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesOptions(JobOptions):
    """Which two versions are compared, over which months."""

    action: Annotated[Literal["list", "diff"], Option("list the versions, or compare two of them", is_positional=True)]
    versions: Annotated[
        tuple[str, ...],
        Option("the two, for example v1 v2", actions=("diff",), metavar="VERSION", is_positional=True),
    ] = ()
    first_month: Annotated[str, Option("first month, yyyy-MM", actions=("diff",), flag="--from", metavar="MONTH")] = ""
    last_month: Annotated[str, Option("last month, inclusive", actions=("diff",), flag="--to", metavar="MONTH")] = ""
    rows: Rows = 50

    @property
    def reads_spec(self) -> bool:
        """A list of the versions needs their files alone."""
        return self.action != "list"
