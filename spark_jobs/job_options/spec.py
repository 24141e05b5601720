"""Options of the job ``spec``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions(JobOptions):
    """What is done with the files."""

    is_of_a_lake: ClassVar[bool] = False

    action: Annotated[
        Literal["check"],
        Option("check: report every mistake in the spec, its marts, rules and expectations", is_positional=True),
    ]
