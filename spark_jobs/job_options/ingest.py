"""Options of the job ``ingest``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions(JobOptions):
    """How much is read, and what is read once more."""

    names_lake: ClassVar[bool] = True
    leaves_session: ClassVar[bool] = True
    reads_landing: ClassVar[bool] = True

    max_events: Annotated[
        int | None, Option("most events to read in this run (default: LAKEHOUSE_MAX_EVENTS)", at_least=1)
    ] = None
    accept_loss: Annotated[
        str,
        Option("topics of Kafka to continue although messages were lost before they were read", metavar="TOPIC,TOPIC"),
    ] = ""
    again: Annotated[
        str,
        Option(
            "topics, files (TOPIC/FILE, with wildcards) or offsets (TOPIC/PARTITION:FIRST-LAST) to read once more",
            metavar="WHAT,WHAT",
        ),
    ] = ""
    yes: Annotated[bool, Option("--again: do it; by default a plan is shown")] = False
