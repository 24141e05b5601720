"""Options of the job ``undo``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOptions(JobOptions):
    """Which applied plan is undone."""

    plan: Annotated[
        str,
        Option(
            "the plan that was applied: the file that plan wrote, or the id of a plan that is kept in the lake",
            metavar="FILE",
        ),
    ]
    yes: Annotated[bool, Option("do it; without it the plan is shown and nothing is changed")] = False
