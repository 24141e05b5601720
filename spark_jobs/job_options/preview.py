"""Options of the job ``preview``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(JobOptions):
    """What of a plan is computed and compared."""

    plan: Plan
    mart: Annotated[str | None, Option("one mart of the plan alone")] = None
    table: Annotated[str | None, Option("one table of the plan alone")] = None
    samples: Annotated[int, Option("keys to show of each kind (default 10; 0: none)", metavar="N", at_least=0)] = 10
