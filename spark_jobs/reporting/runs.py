"""A run as it is reported: what began, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.job_errors import ReportedError
from spark_jobs.contracts.results import NOTHING_TO_DO, JobResult
from spark_jobs.contracts.stages import Measure


class RunOutcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"
    REPORTED = "reported"
    """It ran to its end and found what must not be."""
    TRY_AGAIN = "try_again"
    ERROR = "error"

    @property
    def is_success(self) -> bool:
        """True when it did what it should."""
        return self in (RunOutcome.DONE, RunOutcome.NOTHING_TO_DO)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """A run that ended: ``context`` has the lake spec where it got so far, ``result`` is None when there is none.

    ``begun`` and ``ended`` are times of this machine, ``seconds`` by a clock that is never set.
    """

    context: AnyContext
    outcome: RunOutcome
    begun: datetime
    ended: datetime
    seconds: float
    result: JobResult | None = None
    measures: Sequence[Measure] = ()

    @property
    def lake(self) -> str:
        """The lake's name; "" for a run without a lake spec."""
        return self.context.lake.lake if self.context.lake else ""


def outcome_of(result: JobResult | None, error: BaseException | None) -> RunOutcome:
    """How a run ended that gave this result, or raised this error."""
    if error is None:
        return RunOutcome.NOTHING_TO_DO if result and result.status == NOTHING_TO_DO else RunOutcome.DONE
    if isinstance(error, ReportedError) and error.result:
        return RunOutcome.REPORTED
    is_terminal = isinstance(error, LakehouseError) and error.exit_code != 1
    return RunOutcome.ERROR if is_terminal else RunOutcome.TRY_AGAIN
