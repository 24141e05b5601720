"""Options of the job ``schema``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import CARRY_OUT, DECIDED_BY


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions(JobOptions):
    """Which tables, and who decided about their columns."""

    action: Annotated[
        Literal["list", "history", "plan", "apply"],
        Option(
            "list: the columns; history: their changes; plan: how they differ from the spec; apply: change them",
            is_positional=True,
        ),
    ]
    tables: Annotated[str, Option("only tables that fit these patterns", metavar="PATTERNS")] = ""
    yes: Annotated[bool, Option(CARRY_OUT, actions=("apply",))] = False
    by: Annotated[str | None, Option(DECIDED_BY, actions=("apply",))] = None
