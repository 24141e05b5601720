"""Options of the job ``apply``."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.contracts.options import JobOptions
from spark_jobs.job_options.shared import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions(JobOptions):
    """Which plan is carried out."""

    plan: Plan
