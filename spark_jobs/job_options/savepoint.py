"""Options of the job ``savepoint``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointOptions(JobOptions):
    """Which savepoint is made or deleted."""

    action: Annotated[
        Literal["create", "list", "delete"],
        Option("create: keep the lake as it is now; list: the savepoints; delete: delete one", is_positional=True),
    ]
    label: Annotated[str, Option("the first part of its name (default: manual)", actions=("create",))] = "manual"
    keep: Annotated[
        int | None, Option("delete all but the newest N of this label", actions=("create",), metavar="N", at_least=1)
    ] = None
    name: Annotated[str | None, Option("which one", actions=("delete",))] = None
