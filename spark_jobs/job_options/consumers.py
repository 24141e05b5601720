"""Options of the job ``consumers``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumersOptions(JobOptions):
    """Which consumer, and how far it has read."""

    action: Annotated[
        Literal["list", "register", "forget"],
        Option(
            "list: all of them; register: a reader outside the lake, or its new checkpoint; forget: remove a reader",
            is_positional=True,
        ),
    ]
    name: Annotated[str | None, Option("the consumer to register or forget")] = None
    table: Annotated[str | None, Option("the table it reads")] = None
    at: Annotated[
        str | None, Option("it has read up to this instant (default: the table's newest)", metavar="INSTANT")
    ] = None
