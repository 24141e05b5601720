"""Options of the job ``mart``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import OneMart


@dataclass(frozen=True, slots=True, kw_only=True)
class MartOptions(JobOptions):
    """Which marts are refreshed, and how much of them."""

    takes_interval: ClassVar[bool] = True
    names_lake: ClassVar[bool] = True
    leaves_session: ClassVar[bool] = True

    layer: Annotated[str, Option("the layer whose marts are refreshed, such as fast or slow")]
    mart: OneMart = None
    full: Annotated[bool, Option("full refresh: compute all rows again")] = False
    move_cut: Annotated[bool, Option("move the cut of stitch marts to the newest instant")] = False
