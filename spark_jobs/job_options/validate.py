"""Options of the job ``validate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions(JobOptions):
    """Which tables, and how much of them."""

    tables: Tables = ""
    increment: Annotated[
        bool,
        Option(
            "check the rows that came since the last check, of tables whose last check is long enough ago "
            "(quality: every_minutes in the lake spec); without it, whole tables"
        ),
    ] = False
