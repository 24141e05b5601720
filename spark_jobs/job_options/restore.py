"""Options of the job ``restore``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import Yes


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions(JobOptions):
    """Which savepoint the lake is restored to."""

    to: Annotated[str, Option("which one; see savepoint list", metavar="SAVEPOINT")]
    yes: Yes = False
