"""Options of the job ``recompute``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import OneMart, Yes


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputeOptions(JobOptions):
    """Which marts are computed again, for which dates and by which rules; or which recompute is undone."""

    layer: Annotated[str | None, Option("the layer whose marts are computed again")] = None
    mart: OneMart = None
    rules: Annotated[str | None, Option("the rule version to count by, such as v2; default: each month's own")] = None
    from_date: Annotated[str | None, Option("first date, such as 2025-01-01", flag="--from", metavar="DATE")] = None
    to_date: Annotated[str | None, Option("last date, included", flag="--to", metavar="DATE")] = None
    dry_run: Annotated[bool, Option("show the plan and change nothing, also with --yes")] = False
    yes: Yes = False
    undo: Annotated[str | None, Option("restore what a recompute replaced (with --yes)", metavar="ID")] = None
