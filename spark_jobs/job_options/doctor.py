"""Options of the job ``doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import CARRY_OUT, OneTable


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions(JobOptions):
    """How closely, and whether what can be repaired is repaired."""

    action: Annotated[
        Literal["check", "repair"],
        Option(
            "check: find problems and explain them; repair: those that can be repaired safely, a plan first",
            is_positional=True,
        ),
    ]
    table: OneTable = None
    deep: Annotated[bool, Option("also count keys and look at what was cleaned, with Spark")] = False
    yes: Annotated[bool, Option(CARRY_OUT, actions=("repair",))] = False
