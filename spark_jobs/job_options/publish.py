"""Options of the job ``publish``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import DECIDED_BY


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions(JobOptions):
    """Which table's batch is accepted, why and by whom."""

    action: Annotated[
        Literal["list", "accept"],
        Option(
            "list: what is held back, and why; accept: let the next run publish what a table is held for",
            is_positional=True,
        ),
    ]
    table: Annotated[str | None, Option("the table", actions=("accept",))] = None
    because: Annotated[str | None, Option("why its batch is right; kept with the commit", actions=("accept",))] = None
    by: Annotated[str | None, Option(DECIDED_BY, actions=("accept",))] = None
