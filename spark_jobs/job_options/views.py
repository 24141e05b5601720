"""Options of the job ``views``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewsOptions(JobOptions):
    """Which views, for which engine."""

    action: Annotated[
        Literal["list", "ddl", "apply"],
        Option(
            "list: which views there are; ddl: the statements that make them; apply: make in Athena what changed, "
            "drop there what has no file any more",
            is_positional=True,
        ),
    ]
    engine: Annotated[Literal["athena", "trino", "spark"], Option("engine of the views (default athena)")] = "athena"
    if_configured: Annotated[
        bool, Option("do nothing, and say so, unless LAKEHOUSE_ATHENA_WORKGROUP is set", actions=("apply",))
    ] = False
    masked: Annotated[bool, Option("the variant in which people's names are masked")] = False
