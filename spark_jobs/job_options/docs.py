"""Options of the job ``docs``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsOptions(JobOptions):
    """Where the site goes."""

    takes_any_clock: ClassVar[bool] = True

    action: Annotated[
        Literal["build"],
        Option("build: write the docs of the lake, a page a table, as HTML", is_positional=True),
    ]
    to: Annotated[str, Option("the folder of the site, empty or of an earlier build", metavar="FOLDER")] = "data/docs"
