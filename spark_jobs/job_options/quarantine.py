"""Options of the job ``quarantine``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import DECIDED_BY


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineOptions(JobOptions):
    """Which records, and what is decided about them, why and by whom."""

    action: Annotated[
        Literal["list", "show", "replay", "discard"],
        Option(
            "list: what is kept, and why; show: one record and its history; replay: process records as ingest does, "
            "once more; discard: mark records as discarded, they stay in the table",
            is_positional=True,
        ),
    ]
    record: Annotated[
        str | None,
        Option("the beginning of one record's hash", actions=("show", "replay", "discard"), metavar="HASH"),
    ] = None
    reason: Annotated[str | None, Option("open records with this reason", actions=("list", "replay", "discard"))] = None
    rule: Annotated[
        str | None,
        Option("open records that break this expectation", actions=("replay", "discard"), metavar="NAME"),
    ] = None
    all: Annotated[bool, Option("every open record", actions=("replay",))] = False
    state: Annotated[str | None, Option("open, replayed or discarded", actions=("list",))] = None
    raw: Annotated[bool, Option("its bytes too; they may be about people", actions=("show",))] = False
    repaired: Annotated[
        str | None, Option("replay --record: a file with the record as it should be", metavar="FILE")
    ] = None
    because: Annotated[str | None, Option("why; kept with the record", actions=("replay", "discard"))] = None
    by: Annotated[str | None, Option(DECIDED_BY, actions=("replay", "discard"))] = None
