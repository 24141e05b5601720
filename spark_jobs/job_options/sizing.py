"""Options of the job ``sizing``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.options import JobOptions, Option
from spark_jobs.sizing.weights import RESULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingOptions(JobOptions):
    """What arrives: GB of plain JSON a day, how often, and how unevenly."""

    takes_any_clock: ClassVar[bool] = True
    is_of_a_lake: ClassVar[bool] = False

    gb_per_day: Annotated[tuple[float, ...], Option("landing files of a day, plain JSON", metavar="GB")]
    days: Annotated[int, Option("days that the lake is simulated for (default: 365)", metavar="N", at_least=1)] = 365
    batch_minutes: Annotated[
        tuple[int, ...],
        Option("minutes between two batches, one number for all or one for each size (default: 5)", metavar="N"),
    ] = (5,)
    peak: Annotated[float, Option("busiest batch as a multiple of the mean one (default: 3)", metavar="X")] = 3.0
    skew: Annotated[
        float,
        Option(
            "how much more events are about new keys: 0 not at all (default: 1.5, the exponent of Zipf's law by days)",
            metavar="X",
        ),
    ] = 1.5
    weights: Annotated[str, Option("the folder of sizes.json of `bench`", metavar="FOLDER")] = str(RESULTS)
