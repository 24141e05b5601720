"""The context of a run: what is in it, what is not, and the result that is made of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spark_jobs.context import JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.job_options.split import SplitOptions

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def context_at(clock: datetime) -> JobContext[SplitOptions]:
    return JobContext(job="split", clock=clock, options=SplitOptions(), settings=Settings())


def test_a_clock_without_a_zone_is_refused():
    with pytest.raises(ContractError, match="time zone"):
        context_at(NOON.replace(tzinfo=None))


def test_what_is_not_there_is_named_and_not_none():
    context = context_at(NOON)
    with pytest.raises(TypeError, match="split runs without Spark"):
        _ = context.spark
    with pytest.raises(TypeError, match="split runs without a lake spec"):
        _ = context.spec


def test_a_result_has_the_job_and_the_clock_of_the_run():
    expected = JobResult(job="split", status=DONE, clock="2026-01-31T12:00:00Z", counters={"rows": 3})
    assert context_at(NOON).result(DONE, counters={"rows": 3}) == expected
