"""Options of the job ``partitions``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import Yes


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsOptions(JobOptions):
    """Which partitions of which table."""

    action: Annotated[
        Literal["list", "delete", "retain"],
        Option(
            "list: which there are; delete: remove those named; retain: remove those older than keep_days",
            is_positional=True,
        ),
    ]
    table: Annotated[str | None, Option("one table alone; needed to delete")] = None
    partition: Annotated[str, Option("which ones", actions=("delete",), metavar="VALUE,VALUE")] = ""
    yes: Yes = False
