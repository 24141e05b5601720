"""What a run of a job works with, made in one place, and what a job is: its options and up to three functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from spark_jobs.contracts.arguments import Interval, format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.options import JobOptions
from spark_jobs.contracts.results import JobResult, SourceWindow, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OptionsT = TypeVar("OptionsT", bound=JobOptions)
OptionsT_co = TypeVar("OptionsT_co", bound=JobOptions, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext(Generic[OptionsT_co]):
    """One run of a job. The clock and the interval come from here, never from the machine.

    ``lake`` is the lake spec, read once a run; None for jobs that work without a lake. ``session`` is None for a job,
    or an action of it, that needs no Spark.
    """

    job: str
    clock: datetime
    options: OptionsT_co
    settings: Settings
    interval: Interval | None = None
    lake: LakeSpec | None = None
    session: SparkSession | None = None

    def __post_init__(self) -> None:
        if self.clock.tzinfo is None:
            raise ContractError("the clock needs a time zone; give --clock in ISO 8601 with Z")

    @property
    def spec(self) -> LakeSpec:
        """The lake spec, with the tables that its patterns have found so far."""
        if self.lake is None:
            raise TypeError(f"{self.job} runs without a lake spec: its options say so (reads_spec)")
        return self.lake

    @property
    def spark(self) -> SparkSession:
        """The session of this run."""
        if self.session is None:
            raise TypeError(f"{self.job} runs without Spark: its needs_spark says so of these options")
        return self.session

    def result(
        self,
        status: str,
        *,
        tables: tuple[TableOutcome, ...] = (),
        source: SourceWindow | None = None,
        counters: Mapping[str, int] | None = None,
        messages: tuple[str, ...] = (),
        alerts: tuple[str, ...] = (),
        due: tuple[tuple[str, str], ...] = (),
        findings: Mapping[str, Any] | None = None,
    ) -> JobResult:
        """The result of this run; its seconds are added when it has ended."""
        return JobResult(
            job=self.job,
            status=status,
            clock=format_clock(self.clock),
            tables=tables,
            source=source,
            counters=counters or {},
            messages=messages,
            alerts=alerts,
            due=due,
            findings=findings or {},
        )


AnyContext: TypeAlias = JobContext[JobOptions]
"""A context whose options do not matter: for what several jobs share."""


def _nothing_to_check(_context: AnyContext) -> None:
    """The options' own checks are enough."""


def _always(_context: AnyContext) -> bool:
    return True


def never(_context: AnyContext) -> bool:
    """``needs_spark`` of a job that needs none."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[OptionsT]):
    """What a module of ``spark_jobs/jobs`` gives the entry point, under the name ``JOB``.

    ``check`` raises before a session is opened, by what can be known without one; ``needs_spark`` may then take for
    granted that the options make sense, and so may ``run``.
    """

    options: type[OptionsT]
    run: Callable[[JobContext[OptionsT]], JobResult]
    check: Callable[[JobContext[OptionsT]], None] = _nothing_to_check
    needs_spark: Callable[[JobContext[OptionsT]], bool] = _always
