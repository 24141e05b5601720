"""Options of the job ``source``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.job_options.shared import DECIDED_BY


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(JobOptions):
    """Which stream of events, and what is decided about its positions, why and by whom."""

    action: Annotated[
        Literal["list", "new-epoch", "same-epoch"],
        Option(
            "list: streams, their epochs and the tables' origins; new-epoch: positions of a stream begin again; "
            "same-epoch: positions that fell are in order",
            is_positional=True,
        ),
    ]
    stream: Annotated[str, Option("as list and the message of ingest have it")] = ""
    since: Annotated[str, Option("time of the first event with it", actions=("new-epoch",), metavar="TIME")] = ""
    after: Annotated[str, Option("the stream that this one replaces", actions=("new-epoch",), metavar="STREAM")] = ""
    until: Annotated[str, Option("time of the last event that fell", actions=("same-epoch",), metavar="TIME")] = ""
    server: Annotated[str, Option("a server that belongs to the stream", actions=("same-epoch",))] = ""
    because: Annotated[str | None, Option("why, for those who look later", actions=("new-epoch",))] = None
    by: Annotated[str | None, Option(DECIDED_BY)] = None
    yes: Annotated[bool, Option("carry it out; by default it is only shown")] = False
