"""Options of the job ``generate``: what is not given is a default at first, and what the run has with ``--resume``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.generator.plan import DEFAULT_DAYS, DEFAULT_EVENTS, DEFAULT_TOPIC, Rates
from spark_jobs.generator.request import DEFAULT_EVENTS_PER_FILE
from spark_jobs.lake_spec.tables import Nulls

_RATES = Rates()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions(JobOptions):
    """How many events of which run, and what is wrong with them; rates are shares of the events."""

    takes_any_clock: ClassVar[bool] = True
    is_of_a_lake: ClassVar[bool] = False

    events: Annotated[
        int | None,
        Option(
            f"good events of this call (default {DEFAULT_EVENTS}; with --resume what is left of the run)", metavar="N"
        ),
    ] = None
    total_events: Annotated[
        int | None,
        Option(
            "good events of the whole run, spread from start to end; --resume delivers the rest (default --events)",
            metavar="N",
        ),
    ] = None
    seed: Annotated[int | None, Option("the same seed and options give the same bytes (default 1)")] = None
    start: Annotated[
        str | None, Option(f"first moment of the run (default {DEFAULT_DAYS} days before the end)", metavar="ISO")
    ] = None
    end: Annotated[str | None, Option("end of the run, exclusive (default the clock)", metavar="ISO")] = None
    topic: Annotated[str, Option(f"folder of the landing zone (default {DEFAULT_TOPIC})")] = DEFAULT_TOPIC
    partial_rate: Annotated[
        float | None, Option(f"records with null columns (default {_RATES.partial})", metavar="X")
    ] = None
    correction_rate: Annotated[
        float | None,
        Option(f"new records that correct a sale months old (default {_RATES.correction})", metavar="X"),
    ] = None
    late_rate: Annotated[
        float | None, Option(f"events delivered later than their order says (default {_RATES.late})", metavar="X")
    ] = None
    redelivery_rate: Annotated[
        float | None,
        Option(f"earlier records delivered again, byte for byte (default {_RATES.redelivery})", metavar="X"),
    ] = None
    delete_rate: Annotated[float | None, Option(f"deletes of a sale (default {_RATES.delete})", metavar="X")] = None
    broken_rate: Annotated[
        float | None, Option(f"broken records, on top of the good ones (default {_RATES.broken})", metavar="X")
    ] = None
    added_column_at: Annotated[
        float | None,
        Option(
            f"share of events after which customers have columns, 1: never (default {_RATES.added_column_at})",
            metavar="X",
        ),
    ] = None
    wrapped: Annotated[bool | None, Option("records in a schema/payload wrapper (default no)")] = None
    nulls: Annotated[Nulls | None, Option("what null means in the records (default unknown)")] = None
    tombstones: Annotated[bool | None, Option("a null record after each delete (default yes)")] = None
    files: Annotated[int | None, Option("number of files of this call", metavar="N")] = None
    events_per_file: Annotated[
        int | None, Option(f"or events a file (default {DEFAULT_EVENTS_PER_FILE})", metavar="N")
    ] = None
    gzip: Annotated[bool, Option("compress the files")] = False
    resume: Annotated[bool, Option("go on from where the topic's last call stopped")] = False
