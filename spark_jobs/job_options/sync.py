"""Options of the job ``sync``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions(JobOptions):
    """What is done with which entries of the catalog."""

    action: Annotated[
        Literal["plan", "apply", "ddl"],
        Option(
            "plan: what differs; apply: update the catalog; ddl: statements for a catalog without sync",
            is_positional=True,
        ),
    ]
    table: Annotated[str | None, Option("one table alone; nothing is dropped then")] = None
    all: Annotated[bool, Option("also compare partitions of tables without a new commit")] = False
