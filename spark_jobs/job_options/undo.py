"""Options of the job ``undo``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import PLAN_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOptions(JobOptions):
    """Which applied plan is undone."""

    plan: Annotated[
        str,
        Option(
            f"the plan that was applied: {PLAN_FILE}",
            metavar="FILE",
        ),
    ]
    yes: Annotated[bool, Option("do it; without it the plan is shown and nothing is changed")] = False
