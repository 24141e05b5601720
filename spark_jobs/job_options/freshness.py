"""Options of the job ``freshness``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.contracts.options import JobOptions
from spark_jobs.job_options.shared import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessOptions(JobOptions):
    """Which tables are looked at."""

    takes_any_clock: ClassVar[bool] = True
    reads_landing: ClassVar[bool] = True

    tables: Tables = ""
