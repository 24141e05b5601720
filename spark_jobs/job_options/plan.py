"""Options of the job ``plan``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(JobOptions):
    """What is planned, and where the plan is kept."""

    marts: Annotated[
        str | None,
        Option("these marts alone, with commas; changed marts and tables that they read too", metavar="NAMES"),
    ] = None
    tables: Annotated[str | None, Option("these tables alone, with commas; and marts of --marts", metavar="NAMES")] = (
        None
    )
    output: Annotated[
        str, Option("the plan file (default: plan.yaml)", metavar="FILE", excludes="where the plan is kept")
    ] = "plan.yaml"
    keep: Annotated[
        bool,
        Option("keep the plan in the lake, by its id, and write no file", excludes="where the plan is kept"),
    ] = False
