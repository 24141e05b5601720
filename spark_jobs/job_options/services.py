"""Options of the job ``services``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import OneTable
from spark_jobs.lake_spec.services import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesOptions(JobOptions):
    """Which table services of which tables."""

    action: Annotated[
        Literal["plan", "run"], Option("plan: what is due and why; run: run what is due", is_positional=True)
    ]
    table: OneTable = None
    service: Annotated[Service | None, Option("one service alone")] = None
    all: Annotated[bool, Option("plan: also what is not due; run: due or not")] = False
