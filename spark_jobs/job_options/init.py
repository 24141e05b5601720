"""Options of the job ``init``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions(JobOptions):
    """Where a lake may be made."""

    is_of_a_lake: ClassVar[bool] = False

    adopt: Annotated[bool, Option("also where other files are, or tables that nothing shows to be of this lake")] = (
        False
    )
