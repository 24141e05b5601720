"""Options of the job ``changes``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import Option
from spark_jobs.job_options.shared import ExportOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesOptions(ExportOptions):
    """Between which two moments of which table."""

    table: Annotated[str, Option("the table")]
    after: Annotated[str, Option("after this instant or time", flag="--from", metavar="MOMENT")]
    up_to: Annotated[
        str | None, Option("up to this instant or time (default: the newest)", flag="--to", metavar="MOMENT")
    ] = None
    max_commits: Annotated[int | None, Option("at most this number of commits after --from")] = None
